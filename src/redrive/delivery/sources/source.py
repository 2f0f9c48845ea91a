"""Sources of deliveries: who made the promise, and what it means.

A schedule, Lambda's own queue, later a rule: each knows how to render its payload, and what follows from the end. All
else has a default. The delivery worker knows no source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from redrive.core.clock import MINUTE_MS
from redrive.core.errors import Bug, ServiceError
from redrive.core.retry import Delivered, Failed, GiveUp, Outcome, Verdict
from redrive.delivery.history.records import End, Origin
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.http_call import HttpResult
from redrive.delivery.sources.call import Call
from redrive.delivery.sources.classify import classify, judge_answer
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


class Source(ABC):
    """One kind of promise. Methods run inside transactions; only `render` has no default.

    `name` is what `Delivery.source` says; `lease_ms` is how long an attempt outside may take before its node is given
    up for lost.
    """

    name: str
    lease_ms: int = MINUTE_MS

    @abstractmethod
    def render(self, tx: Transaction, delivery: Delivery) -> Call | Errand:
        """What to do for this attempt. A Call of an operation that needs the outside goes on there.

        Errors: ServiceError, which then is the attempt's failure (a role that cannot be assumed, a target gone).
        """

    def origin(self, delivery: Delivery) -> Origin:
        """To which execution a delivery belongs, and which delivery caused it: by default it is its own."""
        return Origin(delivery.id)

    def failure(self, error: ServiceError) -> Failed:
        """How an error of the target counts: permanent, transient or throttled."""
        return classify(error)

    def outcome(self, result: Result) -> Outcome:
        """How the answer of an errand counts, of each kind that `render` asks for; an HTTP call's by its status.

        Errors: Bug for a kind that the source does not ask for.
        """
        if isinstance(result, HttpResult):
            return judge_answer(result)
        raise Bug(f"{self.name} does not say how a {type(result).__name__} counts")

    def answered(  # noqa: B027 - most sources keep nothing of it.
        self, tx: Transaction, delivery: Delivery, errand: Errand, result: Result
    ) -> None:
        """After each errand, before its outcome is judged: keep what it wrote. `errand` is what was done."""

    def attempted(  # noqa: B027 - most sources count nothing.
        self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict
    ) -> None:
        """After each attempt, the last one included: count it."""

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """The last word on a delivery: write the dead letter; answers how it ended."""
        return End.of(verdict)

    def followed(  # noqa: B027 - most sources tell nobody.
        self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp
    ) -> None:
        """After the end is on record: tell destinations, and write down what became of that."""

    def reported(self, failed: Failed) -> Failed:
        """A failure as the history shows it."""
        return failed
