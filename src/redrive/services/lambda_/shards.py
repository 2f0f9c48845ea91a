"""Looks at one shard for a mapping: begins batches in free lanes, tries again what failed, gives up what is too old.

A shard's lanes run beside each other; within a lane the next batch begins after the one before is done or given up.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import cast

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_row_id
from redrive.core.retry import Failed, FailureKind, RetryPolicy
from redrive.delivery.history.records import StreamAttempt, record_stream_attempt
from redrive.delivery.sources.stream_sources import StreamItem, StreamShard
from redrive.delivery.worker import Attempt
from redrive.services.lambda_.batch_metrics import DROPPED, FILTERED_OUT, POLLED, TO_DESTINATION, count_events
from redrive.services.lambda_.failure_destinations import send_failure
from redrive.services.lambda_.limits import RUN_MARGIN_MS, WINDOW_WAIT_MS
from redrive.services.lambda_.model.failure_record import Condition, Edge, Extent, failure_record
from redrive.services.lambda_.model.function import function_invocation
from redrive.services.lambda_.model.metrics import ITERATOR_AGE
from redrive.services.lambda_.model.shard_state import (
    Lane,
    ShardState,
    Window,
    meeting_point,
    ranges_of,
    resized,
    window_of,
)
from redrive.services.lambda_.model.stream_batch import stream_event, window_members
from redrive.services.lambda_.runs import count
from redrive.services.lambda_.shard_reading import Found, ShardReader, Subject
from redrive.store.api import Transaction
from redrive.store.tables.attempts import RunState
from redrive.store.tables.deliveries import Delivery

NAME = "lambda.stream_mapping"
STREAM_BATCH = "stream batch"
"""The place of running batches; the delivery worker claims nothing there."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """What the row of a batch under way says about it, in the table of deliveries.

    `ranges` are the numbers of its records, `first` and `last` the sequence numbers, with the instants of arrival.
    """

    mapping: str
    shard: str
    lane: int
    ranges: list[list[int]]
    first: list[object]
    last: list[object]
    count: int
    reports_failures: bool
    is_final: bool = False

    def document(self) -> Document:
        """The row's document."""
        return asdict(self)

    @staticmethod
    def of(document: Document) -> BatchRow:
        """The batch of a row."""
        return BatchRow(**document)

    @property
    def extent(self) -> Extent:
        """The records of the batch."""
        return Extent(_edge_from(self.first), _edge_from(self.last), self.count)


class ShardLook:
    """One look at a shard. Afterwards `state` is what to store, and `due_at` when to look again.

    `due_at` is None if only an arrival or the end of a batch changes anything. `is_waiting`: a lane waits for records.
    """

    def __init__(self, tx: Transaction, subject: Subject, shard: StreamShard, state: ShardState) -> None:
        self._tx = tx
        self._of = subject
        self._shard = shard
        self.state = resized(state, subject.settings.parallelization)
        self.due_at: Instant | None = None
        self.is_waiting = False
        self._reader = ShardReader(tx, subject, shard.id, len(self.state.lanes))
        self._ended: set[int] = set()

    def take(self, room: int) -> list[Attempt]:
        """Begin up to `room` batches. Errors: ServiceError (the stream or the role refuses)."""
        attempts: list[Attempt] = []
        for number, lane in enumerate(self.state.lanes):
            if lane.running:
                continue
            if len(attempts) >= room:
                self._look_at(self._tx.now)
                break
            attempts += self._take_for(number, lane)
        if attempts:
            self.state = replace(self.state, turn=self.state.turn + 1)
        if len(self._ended) == len(self.state.lanes):
            self.state = replace(self.state, is_finished=True)
        elif self.state.lanes != resized(self.state, self._of.settings.parallelization).lanes:
            self._look_at(self._tx.now)
        return attempts

    def _take_for(self, number: int, lane: Lane) -> list[Attempt]:
        if lane.ends:
            return self._again(number, lane)
        if lane.waits:
            return self._begin_final(number, lane) if self._due(lane.retry_at) else []
        return self._next(number, lane)

    def _again(self, number: int, lane: Lane) -> list[Attempt]:
        """Try the lane's batch again, if it is time; what is too old for the function is given up."""
        expires_at = self._of.settings.expires_at(lane.oldest_at) if lane.oldest_at else None
        if not self._due(lane.retry_at if expires_at is None else min(lane.retry_at, expires_at)):
            return []
        end, found = lane.ends[0], self._reader.batch_again(number, lane)
        if found.expired:
            lane = self._give_up(number, lane, found.expired)
        if not found.items:
            # The rest is gone from the stream, or the filters leave it out now.
            lane = lane.moved(end) if lane.position < end else lane
            self.state = self.state.with_lane(number, lane)
            return self._take_for(number, lane)
        if lane.retry_at > self._tx.now:
            lane = replace(lane, oldest_at=found.items[0].at)
            self.state = self.state.with_lane(number, lane)
            self._due(min(lane.retry_at, self._of.settings.expires_at(lane.oldest_at) or lane.retry_at))
            return []
        return self._begin(number, lane, found)

    def _next(self, number: int, lane: Lane) -> list[Attempt]:
        """Begin the lane's next batch, if one is due."""
        is_resizing = len(self.state.lanes) != self._of.settings.parallelization
        window = lane.window
        if window is not None and self._is_early(window):
            return self._begin_final(number, lane)
        found = self._reader.next_batch(number, lane, seq_last=meeting_point(self.state) if is_resizing else None)
        if found.expired:
            self._give_up(number, lane, found.expired)
            self._look_at(self._tx.now)
            return []
        if found.items:
            return self._begin_new(number, lane, found)
        if found.position > lane.position:
            lane = replace(lane, position=found.position)
            self.state = self.state.with_lane(number, lane)
            self._count_polled(found.filtered, found.filtered)
        if found.has_more:
            self._look_at(self._tx.now)
        elif window is None:
            self._ended |= {number} if found.is_at_end else set()
        elif found.ends_window or found.is_at_end or self._due(window.end + WINDOW_WAIT_MS):
            return self._begin_final(number, lane)
        self.is_waiting = True
        return []

    def _begin_new(self, number: int, lane: Lane, found: Found) -> list[Attempt]:
        """Begin a batch of new records, unless the batching window waits for more."""
        window_ms = self._of.mapping.window_s * SECOND_MS
        if not (found.is_full or found.is_at_end or self._due(found.items[0].at + window_ms)):
            self.is_waiting = True
            return []
        self._count_polled(len(found.items) + found.filtered_within, found.filtered_within)
        return self._begin(number, replace(lane, ends=(found.items[-1].seq,)), found)

    def _begin(self, number: int, lane: Lane, found: Found) -> list[Attempt]:
        """Begin an attempt at these records. The row holds its lease."""
        items = found.items
        if lane.ends[0] > items[-1].seq and found.is_full:
            lane = replace(lane, ends=(items[-1].seq, *lane.ends))  # The mapping has a smaller batch size now.
        if lane.window is None and self._of.settings.tumbling_s:
            lane = replace(lane, window=window_of(items[0].at, self._of.settings.tumbling_s))
        first, last = items[0], items[-1]
        row = BatchRow(
            self._of.mapping.name, self._shard.id, number, ranges_of([item.seq for item in items]), _edge_to(first),
            _edge_to(last), len(items), self._of.mapping.reports_failures,
        )  # fmt: skip
        count(self._tx, self._of.mapping.function_arn, ITERATOR_AGE, max(0, self._tx.now - last.at))
        started = replace(lane, oldest_at=first.at, execution_id=lane.execution_id or self._execution_of(first))
        return [self._run(started, row, found.texts)]

    def _begin_final(self, number: int, lane: Lane) -> list[Attempt]:
        """Call the function for the end of the lane's window, with the state and without records."""
        row = BatchRow(
            self._of.mapping.name, self._shard.id, number, [], ["", 0], ["", 0], 0,
            self._of.mapping.reports_failures, is_final=True,
        )  # fmt: skip
        return [self._run(lane, row, [])]

    def _is_early(self, window: Window) -> bool:
        """Whether a window ends before its time: its state is too large, or the mapping was changed."""
        is_resizing = len(self.state.lanes) != self._of.settings.parallelization
        return window.is_cut or is_resizing or not self._of.settings.tumbling_s

    def _run(self, lane: Lane, row: BatchRow, texts: list[str]) -> Attempt:
        mapping, request_id = self._of.mapping, new_row_id(self._tx.entropy, self._tx.now)
        window = None
        if lane.window is not None:
            window = window_members(
                lane.window, self._shard.id, mapping.source_arn, is_final=row.is_final,
                is_cut=row.is_final and self._is_early(lane.window),
            )  # fmt: skip
        event = stream_event(texts, window)
        invocation = function_invocation(self._of.function, request_id, event, function_arn=mapping.function_arn)
        running = replace(
            lane, running=request_id, request_id=request_id, batch_id=lane.batch_id or request_id,
            attempts=lane.attempts + 1, retry_at=0,
        )  # fmt: skip
        delivery = Delivery(
            id=request_id, scope=self._of.scope, source=NAME, source_arn=mapping.arn, target_arn=mapping.function_arn,
            document=row.document(), policy=_NO_POLICY, place=STREAM_BATCH,
            due_at=self._tx.now + invocation.timeout_ms + RUN_MARGIN_MS, first_at=self._tx.now,
        )  # fmt: skip
        self._tx.deliveries.put(delivery)
        self.state = self.state.with_lane(row.lane, running)
        return Attempt(NAME, delivery.id, delivery.fence, invocation)

    def _give_up(self, number: int, lane: Lane, items: list[StreamItem]) -> Lane:
        """Discard records that are too old for the function: their metadata goes to the destination."""
        tx, mapping = self._tx, self._of.mapping
        extent = Extent(_edge(items[0]), _edge(items[-1]), len(items))
        batch_id = lane.batch_id or new_row_id(tx.entropy, tx.now)
        record = failure_record(
            request_id=lane.request_id or batch_id, function_arn=mapping.function_arn, condition=Condition.AGE,
            calls=lane.failures, response=None, stream_arn=mapping.read_arn, shard_id=self._shard.id, extent=extent,
            now=tx.now,
        )  # fmt: skip
        sent = send_failure(
            tx, self._of.caller, mapping, record, shard_id=self._shard.id,
            event=lambda: stream_event([dump_json(item.document) for item in items], None).decode(),
        )  # fmt: skip
        delivered = len(items) if sent.state is RunState.DEAD_LETTERED else 0
        count_events(tx, self._of.scope, mapping, **{DROPPED: len(items), TO_DESTINATION: delivered})
        if not lane.attempts:
            self._count_polled(len(items), 0)
        age = Failed(Condition.AGE.value, f"records {extent.text} are too old", FailureKind.PERMANENT)
        record_stream_attempt(
            tx,
            StreamAttempt(
                batch_id, lane.execution_id or self._execution_of(items[0]), self._of.scope, mapping.source_arn,
                mapping.function_arn, lane.attempts + 1, tx.now, sent.state, age, letter_arn=sent.letter_arn,
                led_to=sent.led_to, why=sent.why,
            ),
        )  # fmt: skip
        moved = lane.moved(items[-1].seq)
        if moved.ends == lane.ends and moved.ends:
            # The younger rest of the batch is a batch of its own, with the same failures behind it.
            moved = replace(moved, failures=lane.failures, waits=lane.waits, retry_at=lane.retry_at)
        self.state = self.state.with_lane(number, moved)
        return moved

    def _execution_of(self, item: StreamItem) -> str:
        """The execution of a batch: its first record, as the id of a Kinesis event names it."""
        return f"{self._shard.id}:{item.sequence_number}"

    def _count_polled(self, polled: int, filtered: int) -> None:
        count_events(self._tx, self._of.scope, self._of.mapping, **{POLLED: polled, FILTERED_OUT: filtered})

    def _due(self, at: Instant) -> bool:
        """Whether an instant has come; otherwise the shard is looked at then."""
        if at <= self._tx.now:
            return True
        self._look_at(at)
        return False

    def _look_at(self, at: Instant) -> None:
        self.due_at = at if self.due_at is None else min(self.due_at, at)


_NO_POLICY = RetryPolicy()


def _edge(item: StreamItem) -> Edge:
    return Edge(item.sequence_number, item.at)


def _edge_to(item: StreamItem) -> list[object]:
    return [item.sequence_number, item.at]


def _edge_from(stored: list[object]) -> Edge:
    number, at = stored
    return Edge(str(number), cast("Instant", at))
