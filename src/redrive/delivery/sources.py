"""Sources of deliveries: who made the promise, and what it means.

A schedule, Lambda's own queue, later a rule: each knows how to render its payload, how its failures count, and what its
dead letter looks like. The delivery worker knows none of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, Failed, GiveUp, Outcome, Verdict
from redrive.core.scope import Caller
from redrive.delivery.invocation import Invocation, InvocationResult
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


@dataclass(frozen=True, slots=True)
class Call:
    """An operation to run as the delivery: under this caller's permissions.

    `params` is asked for when the operation is run. Errors (of `params`): ServiceError.
    """

    caller: Caller
    service: str
    operation: str
    params: Callable[[], Mapping[str, object]]


class Source(Protocol):
    """One kind of promise. Methods run inside transactions."""

    @property
    def name(self) -> str:
        """What `Delivery.source` says."""
        ...

    @property
    def lease_ms(self) -> int:
        """How long an attempt outside may take before its node is given up for lost."""
        ...

    def render(self, tx: Transaction, delivery: Delivery) -> Call | Invocation:
        """What to do for this attempt. A Call of an operation that needs the outside goes on there.

        Errors: ServiceError, which then is the attempt's failure (a role that cannot be assumed, a target gone).
        """
        ...

    def failure(self, error: ServiceError) -> Failed:
        """How an error of the target counts: permanent, transient or throttled."""
        ...

    def outcome(self, result: InvocationResult) -> Outcome:
        """How the answer of an invocation counts."""
        ...

    def answered(self, tx: Transaction, delivery: Delivery, result: InvocationResult) -> None:
        """After each invocation, before its outcome is judged: keep what it wrote."""
        ...

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> None:
        """The last word on a delivery: write the dead letter, the metrics, whatever follows its end."""
        ...

    def attempted(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
        """After each attempt, the last one included: record what this source keeps of it."""
        ...
