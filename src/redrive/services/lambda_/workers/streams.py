"""The worker of mappings from streams: sends the records of each shard to a function, in order, until they are done.

A running batch is a row in the table of deliveries, in a place of its own; `due_at` is the end of its lease. How far a
shard is read is a state of its own, which changes with the settlement of a batch only: a batch that never answered
comes again, and nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import Conflict, ServiceError, UserError
from redrive.core.log import Log
from redrive.core.retry import Failed, FailureKind
from redrive.core.scope import Caller, Scope
from redrive.delivery.history.records import StreamAttempt, record_stream_attempt
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.sources.stream_sources import StreamSource
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.lambda_.batch_metrics import DROPPED, FAILED, INVOKED, TO_DESTINATION, count_events
from redrive.services.lambda_.failure_destinations import Sent, send_failure
from redrive.services.lambda_.limits import (
    EXPIRED_BATCHES_PER_CLAIM_MAX,
    MAPPINGS_PER_CLAIM_MAX,
    PROBLEM_PAUSE_MS,
)
from redrive.services.lambda_.model.event_invoke import UNHANDLED
from redrive.services.lambda_.model.failure_record import Condition, Extent, Response, failure_record
from redrive.services.lambda_.model.function import Function
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.model.shard_state import Lane, ShardState, numbers_of
from redrive.services.lambda_.model.stream_batch import (
    Answer,
    End,
    Settlement,
    Undone,
    after_attempt,
    after_last_call,
    edge_of,
    read_answer,
)
from redrive.services.lambda_.model.stream_settings import StreamSettings
from redrive.services.lambda_.runs import function_caller, record_run, run_caller
from redrive.services.lambda_.shard_reading import Subject
from redrive.services.lambda_.shard_states import readable_shards, state_of
from redrive.services.lambda_.shards import NAME, STREAM_BATCH, BatchRow, ShardLook
from redrive.services.lambda_.source import outcome_of, reported
from redrive.services.lambda_.versions import choose_by_arn
from redrive.services.lambda_.watches import STREAM_TIMER, end_pause, look_now, pause, paused_until, timer_of
from redrive.store.api import Transaction
from redrive.store.tables.attempts import RunState
from redrive.store.tables.deliveries import Delivery

_STATES = {End.DONE: RunState.DELIVERED, End.RETRY: RunState.RETRYING, End.SPLIT: RunState.RETURNED}

_Due = tuple[Scope, EventSourceMapping, Function]


class StreamMappingWorker:
    """Reads from the streams of enabled mappings, as the functions' roles. Looks only at mappings whose timer is due.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html
    """

    name = NAME
    timer = None
    upkeep = False

    def __init__(self, sources: Sequence[StreamSource], log: Log) -> None:
        self._sources: Mapping[str, StreamSource] = {source.service: source for source in sources}
        self._log = log

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        batch_at = tx.deliveries.next((STREAM_BATCH,))
        look_at = self._next_look(tx, free) if free.count > 0 else None
        return look_at if look_at is not None and (batch_at is None or look_at < batch_at) else batch_at

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        _end_leases(tx)
        attempts: list[Attempt] = []
        for scope, mapping, function in _mappings_due(tx) if free.count > 0 else ():
            room = free.room_of(function.arn)
            if room > 0:
                begun = self._look(tx, scope, mapping, function, room)
                free = free.without(attempt.function for attempt in begun)
                attempts += begun
        return attempts

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        row = tx.deliveries.held(attempt.key, attempt.fence)
        if row is None:
            return
        assert isinstance(result, InvocationResult), "mappings run functions"
        tx.deliveries.delete(row.id, row.fence)
        mapping = tx.resources.get(EventSourceMapping, row.scope, str(row.document["mapping"]))
        if mapping is not None:
            look_now(tx, row.scope, mapping)
        try:
            with tx.savepoint():
                last_result = _settle(tx, attempt.invocation, row, mapping, result)
        except (Conflict, UserError):
            raise
        except Exception as defect:  # noqa: BLE001 - Our defect: the batch is not done, and comes again.
            self._log.error("batch not settled", batch_id=row.id, mapping=row.source_arn, defect=repr(defect))
            last_result = "PROBLEM: redrive failed to settle the batch"
            _release(tx, row)
            if mapping is not None:
                pause(tx, row.scope, mapping, PROBLEM_PAUSE_MS)
        if mapping is not None:
            _note(tx, row.scope, mapping, last_result)

    def _next_look(self, tx: Transaction, free: FreeSlots) -> Instant | None:
        """Return when a mapping is next looked at whose function may start a run; the others wait for a slot."""
        first_at = tx.timers.next(STREAM_TIMER)
        if first_at is None or first_at > tx.now or not free.held or not free.full:
            return first_at
        if any(free.room_of(function.arn) > 0 for _, _, function in _mappings_due(tx)):
            return first_at
        return tx.timers.next_after(STREAM_TIMER, tx.now)

    def _look(
        self, tx: Transaction, scope: Scope, mapping: EventSourceMapping, function: Function, room: int
    ) -> list[Attempt]:
        """Begin batches of a mapping, at most `room`, and set the timer for the next look."""
        timer, settings = timer_of(scope, mapping), mapping.stream
        if not mapping.enabled or settings is None:
            tx.timers.rest(STREAM_TIMER, timer)
            return []
        resumes_at = paused_until(tx, scope, mapping)
        if resumes_at > tx.now:
            tx.timers.set(STREAM_TIMER, timer, resumes_at)
            return []
        if resumes_at:
            end_pause(tx, scope, mapping)
        source = self._sources.get(Arn.parse(mapping.source_arn).service)
        try:
            if source is None:
                raise ServiceError("ResourceNotFoundException", f"Stream not found: {mapping.source_arn}")
            with tx.savepoint():
                caller = function_caller(tx, function, new_uuid(tx.entropy))
                subject = Subject(scope, mapping, settings, function, source, caller)
                return _look_at_shards(tx, subject, timer, room)
        except ServiceError as error:
            _note(tx, scope, mapping, f"PROBLEM: {error.message}")
            pause(tx, scope, mapping, PROBLEM_PAUSE_MS)
            return []


def _look_at_shards(tx: Transaction, subject: Subject, timer: str, room: int) -> list[Attempt]:
    """Look at the shards whose parents are done, the longest waiting first. Errors: ServiceError."""
    attempts: list[Attempt] = []
    due_at: Instant | None = None
    is_waiting = is_busy = False
    for shard, state in readable_shards(tx, subject):
        if len(attempts) >= room:
            due_at = tx.now
            break
        look = ShardLook(tx, subject, shard, state)
        attempts += look.take(room - len(attempts))
        if look.state != state:
            tx.resources.put(subject.scope, look.state)
        is_waiting = is_waiting or look.is_waiting
        is_busy = is_busy or any(lane.running for lane in look.state.lanes)
        look_at = tx.now if look.state.is_finished else look.due_at
        if look_at is not None:
            due_at = look_at if due_at is None else min(due_at, look_at)
    if due_at is not None:
        tx.timers.set(STREAM_TIMER, timer, due_at)
    elif is_busy and not is_waiting:
        tx.timers.rest(STREAM_TIMER, timer)  # Arrivals change nothing before a batch has ended.
    else:
        tx.timers.clear(STREAM_TIMER, timer)
    return attempts


def _mappings_due(tx: Transaction) -> list[_Due]:
    """Return the mappings to look at now, the longest waiting first; timers without a mapping are stopped."""
    first_at = tx.timers.next(STREAM_TIMER)
    if first_at is None or first_at > tx.now:
        return []
    found: list[_Due] = []
    for timer, _ in tx.timers.due(STREAM_TIMER, tx.now, MAPPINGS_PER_CLAIM_MAX):
        account, region, name = timer.split("/", 2)
        scope = Scope(account, region)
        mapping = tx.resources.get(EventSourceMapping, scope, name)
        function = None if mapping is None else choose_by_arn(tx, scope, mapping.function_arn)
        if mapping is None or function is None:
            tx.timers.rest(STREAM_TIMER, timer)
        else:
            found.append((scope, mapping, function))
    return found


def _settle(
    tx: Transaction, ran: Invocation, row: Delivery, mapping: EventSourceMapping | None, result: InvocationResult
) -> str:
    """Record the run, and move the lane's position as far as records are done. Returns the LastProcessingResult."""
    record_run(tx, ran, result)
    batch = BatchRow(**row.document)
    state, lane = _running(tx, row, batch)
    if mapping is None or mapping.stream is None or state is None or lane is None:
        return ""
    answer = read_answer(
        result, ran.payload, reports_failures=batch.reports_failures, has_state=lane.window is not None
    )
    after = _after(lane, batch, answer, mapping.stream, tx.now)
    tx.resources.put(row.scope, state.with_lane(batch.lane, after.lane))
    _count(tx, row.scope, mapping, batch, result, after)
    sent = None
    if after.end is End.GIVE_UP and not batch.is_final:
        sent = _give_up(tx, ran, row, mapping, batch, lane, result, after)
    _record(tx, row, mapping, batch, lane, answer, result, after, sent)
    return "OK" if after.end is End.DONE else "PROBLEM: Function call failed"


def _after(lane: Lane, batch: BatchRow, answer: Answer, settings: StreamSettings, now: Instant) -> Settlement:
    if batch.is_final:
        return after_last_call(lane, answer, settings, now)
    return after_attempt(lane, numbers_of(batch.ranges), answer, settings, now)


def _running(tx: Transaction, row: Delivery, batch: BatchRow) -> tuple[ShardState | None, Lane | None]:
    """The state of the batch's shard and its lane, if this attempt is still the lane's."""
    state = state_of(tx, row.scope, batch.mapping, batch.shard)
    if state is None or batch.lane >= len(state.lanes) or state.lanes[batch.lane].running != row.id:
        return None, None
    return state, state.lanes[batch.lane]


def _give_up(
    tx: Transaction, ran: Invocation, row: Delivery, mapping: EventSourceMapping, batch: BatchRow, lane: Lane,
    result: InvocationResult, after: Settlement,
) -> Sent:  # fmt: skip
    """Send the metadata of the records that were never done to the mapping's destination."""
    extent = batch.extent
    if after.done:
        records = load_json(ran.payload)["Records"][after.done :]
        extent = Extent(edge_of(records[0]), edge_of(records[-1]), len(records))
    error = UNHANDLED if result.status is InvocationStatus.FUNCTION_ERROR else None
    record = failure_record(
        request_id=ran.request_id, function_arn=mapping.function_arn, condition=Condition.RETRIES,
        calls=lane.failures + 1, response=Response(ran.version, error), stream_arn=mapping.read_arn,
        shard_id=batch.shard, extent=extent, now=tx.now,
    )  # fmt: skip
    sent = send_failure(tx, _caller(tx, ran), mapping, record, shard_id=batch.shard, event=ran.payload.decode)
    delivered = extent.count if sent.state is RunState.DEAD_LETTERED else 0
    count_events(tx, row.scope, mapping, **{DROPPED: extent.count, TO_DESTINATION: delivered})
    return sent


def _caller(tx: Transaction, ran: Invocation) -> Caller | ServiceError:
    try:
        return run_caller(tx, ran, new_uuid(tx.entropy))
    except ServiceError as error:
        return error


def _record(
    tx: Transaction, row: Delivery, mapping: EventSourceMapping, batch: BatchRow, lane: Lane, answer: Answer,
    result: InvocationResult, after: Settlement, sent: Sent | None,
) -> None:  # fmt: skip
    """Record the attempt in the history."""
    outcome = outcome_of(result)
    failed = reported(outcome) if isinstance(outcome, Failed) else None
    if failed is None and after.end is not End.DONE:
        why = answer.why if isinstance(answer, Undone) and answer.why else f"{after.done} of {batch.count} records done"
        failed = Failed("BatchItemFailures", why, FailureKind.TRANSIENT)
    of = f"the window's last call, shard {batch.shard}" if batch.is_final else f"records {batch.extent.text}"
    why = after.why or of
    if sent is not None:
        why = sent.why
    elif after.end is End.GIVE_UP:
        why = f"the state of a window is lost: {of}"
    record_stream_attempt(
        tx,
        StreamAttempt(
            lane.batch_id, lane.execution_id or f"{batch.shard}:{lane.batch_id}", row.scope, mapping.source_arn,
            mapping.function_arn, lane.attempts, row.first_at,
            _STATES.get(after.end, RunState.DROPPED) if sent is None else sent.state, failed,
            next_at=after.lane.retry_at if after.end is End.RETRY else None,
            letter_arn="" if sent is None else sent.letter_arn, led_to="" if sent is None else sent.led_to, why=why,
            log_stream=result.log_stream,
        ),
    )  # fmt: skip


def _count(
    tx: Transaction,
    scope: Scope,
    mapping: EventSourceMapping,
    batch: BatchRow,
    result: InvocationResult,
    after: Settlement,
) -> None:
    """Count the events of an attempt. A throttled attempt reached no function."""
    was_called = result.status in (InvocationStatus.OK, InvocationStatus.FUNCTION_ERROR)
    count_events(
        tx, scope, mapping, **{INVOKED: batch.count if was_called else 0, FAILED: batch.count - after.done}
    )  # fmt: skip


def _note(tx: Transaction, scope: Scope, mapping: EventSourceMapping, result: str) -> None:
    """Store the result of the latest batch, if it changed."""
    if result and mapping.last_result != result:
        tx.resources.put(scope, replace(mapping, last_result=result))


def _end_leases(tx: Transaction) -> None:
    """Delete batches whose leases have ended; they come again. A late settle then has no effect."""
    due_at = tx.deliveries.next((STREAM_BATCH,))
    if due_at is None or due_at > tx.now:
        return
    for row in tx.deliveries.claim_due(STREAM_BATCH, tx.now, lease_ms=0, limit=EXPIRED_BATCHES_PER_CLAIM_MAX):
        tx.deliveries.delete(row.id, row.fence)
        lane = _release(tx, row)
        mapping = tx.resources.get(EventSourceMapping, row.scope, str(row.document["mapping"]))
        if mapping is None:
            continue
        look_now(tx, row.scope, mapping)
        if lane is not None:
            batch = BatchRow(**row.document)
            unheard = Failed("ServiceException", "nobody answered within its lease", FailureKind.THROTTLED)
            record_stream_attempt(
                tx,
                StreamAttempt(
                    lane.batch_id, lane.execution_id or f"{batch.shard}:{lane.batch_id}", row.scope, mapping.source_arn,
                    mapping.function_arn, lane.attempts, row.first_at, RunState.RETRYING, unheard, next_at=tx.now,
                ),
            )  # fmt: skip


def _release(tx: Transaction, row: Delivery) -> Lane | None:
    """Let the lane of a batch without an answer try the batch again. This uses up no retry."""
    batch = BatchRow(**row.document)
    state, lane = _running(tx, row, batch)
    if state is None or lane is None:
        return None
    waits = max(1, lane.waits)
    tx.resources.put(row.scope, state.with_lane(batch.lane, replace(lane, running="", waits=waits, retry_at=tx.now)))
    return lane
