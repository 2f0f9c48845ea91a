"""The worker of mappings: reads batches of items, sends them to functions, and acknowledges what their answers allow.

A running batch is a row in the table of deliveries, in a place of its own; `due_at` is the end of its lease. If the
lease ends without an answer, the batch is dropped; the visibility timeout makes a queue's messages visible again. A
batch whose function was throttled is held and tried again (`held_batches`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_row_id, new_uuid
from redrive.core.errors import Conflict, ServiceError, UserError
from redrive.core.log import Log
from redrive.core.retry import Failed, RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.history.records import record_batch
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.sources.event_sources import Batch, EventSource, Reading
from redrive.delivery.sources.watches import Reader, watch
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.lambda_.batch_metrics import DELETED, FAILED, FILTERED_OUT, INVOKED, POLLED, count_events
from redrive.services.lambda_.held_batches import held_batches_due, hold, is_over, next_retry, wait
from redrive.services.lambda_.limits import (
    EMPTY_POLL_PAUSE_MS,
    EXPIRED_BATCHES_PER_CLAIM_MAX,
    MAPPINGS_PER_CLAIM_MAX,
    PROBLEM_PAUSE_MS,
    RUN_MARGIN_MS,
)
from redrive.services.lambda_.model.batch import messages_left
from redrive.services.lambda_.model.function import Function, function_invocation, is_recursive
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.model.metrics import RECURSIVE_DROPPED
from redrive.services.lambda_.model.recursion import chain_of_batch
from redrive.services.lambda_.paces import NAME, calm, grow, is_full, may_grow, slow_down
from redrive.services.lambda_.runs import count, function_caller, record_run, run_caller
from redrive.services.lambda_.source import outcome_of, reported
from redrive.services.lambda_.versions import choose_by_arn
from redrive.services.lambda_.watches import (
    LOOK_TIMER,
    end_pause,
    look_now,
    pause,
    paused_until,
    timer_of,
)
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery
from redrive.store.tables.runs import Link

BATCH = "batch"
"""The place of running batches; the delivery worker claims nothing there."""

_Due = tuple[Scope, EventSourceMapping, Function]


class MappingWorker:
    """Reads from the sources of enabled mappings, as the functions' roles. Looks only at mappings whose timer is due.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html
    """

    name = NAME
    timer = None
    upkeep = False

    def __init__(self, sources: Sequence[EventSource], log: Log) -> None:
        self._sources: Mapping[str, EventSource] = {source.service: source for source in sources}
        self._log = log

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        batch_at = tx.deliveries.next((BATCH,))
        if free.count <= 0:
            return batch_at
        return min((at for at in (batch_at, self._next_look(tx, free), next_retry(tx)) if at is not None), default=None)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        _drop_expired(tx)
        attempts = _try_again(tx, free)
        free = free.without(attempt.function for attempt in attempts)
        waiting = _mappings_due(tx) if free.count > 0 else []
        # Each mapping takes one batch per round, so that a full queue does not delay the others.
        while waiting and free.count > 0:
            took: list[_Due] = []
            for due in waiting:
                batch = self._take(tx, *due, free=free)
                free = free.without(attempt.function for attempt in batch)
                attempts += batch
                if batch:
                    took.append(due)
            waiting = took
        return attempts

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        row = tx.deliveries.held(attempt.key, attempt.fence)
        if row is None:
            return
        assert isinstance(result, InvocationResult), "mappings run functions"
        tx.deliveries.delete(row.id, row.fence)
        mapping = tx.resources.get(EventSourceMapping, row.scope, row.document["Mapping"])
        if mapping is not None:
            look_now(tx, row.scope, mapping)
        if result.status is InvocationStatus.THROTTLED and mapping is not None:
            slow_down(tx, row.scope, mapping)
            if hold(tx, row, attempt.invocation):
                record_run(tx, attempt.invocation, result)
                return
        try:
            with tx.savepoint():
                last_result = self._acknowledge(tx, attempt.invocation, row, result)
        except (Conflict, UserError):
            raise
        except Exception as defect:  # noqa: BLE001 - Our defect: the batch is not done; the source delivers it again.
            self._log.error("batch not settled", batch_id=row.id, mapping=row.source_arn, defect=repr(defect))
            last_result = "PROBLEM: redrive failed to settle the batch"
        mapping = tx.resources.get(EventSourceMapping, row.scope, row.document["Mapping"])
        if mapping is None:
            return
        _note(tx, row.scope, mapping, last_result)
        if result.status is InvocationStatus.FUNCTION_ERROR and not row.document["ReportsFailures"]:
            slow_down(tx, row.scope, mapping)

    def _next_look(self, tx: Transaction, free: FreeSlots) -> Instant | None:
        """Return when a mapping is next looked at whose function may start a run; the others wait for a slot."""
        first_at = tx.timers.next(LOOK_TIMER)
        if first_at is None or first_at > tx.now or not free.held or not free.full:
            return first_at
        if any(free.room_of(function.arn) > 0 for _, _, function in _mappings_due(tx)):
            return first_at
        return tx.timers.next_after(LOOK_TIMER, tx.now)

    def _acknowledge(self, tx: Transaction, ran: Invocation, row: Delivery, result: InvocationResult) -> str:
        """Record the run, and acknowledge the finished items. Returns the LastProcessingResult of the mapping."""
        record_run(tx, ran, result)
        receipts: dict[str, str] = row.document["Receipts"]
        left = messages_left(result, list(receipts), reports_failures=row.document["ReportsFailures"])
        _record(tx, row, left, result)
        done = [receipt for item_id, receipt in receipts.items() if item_id not in left]
        undone: Sequence[str] = ()
        try:
            if done:
                source_arn = row.document["QueueArn"]
                caller = run_caller(tx, ran, new_uuid(tx.entropy))
                undone = self._source(source_arn).acknowledge(tx, caller, source_arn, done)
        except ServiceError as error:
            undone = [error.message]
        mapping = tx.resources.get(EventSourceMapping, row.scope, row.document["Mapping"])
        if mapping is not None:
            _count(tx, row.scope, mapping, result, failed=len(left), items=len(receipts), undone=len(undone))
        if undone:
            return f"PROBLEM: {undone[0]}"
        return "OK" if done else "PROBLEM: Function call failed"

    def _take(
        self, tx: Transaction, scope: Scope, mapping: EventSourceMapping, function: Function, *, free: FreeSlots
    ) -> list[Attempt]:
        """Read a batch, if one is due. Returns several attempts if its items are too large for one event.

        If no batch is due, the source says when to look at the mapping again.
        """
        room = free.room_of(function.arn)
        if room <= 0:
            return []
        timer = timer_of(scope, mapping)
        if not mapping.enabled:
            tx.timers.rest(LOOK_TIMER, timer)
            return []
        has_room = not is_full(tx, scope, mapping, function)
        if not has_room and not may_grow(tx, scope, mapping, function):
            tx.timers.rest(LOOK_TIMER, timer)
            return []
        source, reading = self._source(mapping.source_arn), _reading(mapping, function)
        due_at = source.due_at(tx, reading)
        if due_at is None:
            tx.timers.clear(LOOK_TIMER, timer)
            if has_room:
                calm(tx, scope, mapping)
            return []
        if not has_room:
            tx.timers.set(LOOK_TIMER, timer, max(due_at, grow(tx, scope, mapping, function)))
            return []
        resumes_at = paused_until(tx, scope, mapping)
        if max(due_at, resumes_at) > tx.now:
            tx.timers.set(LOOK_TIMER, timer, max(due_at, resumes_at))
            return []
        if resumes_at:
            end_pause(tx, scope, mapping)
        try:
            caller = function_caller(tx, function, new_uuid(tx.entropy))
            found = source.poll(tx, caller, reading)
        except ServiceError as error:
            _note(tx, scope, mapping, f"PROBLEM: {error.message}")
            pause(tx, scope, mapping, PROBLEM_PAUSE_MS)
            return []
        polled = found.filtered + sum(len(batch.receipts) for batch in found.batches)
        count_events(tx, scope, mapping, **{POLLED: polled, FILTERED_OUT: found.filtered, DELETED: found.filtered})
        if found.filtered and not found.batches:
            return []  # The timer is due: the next look goes on behind what the filters left out.
        if not found.batches:
            # The due messages went elsewhere, for example to a dead-letter queue.
            pause(tx, scope, mapping, EMPTY_POLL_PAUSE_MS)
            return []
        hidden_until = tx.now + found.hidden_ms
        return [
            _begin(
                tx, scope, mapping, function, batch, source.executions(tx, list(batch.receipts.values())), hidden_until
            )
            for batch in found.batches[:room]
            if not _is_dropped(tx, mapping, function, batch)
        ]

    def _source(self, source_arn: str) -> EventSource:
        return self._sources[Arn.parse(source_arn).service]


def _mappings_due(tx: Transaction) -> list[_Due]:
    """Return the mappings to look at now, the longest waiting first; timers without a mapping are stopped."""
    first_at = tx.timers.next(LOOK_TIMER)
    if first_at is None or first_at > tx.now:
        return []
    found: list[_Due] = []
    for timer, _ in tx.timers.due(LOOK_TIMER, tx.now, MAPPINGS_PER_CLAIM_MAX):
        account, region, name = timer.split("/", 2)
        scope = Scope(account, region)
        mapping = tx.resources.get(EventSourceMapping, scope, name)
        function = None if mapping is None else choose_by_arn(tx, scope, mapping.function_arn)
        if mapping is None or function is None:
            tx.timers.rest(LOOK_TIMER, timer)
        else:
            found.append((scope, mapping, function))
            watch(tx, mapping.source_arn, Reader(LOOK_TIMER, timer))  # Mappings from older stores have no subscription.
    return found


def _reading(mapping: EventSourceMapping, function: Function) -> Reading:
    return Reading(mapping.source_arn, mapping.batch_size, mapping.window_s, function.timeout_s, mapping.filters)


def _count(
    tx: Transaction, scope: Scope, mapping: EventSourceMapping, result: InvocationResult, *,
    items: int, failed: int, undone: int,
) -> None:  # fmt: skip
    """Count the events of a batch. A throttled batch reached no function."""
    was_called = result.status in (InvocationStatus.OK, InvocationStatus.FUNCTION_ERROR)
    deleted = items - failed - undone
    count_events(tx, scope, mapping, **{INVOKED: items if was_called else 0, FAILED: failed, DELETED: deleted})


def _note(tx: Transaction, scope: Scope, mapping: EventSourceMapping, result: str) -> None:
    """Store the result of the latest batch, if it changed."""
    if mapping.last_result != result:
        tx.resources.put(scope, replace(mapping, last_result=result))


def _drop_expired(tx: Transaction) -> None:
    """Delete batches whose leases have ended; a late settle then has no effect."""
    due_at = tx.deliveries.next((BATCH,))
    if due_at is None or due_at > tx.now:
        return
    for row in tx.deliveries.claim_due(BATCH, tx.now, lease_ms=0, limit=EXPIRED_BATCHES_PER_CLAIM_MAX):
        tx.deliveries.delete(row.id, row.fence)
        record_batch(tx, row, row.document["QueueArn"], _links(row), None, why="nobody answered within its lease")
        mapping = tx.resources.get(EventSourceMapping, row.scope, row.document["Mapping"])
        if mapping is not None:
            look_now(tx, row.scope, mapping)


def _links(row: Delivery, left: Collection[str] | None = None) -> list[Link]:
    """Return the messages of a batch. All except `left` are done; none is done if `left` is None."""
    found = (Link(*link) for link in row.document.get("Links") or ())
    return [link._replace(is_done=left is not None and link.message_id not in left) for link in found]


def _record(tx: Transaction, row: Delivery, left: Collection[str], result: InvocationResult) -> None:
    """Record the result of a batch in the history."""
    outcome = outcome_of(result)
    failed = reported(outcome) if isinstance(outcome, Failed) else None
    why = f"{len(left)} of its messages went back to their queue" if left and failed is None else ""
    record_batch(
        tx, row, row.document["QueueArn"], _links(row, left), failed, why=why, log_stream=result.log_stream
    )  # fmt: skip


def _is_dropped(tx: Transaction, mapping: EventSourceMapping, function: Function, batch: Batch) -> bool:
    """Whether a batch is a loop, and is not run: its messages come back by the visibility timeout."""
    if not is_recursive(function, chain_of_batch(batch.event, function.arn)):
        return False
    count(tx, mapping.function_arn, RECURSIVE_DROPPED)
    return True


def _try_again(tx: Transaction, free: FreeSlots) -> list[Attempt]:
    """Start the held batches that are due and for which there are slots. Drops those whose messages came back."""
    attempts: list[Attempt] = []
    for row in held_batches_due(tx):
        mapping = tx.resources.get(EventSourceMapping, row.scope, row.document["Mapping"])
        function = None if mapping is None else choose_by_arn(tx, row.scope, mapping.function_arn)
        if mapping is None or function is None or not mapping.enabled or is_over(row, tx.now):
            tx.deliveries.delete(row.id, row.fence)
            record_batch(tx, row, row.document["QueueArn"], _links(row), None, why="its function was throttled")
            if mapping is not None:
                look_now(tx, row.scope, mapping)
        elif free.room_of(function.arn) <= 0:
            wait(tx, row)
        else:
            tx.deliveries.delete(row.id, row.fence)
            document = {name: value for name, value in row.document.items() if name != "Event"}
            attempt = _start(
                tx, row.scope, mapping, function, row.document["Event"].encode(), document, first_at=row.first_at
            )  # fmt: skip
            free = free.without([attempt.function])
            attempts.append(attempt)
    return attempts


def _begin(
    tx: Transaction, scope: Scope, mapping: EventSourceMapping, function: Function, batch: Batch,
    links: Sequence[Link], hidden_until: Instant,
) -> Attempt:  # fmt: skip
    """Start a batch that was read now."""
    document: Document = {
        "Mapping": mapping.name,
        "QueueArn": mapping.source_arn,
        "ReportsFailures": mapping.reports_failures,
        "Receipts": dict(batch.receipts),
        "Links": [list(link) for link in links],
        "HiddenUntil": hidden_until,
    }
    return _start(tx, scope, mapping, function, batch.event, document, first_at=tx.now)


def _start(
    tx: Transaction, scope: Scope, mapping: EventSourceMapping, function: Function, event: bytes, document: Document, *,
    first_at: Instant,
) -> Attempt:  # fmt: skip
    """Store the row of a batch that starts. The row holds the lease, and counts against the mapping's concurrency."""
    invocation = function_invocation(
        function, new_row_id(tx.entropy, tx.now), event, function_arn=mapping.function_arn,
        trace_header=chain_of_batch(event, function.arn),
    )  # fmt: skip
    row = Delivery(
        id=invocation.request_id, scope=scope, source=NAME, source_arn=mapping.arn, target_arn=mapping.function_arn,
        document=document, policy=RetryPolicy(), place=BATCH,
        due_at=tx.now + invocation.timeout_ms + RUN_MARGIN_MS, first_at=first_at,
    )  # fmt: skip
    tx.deliveries.put(row)
    return Attempt(NAME, row.id, row.fence, invocation)
