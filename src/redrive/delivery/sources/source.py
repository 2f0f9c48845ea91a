"""Sources of deliveries: who created a delivery, and what it means.

A schedule, Lambda's own queue, later a rule: each source can render its payload and knows what follows from the end.
Everything else has a default. The delivery worker knows no concrete source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.errors import Bug, ServiceError
from redrive.core.retry import Delivered, Failed, GiveUp, Outcome, Verdict
from redrive.delivery.history.records import End, Origin
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.http_call import HttpResult
from redrive.delivery.sources.call import Call, Inside, Later
from redrive.delivery.sources.classify import classify, judge_answer
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


class Source(ABC):
    """One kind of source. Methods run inside transactions. Only `render` has no default.

    `name` is the value of `Delivery.source`. `lease_ms` is how long an attempt outside may take before its node counts
    as lost.
    """

    name: str
    lease_ms: int = MINUTE_MS

    @abstractmethod
    def render(self, tx: Transaction, delivery: Delivery) -> Call | Inside | Errand | Later:
        """The work of this attempt. If the operation of a Call needs the outside, the Call continues there.

        `Later` is for deliveries outside: a rate is used up, or something that the attempt needs is on its way.

        Errors: ServiceError, which becomes the attempt's failure (the role cannot be assumed, the target does not
        exist).
        """

    def held_until(self, tx: Transaction, delivery: Delivery) -> Instant | None:
        """When to ask again for a delivery inside the store that has to wait for another; None to attempt it now."""
        return None

    def origin(self, delivery: Delivery) -> Origin:
        """The execution that a delivery belongs to, and its cause. By default each delivery is its own execution."""
        return Origin(delivery.id)

    def failure(self, error: ServiceError) -> Failed:
        """Classify an error of the target: permanent, transient or throttled."""
        return classify(error)

    def outcome(self, errand: Errand, result: Result) -> Outcome:
        """The outcome for an errand's result. Must handle each kind that `render` returns; an HTTP call has a default.

        Errors: Bug for a kind that `render` never returns.
        """
        if isinstance(result, HttpResult):
            return judge_answer(result)
        raise Bug(f"{self.name} does not say how a {type(result).__name__} counts")

    def answered(  # noqa: B027 - most sources keep nothing.
        self, tx: Transaction, delivery: Delivery, errand: Errand, result: Result
    ) -> None:
        """Called after each errand, before its outcome is known: store what the errand wrote."""

    def attempted(  # noqa: B027 - most sources count nothing.
        self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict
    ) -> None:
        """Called after each attempt, also after the last: count it."""

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """Called at the end of a delivery: write the dead letter. Returns how the delivery ended."""
        return End.of(verdict)

    def followed(  # noqa: B027 - most sources have no destinations.
        self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp
    ) -> None:
        """Called after the end is recorded: tell destinations, and record the result."""

    def reported(self, failed: Failed) -> Failed:
        """The failure as the history shows it."""
        return failed
