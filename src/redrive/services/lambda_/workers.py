"""Mappings at work: messages are received in batches, handed to functions, and deleted by what functions answer.

A batch under way is a row beside the deliveries, in a place of its own: its `due_at` is the end of its lease. A batch
whose lease ends unheard is dropped; its messages come back by their visibility timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.errand import Result
from redrive.delivery.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.targets import queue_url
from redrive.delivery.worker import Attempt
from redrive.services.lambda_.limits import (
    EMPTY_POLL_PAUSE_MS,
    EXPIRED_BATCHES_PER_CLAIM_MAX,
    PROBLEM_PAUSE_MS,
    RECEIVE_MESSAGES_MAX,
    RUN_MARGIN_MS,
    SYNC_PAYLOAD_BYTES_MAX,
    THROTTLE_PAUSE_MS,
)
from redrive.services.lambda_.model import Function, function_invocation
from redrive.services.lambda_.model_batch import Batch, batches, messages_left, sqs_record
from redrive.services.lambda_.model_mapping import (
    EventSourceMapping,
    concurrency,
    effective_visibility_s,
)
from redrive.services.lambda_.workers_runs import function_caller, record_run, run_caller
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

NAME = "lambda.mapping"
BATCH = "batch"
"""The place of batches under way: the delivery worker does not claim there."""

NextVisible = Callable[[Transaction, str], Instant | None]
"""When the next message of the queue with this ARN is visible (in the past if one is now); None if it has none."""
CountVisible = Callable[[Transaction, str, int], int]
"""How many messages of the queue with this ARN are visible, counting no further than the last argument."""
_Poll = Callable[[int], list[Document]]
"""Receives at most so many messages. Errors: ServiceError (queue gone, role refused)."""


class _TooLarge(Exception):
    """A receive gave more than an event holds."""


class MappingWorker:
    """Polls the queues of enabled mappings as the functions' roles.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    """

    name = NAME
    timer = None
    upkeep = False

    def __init__(self, *, next_visible: NextVisible, count_visible: CountVisible) -> None:
        self._next_visible = next_visible
        self._count_visible = count_visible

    def next_due(self, tx: Transaction, *, free: int) -> Instant | None:
        lease_end = tx.deliveries.next((BATCH,))
        found = [] if lease_end is None else [lease_end]
        if free > 0:
            for scope, mapping in tx.resources.everywhere(EventSourceMapping):
                at = self._due_at(tx, scope, mapping)
                if at is not None:
                    found.append(at)
        return min(found, default=None)

    def claim(self, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        _drop_expired(tx)
        attempts: list[Attempt] = []
        waiting = tx.resources.everywhere(EventSourceMapping) if free > 0 else []
        # One batch for each mapping in turn, so that a full queue does not keep the others waiting.
        while waiting and len(attempts) < free:
            took: list[tuple[Scope, EventSourceMapping]] = []
            for scope, mapping in waiting:
                batch = self._take(tx, scope, mapping, free=free - len(attempts))
                attempts += batch
                if batch:
                    took.append((scope, mapping))
            waiting = took
        return attempts

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        row = tx.deliveries.held(attempt.key, attempt.fence)
        if row is None:
            return
        assert isinstance(result, InvocationResult), "mappings run functions"
        tx.deliveries.delete(row.id, row.fence)
        record_run(tx, attempt.invocation, result)
        receipts: dict[str, str] = row.document["Receipts"]
        left = messages_left(result, list(receipts), reports_failures=row.document["ReportsFailures"])
        done = [receipt for message_id, receipt in receipts.items() if message_id not in left]
        try:
            undone = _delete_messages(tx, attempt.invocation, row, done)
        except ServiceError as error:
            undone = [error.message]
        outcome = "OK" if done else "PROBLEM: Function call failed"
        if undone:
            outcome = f"PROBLEM: {undone[0]}"
        mapping = tx.resources.get(EventSourceMapping, row.scope, row.document["Mapping"])
        if mapping is None:
            return
        _note(tx, row.scope, mapping, outcome)
        if result.status is InvocationStatus.THROTTLED:
            _pause(tx, row.scope, mapping, THROTTLE_PAUSE_MS)

    def _due_at(self, tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> Instant | None:
        """When a batch of the mapping may next be received; None while it has no room, or nothing is to come."""
        function = tx.resources.get(Function, scope, mapping.function_name)
        if not mapping.enabled or function is None or _room(tx, mapping, function) <= 0:
            return None
        first_at = self._next_visible(tx, mapping.source_arn)
        if first_at is None:
            return None
        paused_until = tx.timers.get(NAME, _timer(scope, mapping)) or 0
        is_full = mapping.window_s == 0 or (
            self._count_visible(tx, mapping.source_arn, mapping.batch_size) >= mapping.batch_size
        )
        return max(first_at if is_full else first_at + mapping.window_s * SECOND_MS, paused_until)

    def _take(self, tx: Transaction, scope: Scope, mapping: EventSourceMapping, *, free: int) -> list[Attempt]:
        """Receive a batch, if one is due; more than one attempt where its messages are too large for one event."""
        due_at = self._due_at(tx, scope, mapping)
        function = tx.resources.get(Function, scope, mapping.function_name)
        if free <= 0 or due_at is None or due_at > tx.now or function is None:
            return []
        tx.timers.clear(NAME, _timer(scope, mapping))
        try:
            found = _receive(tx, mapping, function)
        except ServiceError as error:
            _note(tx, scope, mapping, f"PROBLEM: {error.message}")
            _pause(tx, scope, mapping, PROBLEM_PAUSE_MS)
            return []
        if not found:
            # What was due went elsewhere: to a dead-letter queue, say.
            _pause(tx, scope, mapping, EMPTY_POLL_PAUSE_MS)
            return []
        return [_begin(tx, scope, mapping, function, batch) for batch in found[:free]]


def _room(tx: Transaction, mapping: EventSourceMapping, function: Function) -> int:
    return concurrency(mapping, function) - tx.deliveries.count_of_source(NAME, mapping.arn)


def _timer(scope: Scope, mapping: EventSourceMapping) -> str:
    return f"{scope}/{mapping.name}"


def _pause(tx: Transaction, scope: Scope, mapping: EventSourceMapping, pause_ms: int) -> None:
    tx.timers.set(NAME, _timer(scope, mapping), tx.now + pause_ms)


def _note(tx: Transaction, scope: Scope, mapping: EventSourceMapping, result: str) -> None:
    """Keep what became of the latest batch, if it is news."""
    if mapping.last_result != result:
        tx.resources.put(scope, replace(mapping, last_result=result))


def _drop_expired(tx: Transaction) -> None:
    """Forget batches whose leases have ended: whoever settles one now settles nothing."""
    for row in tx.deliveries.claim_due(BATCH, tx.now, lease_ms=0, limit=EXPIRED_BATCHES_PER_CLAIM_MAX):
        tx.deliveries.delete(row.id, row.fence)


def _receive(tx: Transaction, mapping: EventSourceMapping, function: Function) -> list[Batch]:
    """The messages of one batch, hidden for as long as the run may take, in as many events as they need.

    Errors: ServiceError (queue gone, role refused).
    """
    poll = _poll_of(tx, mapping, function)
    if mapping.is_fifo:
        return _receive_in_order(tx, mapping, poll)
    received: list[Document] = []
    size = 0
    while len(received) < mapping.batch_size and size < SYNC_PAYLOAD_BYTES_MAX:
        asked_for = min(RECEIVE_MESSAGES_MAX, mapping.batch_size - len(received))
        page = poll(asked_for)
        received += page
        size += sum(len(message.get("Body", "")) for message in page)
        if len(page) < asked_for:
            break
    return _batches(mapping, received)


def _receive_in_order(tx: Transaction, mapping: EventSourceMapping, poll: _Poll) -> list[Batch]:
    """What one receive of a FIFO queue gives, of one group or of several, in one event; empty if it gives nothing.

    A receive of more than an event holds is undone, and a smaller one takes its place: messages that were received and
    not run would hold up their groups, and would be nearer to the dead-letter queue for nothing.

    Errors: ServiceError (queue gone, role refused).
    """
    limit = mapping.batch_size
    while True:
        try:
            with tx.savepoint():
                found = _batches(mapping, poll(limit))
                if len(found) > 1:
                    raise _TooLarge
                return found
        except _TooLarge:
            limit = len(found[0].receipts)


def _batches(mapping: EventSourceMapping, messages: Sequence[Document]) -> list[Batch]:
    records = [sqs_record(message, mapping.source_arn) for message in messages]
    return list(batches(records, bytes_max=SYNC_PAYLOAD_BYTES_MAX))


def _poll_of(tx: Transaction, mapping: EventSourceMapping, function: Function) -> _Poll:
    """How the function's role receives from the queue. Errors: ServiceError (queue gone, role refused)."""
    caller = function_caller(tx, function, new_uuid(tx.entropy))
    url = queue_url(mapping.source_arn)
    asked: Document = {"QueueUrl": url, "AttributeNames": ["VisibilityTimeout"]}
    attributes = tx.services.call(tx, caller, "sqs", "GetQueueAttributes", asked)["Attributes"]
    params: Document = {
        "QueueUrl": url,
        "WaitTimeSeconds": 0,
        "MessageSystemAttributeNames": ["All"],
        "MessageAttributeNames": ["All"],
    }
    visibility_s = effective_visibility_s(
        visibility_s=int(attributes["VisibilityTimeout"]), window_s=mapping.window_s, timeout_s=function.timeout_s
    )
    if visibility_s is not None:
        params["VisibilityTimeout"] = visibility_s

    def poll(limit: int) -> list[Document]:
        answer = tx.services.call(tx, caller, "sqs", "ReceiveMessage", {**params, "MaxNumberOfMessages": limit})
        return answer.get("Messages") or []

    return poll


def _begin(tx: Transaction, scope: Scope, mapping: EventSourceMapping, function: Function, batch: Batch) -> Attempt:
    """Put a batch under way: its row is its lease, and counts against the mapping's concurrency."""
    invocation = function_invocation(function, new_uuid(tx.entropy), batch.event, function_arn=mapping.function_arn)
    row = Delivery(
        id=invocation.request_id,
        scope=scope,
        source=NAME,
        source_arn=mapping.arn,
        target_arn=mapping.function_arn,
        document={
            "Mapping": mapping.name,
            "QueueArn": mapping.source_arn,
            "ReportsFailures": mapping.reports_failures,
            "Receipts": dict(batch.receipts),
        },
        policy=RetryPolicy(),
        place=BATCH,
        due_at=tx.now + invocation.timeout_ms + RUN_MARGIN_MS,
        first_at=tx.now,
    )
    tx.deliveries.put(row)
    return Attempt(NAME, row.id, row.fence, invocation)


def _delete_messages(tx: Transaction, invocation: Invocation, row: Delivery, receipts: Sequence[str]) -> list[str]:
    """Delete messages as the function's role; answers why some were not: their receipts had expired.

    Errors: ServiceError (queue gone, role refused).
    """
    if not receipts:
        return []
    caller = run_caller(tx, invocation, new_uuid(tx.entropy))
    url = queue_url(row.document["QueueArn"])
    undone: list[str] = []
    for start in range(0, len(receipts), RECEIVE_MESSAGES_MAX):
        entries = [
            {"Id": str(number), "ReceiptHandle": receipt}
            for number, receipt in enumerate(receipts[start : start + RECEIVE_MESSAGES_MAX])
        ]
        answer = tx.services.call(tx, caller, "sqs", "DeleteMessageBatch", {"QueueUrl": url, "Entries": entries})
        undone += [entry["Message"] for entry in answer.get("Failed") or ()]
    return undone
