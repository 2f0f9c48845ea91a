"""The delivery worker: claims due deliveries, attempts them, settles them.

Targets inside the store need no middle beat: claim, acceptance and settlement share one transaction, so such a delivery
happens exactly once. Targets outside are attempted under a lease: at least once, and a stale fence settles nothing.
A call that turns out to need the outside (the synchronous invocation of a function) goes on there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import Bug, Conflict, ServiceError, UserError
from redrive.core.knobs import PRODUCTION
from redrive.core.log import Log
from redrive.core.retry import (
    Delivered,
    Exhausted,
    Failed,
    FailureKind,
    GiveUp,
    Outcome,
    RetryAt,
    Succeeded,
    Verdict,
    decide,
)
from redrive.delivery.faults import Held, hinder, release
from redrive.delivery.invocation import Invocation, InvocationResult
from redrive.delivery.operation import OutsideNeeded
from redrive.delivery.sources import Call, Source
from redrive.delivery.worker import Attempt
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import INSIDE, OUTSIDE, Delivery

LEASE_FLOOR_MS = MINUTE_MS

PUT_OFF_MS = 8 * MINUTE_MS
"""When a delivery on which we have failed ourselves is looked at again: it may take a newer redrive to settle it."""

INTERNAL_FAILURE = "InternalFailure"
"""The code of an attempt that failed by a defect of ours. It counts as a failure of the target's side."""

_NO_DEFECTS = (Conflict, UserError)
"""What a step may raise when nothing is wrong with its deliveries: the store says try again, or is full."""
_EXPECTED = (ServiceError, OutsideNeeded, *_NO_DEFECTS)


class DeliveryWorker:
    """Keeps the promises of all sources."""

    name = "delivery"
    timer = None
    upkeep = False

    def __init__(
        self, sources: Sequence[Source], log: Log, *, per_claim: int = PRODUCTION.deliveries_per_claim
    ) -> None:  # fmt: skip
        """`per_claim`: how many deliveries inside the store one claim takes at most."""
        self._log = log
        self._per_claim = per_claim
        self._sources: Mapping[str, Source] = {source.name: source for source in sources}
        self._lease_ms = max([LEASE_FLOOR_MS, *(source.lease_ms for source in sources)])

    def next_due(self, tx: Transaction, *, free: int) -> Instant | None:
        return tx.deliveries.next((INSIDE, OUTSIDE) if free > 0 else (INSIDE,))

    def claim(self, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        for delivery in tx.deliveries.due(INSIDE, tx.now, limit=self._per_claim):
            try:
                with tx.savepoint():
                    self._deliver_inside(tx, delivery)
            except Exception as defect:  # noqa: BLE001 - `_put_off` raises what is no defect.
                self._put_off(tx, delivery, defect)
        due_at = tx.deliveries.next((OUTSIDE,)) if free > 0 else None
        if due_at is None or due_at > tx.now:
            return ()
        claimed = tx.deliveries.claim_due(OUTSIDE, tx.now, lease_ms=self._lease_ms, limit=free)
        begun: list[Attempt] = []
        for delivery in claimed:
            try:
                with tx.savepoint():
                    begun += self._begin(tx, delivery)
            except Exception as defect:  # noqa: BLE001 - `_put_off` raises what is no defect.
                self._put_off(tx, delivery, defect)
        return begun

    def settle(self, tx: Transaction, attempt: Attempt, result: InvocationResult) -> None:
        delivery = tx.deliveries.held(attempt.key, attempt.fence)
        if delivery is None or delivery.leases == 0:
            # Another claim came after this one, or this one was settled before, and its answer lost or repeated.
            return
        source = self._source(delivery)
        if attempt.resume is None:
            source.answered(tx, delivery, result)
            self._conclude(tx, source, delivery, source.outcome(result))
            return
        answer = attempt.resume(tx, result)
        outcome = source.failure(answer) if isinstance(answer, ServiceError) else Succeeded(answer)
        # The next attempt is a call again, and calls begin inside.
        self._conclude(tx, source, delivery, outcome, next_place=INSIDE)

    def _deliver_inside(self, tx: Transaction, delivery: Delivery) -> None:
        source = self._source(delivery)
        if self._gave_up_by_age(tx, source, delivery):
            return
        fault = hinder(tx, delivery)
        if isinstance(fault, Held):
            tx.deliveries.postpone(delivery, due_at=fault.until)
            return
        outcome: Outcome
        try:
            call = _rendered(tx, source, delivery)
            if not isinstance(call, Call):
                raise Bug(f"{delivery.source} renders an invocation for a delivery inside the store")
            if fault is not None:
                raise fault.error
            outcome = Succeeded(_called(tx, call))
        except ServiceError as error:
            outcome = source.failure(error)
        except OutsideNeeded:
            tx.deliveries.move(delivery, place=OUTSIDE)
            tx.notify("due")
            return
        self._conclude(tx, source, delivery, outcome)

    def _put_off(self, tx: Transaction, delivery: Delivery, defect: Exception) -> None:
        """Let a defect of ours end with its delivery: nothing is lost, and it does not hold up the others.

        Errors: the store's own, which are no defects.
        """
        if isinstance(defect, _NO_DEFECTS):
            raise defect
        self._log.error("delivery put off", delivery_id=delivery.id, source=delivery.source, defect=repr(defect))
        tx.deliveries.release(delivery, place=delivery.place, due_at=tx.now + PUT_OFF_MS, counted=False)

    def _begin(self, tx: Transaction, delivery: Delivery) -> Sequence[Attempt]:
        source = self._source(delivery)
        if self._gave_up_by_age(tx, source, delivery):
            return ()
        outcome: Outcome
        try:
            rendered = _rendered(tx, source, delivery)
            if isinstance(rendered, Invocation):
                return (Attempt(self.name, delivery.id, delivery.fence, rendered),)
            outcome = Succeeded(_called(tx, rendered))
        except ServiceError as error:
            outcome = source.failure(error)
        except OutsideNeeded as needed:
            outside = needed.outside
            return (Attempt(self.name, delivery.id, delivery.fence, outside.invocation, outside.resume),)
        self._conclude(tx, source, delivery, outcome)
        return ()

    def _gave_up_by_age(self, tx: Transaction, source: Source, delivery: Delivery) -> bool:
        """A delivery that grew too old while nobody could attempt it is not attempted any more."""
        if tx.now - delivery.first_at <= delivery.policy.age_ms_max:
            return False
        outcome = Failed(
            Exhausted.AGE.value, "The delivery grew too old before it could be attempted.", FailureKind.TRANSIENT
        )
        release(tx, delivery)
        source.settled(tx, delivery, outcome, GiveUp(Exhausted.AGE))
        tx.deliveries.delete(delivery.id)
        return True

    def _conclude(
        self, tx: Transaction, source: Source, delivery: Delivery, outcome: Outcome, *, next_place: str | None = None
    ) -> None:
        """Record what became of an attempt, and do what follows from it; a retry begins where this one was made."""
        verdict: Verdict = decide(
            delivery.policy, failures=delivery.failures, attempts=delivery.attempts, first_at=delivery.first_at,
            now=tx.now, outcome=outcome, spread=tx.entropy.uniform(-1.0, 1.0),
        )  # fmt: skip
        source.attempted(tx, delivery, outcome, verdict)
        match verdict:
            case RetryAt(at, counted):
                tx.deliveries.release(delivery, place=next_place or delivery.place, due_at=at, counted=counted)
            case Delivered() | GiveUp():
                source.settled(tx, delivery, outcome, verdict)
                tx.deliveries.delete(delivery.id)
            case _:
                assert_never(verdict)

    def _source(self, delivery: Delivery) -> Source:
        source = self._sources.get(delivery.source)
        if source is None:
            raise Bug(f"no source is named {delivery.source}")
        return source


def _rendered(tx: Transaction, source: Source, delivery: Delivery) -> Call | Invocation:
    """What the source asks for. Errors: ServiceError."""
    try:
        return source.render(tx, delivery)
    except _EXPECTED:
        raise
    except Exception as defect:
        raise _failure_of_ours(f"render a delivery of {source.name}", defect) from defect


def _called(tx: Transaction, call: Call) -> Document:
    """The target's answer. Errors: ServiceError; OutsideNeeded if there is none inside a transaction."""
    try:
        return tx.services.call(tx, call.caller, call.service, call.operation, call.params())
    except _EXPECTED:
        raise
    except Exception as defect:
        raise _failure_of_ours(f"run {call.service} {call.operation}", defect) from defect


def _failure_of_ours(what: str, defect: Exception) -> ServiceError:
    """A defect in one delivery as the failure of its attempt: it must not hold up all the others."""
    return ServiceError(INTERNAL_FAILURE, f"redrive failed to {what}: {defect!r}", http_status=500, fault="server")
