"""The delivery worker: claims due deliveries, attempts them, settles them.

A target inside the store needs no second beat: claim, acceptance and settlement share one transaction, so such a
delivery happens exactly once. A target outside is attempted under a lease: at least once, and an attempt with a stale
fence settles nothing. A call may turn out to need the outside (the synchronous invocation of a function). Its delivery
then continues there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
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
from redrive.delivery.history.records import NOTHING_RAN, Origin, Ran, record_end, record_retry
from redrive.delivery.operation import OutsideNeeded
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.invocation import InvocationResult
from redrive.delivery.outside.kept import KEPT, due_answers, forget_answer, keep_answer, put_off_again
from redrive.delivery.sources.call import Call, Inside, Later
from redrive.delivery.sources.source import Source
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.store.api import Cause, Transaction
from redrive.store.tables.deliveries import INSIDE, OUTSIDE, Delivery

LEASE_FLOOR_MS = MINUTE_MS

NO_SOURCES: Mapping[str, Callable[[], Source]] = MappingProxyType({})

PUT_OFF_MS = 8 * MINUTE_MS
"""How long a delivery waits after a defect in redrive. A newer redrive may be able to settle it."""

INTERNAL_FAILURE = "InternalFailure"
"""The error code of an attempt that failed because of a defect in redrive. It counts as a server-side failure."""

_NO_DEFECTS = (Conflict, UserError)
"""Errors of a step that are no defect of a delivery: the store asks for a retry, or is full."""
_EXPECTED = (ServiceError, OutsideNeeded, *_NO_DEFECTS)


class DeliveryWorker:
    """Delivers for all sources."""

    name = "delivery"
    timer = None
    upkeep = False

    def __init__(
        self, sources: Sequence[Source], log: Log, *, per_claim: int = PRODUCTION.deliveries_per_claim,
        late: Mapping[str, Callable[[], Source]] = NO_SOURCES,
    ) -> None:  # fmt: skip
        """`per_claim`: the maximum number of deliveries inside the store in one claim.

        `late` are sources that are made with the first of their deliveries, by their names. Their leases are no longer
        than the longest of `sources`.
        """
        self._log = log
        self._per_claim = per_claim
        self._sources = {source.name: source for source in sources}
        self._late = late
        self._lease_ms = max([LEASE_FLOOR_MS, *(source.lease_ms for source in sources)])

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        due_at, outside_at = tx.deliveries.next((INSIDE,)), self._next_outside(tx, free)
        if outside_at is not None and (due_at is None or outside_at < due_at):
            due_at = outside_at
        kept_at = tx.timers.next(KEPT)
        return kept_at if kept_at is not None and (due_at is None or kept_at < due_at) else due_at

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        try:
            return self._claim(tx, free)
        finally:
            tx.cause = None  # The next worker uses the same transaction.

    def _claim(self, tx: Transaction, free: FreeSlots) -> Sequence[Attempt]:
        for delivery, errand, result in due_answers(tx):
            self._settle_kept(tx, delivery, errand, result)
        tx.side_by_side(tx.deliveries.due(INSIDE, tx.now, limit=self._per_claim), self._deliver)
        due_at = tx.deliveries.next((OUTSIDE,)) if free.count > 0 else None
        if due_at is None or due_at > tx.now:
            return ()
        begun: list[Attempt] = []
        for delivery in self._claim_outside(tx, free):
            try:
                with tx.savepoint():
                    begun += self._begin(tx, delivery)
            except Exception as defect:  # noqa: BLE001 - `_put_off` raises errors that are no defects.
                self._put_off(tx, delivery, defect)
        return begun

    def _deliver(self, tx: Transaction, delivery: Delivery) -> None:
        """Attempt a delivery inside the store. A defect puts off this one alone."""
        try:
            with tx.savepoint():
                self._deliver_inside(tx, delivery)
        except Exception as defect:  # noqa: BLE001 - `_put_off` raises errors that are no defects.
            self._put_off(tx, delivery, defect)

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        delivery = tx.deliveries.held(attempt.key, attempt.fence)
        if delivery is None or delivery.leases == 0 or delivery.place == KEPT:
            # A newer claim holds the delivery, or this answer was settled or kept before and arrives a second time.
            return
        assert delivery.place == OUTSIDE, f"{delivery.id} is under way {delivery.place}, not outside"
        try:
            with tx.savepoint():
                self._settle(tx, delivery, attempt, result)
        except Exception as defect:  # noqa: BLE001 - `_not_settled` raises errors that are no defects.
            self._not_settled(tx, delivery, attempt, result, defect)
        finally:
            tx.cause = None

    def _settle(self, tx: Transaction, delivery: Delivery, attempt: Attempt, result: Result) -> None:
        source = self._source(delivery)
        origin = _begun(tx, source, delivery)
        if attempt.resume is None:
            source.answered(tx, delivery, attempt.errand, result)
            outcome = source.outcome(attempt.errand, result)
            self._conclude(tx, source, origin, delivery, outcome, next_place=OUTSIDE, ran=_ran(result))
            return
        assert isinstance(result, InvocationResult), "operations run functions outside, and nothing else"
        answer = attempt.resume(tx, result)
        outcome = source.failure(answer) if isinstance(answer, ServiceError) else Succeeded(answer)
        # The next attempt calls the operation again, and calls begin inside.
        self._conclude(tx, source, origin, delivery, outcome, next_place=INSIDE, ran=_ran(result))

    def _next_outside(self, tx: Transaction, free: FreeSlots) -> Instant | None:
        """The next instant at which an outside delivery is due that has a free slot."""
        if free.count <= 0:
            return None
        full = free.full if free.held else ()
        if not full:
            return tx.deliveries.next((OUTSIDE,))
        found = [due_at for function, due_at in tx.deliveries.outside_by_function() if function not in full]
        return min(found, default=None)

    def _claim_outside(self, tx: Transaction, free: FreeSlots) -> Sequence[Delivery]:
        """Claim due outside deliveries: in order, or shared by functions, where the longest-waiting one comes first."""
        if free.held is None:
            return tx.deliveries.claim_due(OUTSIDE, tx.now, lease_ms=self._lease_ms, limit=free.count)
        claimed: list[Delivery] = []
        for function, due_at in tx.deliveries.outside_by_function():
            room = free.room_of(function)
            if due_at <= tx.now and room > 0:
                taken = tx.deliveries.claim_outside(function, tx.now, lease_ms=self._lease_ms, limit=room)
                free = free.without([function] * len(taken))
                claimed += taken
        assert all(delivery.leases for delivery in claimed), "what is claimed is under a lease"
        return claimed

    def _not_settled(
        self, tx: Transaction, delivery: Delivery, attempt: Attempt, result: Result, defect: Exception
    ) -> None:
        """Keep an answer that a defect in redrive kept from being settled, so that the errand is not repeated.

        The answer of an operation cannot be kept, because only the operation's caller can produce the answer. The
        operation is called again. The history records the failure in both cases. Errors: those of the store, which are
        no defects.
        """
        if isinstance(defect, _NO_DEFECTS):
            raise defect
        self._log.error("answer not settled", delivery_id=delivery.id, source=delivery.source, defect=repr(defect))
        until = tx.now + PUT_OFF_MS
        error = _failure_of_ours("settle an answer", defect)
        failed = Failed(error.code, error.message, FailureKind.TRANSIENT)
        record_retry(tx, delivery, self._source(delivery).origin(delivery), failed, until, _ran(result))
        if attempt.resume is None:
            keep_answer(tx, delivery, attempt.errand, result, until=until)
        else:
            tx.deliveries.release(delivery, place=INSIDE, due_at=until, counted=True)

    def _settle_kept(self, tx: Transaction, delivery: Delivery, errand: Errand, result: Result) -> None:
        """Settle an answer that was kept, if that succeeds now."""
        try:
            with tx.savepoint():
                self._settle(tx, delivery, Attempt(self.name, delivery.id, delivery.fence, errand), result)
                forget_answer(tx, delivery)
        except Exception as defect:
            if isinstance(defect, _NO_DEFECTS):
                raise
            self._log.error("answer not settled", delivery_id=delivery.id, source=delivery.source, defect=repr(defect))
            put_off_again(tx, delivery, until=tx.now + PUT_OFF_MS)

    def _deliver_inside(self, tx: Transaction, delivery: Delivery) -> None:
        source = self._source(delivery)
        origin = _begun(tx, source, delivery)
        if self._gave_up_by_age(tx, source, origin, delivery):
            return
        held_until = source.held_until(tx, delivery)
        if held_until is not None:
            self._postponed(tx, delivery, Later(held_until))
            return
        fault = hinder(tx, delivery)
        if isinstance(fault, Held):
            tx.deliveries.postpone(delivery, due_at=fault.until)
            return
        outcome: Outcome
        try:
            call = _rendered(tx, source, delivery)
            if not isinstance(call, Call | Inside):
                raise Bug(f"{delivery.source} renders an errand for a delivery inside the store")
            if fault is not None:
                raise fault.error
            outcome = Succeeded(perform(tx, call))
        except ServiceError as error:
            outcome = source.failure(error)
        except OutsideNeeded as needed:
            tx.deliveries.move_outside(delivery, function=needed.outside.invocation.unqualified_arn)
            tx.notify("due")
            return
        self._conclude(tx, source, origin, delivery, outcome)

    def _put_off(self, tx: Transaction, delivery: Delivery, defect: Exception) -> None:
        """Postpone one delivery after a defect in redrive. Nothing is lost, and the other deliveries go on.

        Errors: those of the store, which are no defects.
        """
        if isinstance(defect, _NO_DEFECTS):
            raise defect
        self._log.error("delivery put off", delivery_id=delivery.id, source=delivery.source, defect=repr(defect))
        tx.deliveries.release(delivery, place=delivery.place, due_at=tx.now + PUT_OFF_MS, counted=False)

    def _begin(self, tx: Transaction, delivery: Delivery) -> Sequence[Attempt]:
        source = self._source(delivery)
        origin = _begun(tx, source, delivery)
        if self._gave_up_by_age(tx, source, origin, delivery):
            return ()
        outcome: Outcome
        try:
            rendered = _rendered(tx, source, delivery)
            if isinstance(rendered, Later):
                return self._postponed(tx, delivery, rendered)
            if not isinstance(rendered, Call | Inside):
                return (Attempt(self.name, delivery.id, delivery.fence, rendered),)
            outcome = Succeeded(perform(tx, rendered))
        except ServiceError as error:
            outcome = source.failure(error)
        except OutsideNeeded as needed:
            outside = needed.outside
            return (Attempt(self.name, delivery.id, delivery.fence, outside.invocation, outside.resume),)
        self._conclude(tx, source, origin, delivery, outcome)
        return ()

    def _postponed(self, tx: Transaction, delivery: Delivery, later: Later) -> Sequence[Attempt]:
        """Release a delivery whose source has asked for a later attempt. There are no attempts now."""
        uncounted = delivery._replace(attempts=delivery.attempts - 1)
        tx.deliveries.release(uncounted, place=delivery.place, due_at=max(later.at, tx.now + 1), counted=False)
        return ()

    def _gave_up_by_age(self, tx: Transaction, source: Source, origin: Origin, delivery: Delivery) -> bool:
        """Give up a delivery that exceeded its maximum age before it could be attempted; tells whether it did."""
        if tx.now - delivery.first_at <= delivery.policy.age_ms_max:
            return False
        outcome = Failed(
            Exhausted.AGE.value, "The delivery grew too old before it could be attempted.", FailureKind.TRANSIENT
        )
        release(tx, delivery)
        _end(tx, source, origin, delivery, outcome, GiveUp(Exhausted.AGE))
        return True

    def _conclude(
        self, tx: Transaction, source: Source, origin: Origin, delivery: Delivery, outcome: Outcome, *,
        next_place: str | None = None, ran: Ran = NOTHING_RAN,
    ) -> None:  # fmt: skip
        """Record an attempt's outcome and do what follows. A retry starts at `next_place`, or at the same place."""
        verdict: Verdict = decide(
            delivery.policy, failures=delivery.failures, attempts=delivery.attempts, first_at=delivery.first_at,
            now=tx.now, outcome=outcome, spread=tx.entropy.uniform(-1.0, 1.0),
        )  # fmt: skip
        source.attempted(tx, delivery, outcome, verdict)
        match verdict:
            case RetryAt(at, counted):
                assert isinstance(outcome, Failed), "what is tried again has failed"
                record_retry(tx, delivery, origin, source.reported(outcome), at, ran)
                tx.deliveries.release(delivery, place=next_place or delivery.place, due_at=at, counted=counted)
            case Delivered() | GiveUp():
                _end(tx, source, origin, delivery, outcome, verdict, ran)
            case _:
                assert_never(verdict)

    def _source(self, delivery: Delivery) -> Source:
        source = self._sources.get(delivery.source)
        if source is not None:
            return source
        make = self._late.get(delivery.source)
        if make is None:
            raise Bug(f"no source is named {delivery.source}")
        # Two threads may both make one; all deliveries get the same.
        return self._sources.setdefault(delivery.source, make())


def _end(
    tx: Transaction, source: Source, origin: Origin, delivery: Delivery, outcome: Outcome,
    verdict: Delivered | GiveUp, ran: Ran = NOTHING_RAN,
) -> None:  # fmt: skip
    """Do what follows from a delivery's end, record the end, and delete the delivery."""
    end = source.settled(tx, delivery, outcome, verdict)
    failed: Failed | None = None
    if isinstance(outcome, Failed):
        failed = source.reported(outcome)
    elif "MessageId" in outcome.result:
        ran = Ran(str(outcome.result["MessageId"]), ran.log_stream)
    elif "executionArn" in outcome.result:
        ran = Ran(str(outcome.result["executionArn"]), ran.log_stream)
    record_end(tx, delivery, origin, failed, end, ran)
    source.followed(tx, delivery, outcome, verdict)
    tx.deliveries.delete(delivery.id, delivery.fence)


def _begun(tx: Transaction, source: Source, delivery: Delivery) -> Origin:
    """The delivery's origin. From now on, this delivery is the cause of all that the transaction sends or creates."""
    origin = source.origin(delivery)
    tx.cause = Cause(origin.execution_id, delivery.id)
    return origin


def _ran(result: Result) -> Ran:
    return Ran(log_stream=result.log_stream) if isinstance(result, InvocationResult) else NOTHING_RAN


def _rendered(tx: Transaction, source: Source, delivery: Delivery) -> Call | Inside | Errand | Later:
    """The work that the source asks for. Errors: ServiceError."""
    try:
        return source.render(tx, delivery)
    except _EXPECTED:
        raise
    except Exception as defect:
        raise _failure_of_ours(f"render a delivery of {source.name}", defect) from defect


def perform(tx: Transaction, call: Call | Inside) -> Document:
    """Call a target inside the transaction, and return its answer.

    Errors: ServiceError, also for a defect in redrive; OutsideNeeded if the call cannot be answered inside a
    transaction.
    """
    try:
        if isinstance(call, Inside):
            with tx.savepoint():
                return call.perform()
        return tx.services.call(tx, call.caller, call.service, call.operation, call.params())
    except _EXPECTED:
        raise
    except Exception as defect:
        what = "perform a delivery" if isinstance(call, Inside) else f"run {call.service} {call.operation}"
        raise _failure_of_ours(what, defect) from defect


def _failure_of_ours(what: str, defect: Exception) -> ServiceError:
    """Turn a defect in one delivery into a failed attempt, so that the other deliveries go on."""
    return ServiceError(INTERNAL_FAILURE, f"redrive failed to {what}: {defect!r}", http_status=500, fault="server")
