"""Defects to plant that streams alone show: order, checkpoints, batches that are split, shards, indexes, retries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from redrive.core.scope import Caller
from redrive.delivery.sources.stream_sources import StreamItem, StreamShard
from redrive.engine.engine import Engine
from redrive.languages.dynamo import Item
from redrive.services.dynamodb import change_log, indexes, writing
from redrive.services.dynamodb.model.table import Table
from redrive.services.kinesis.source import KinesisStreams
from redrive.services.lambda_ import shard_states, shards
from redrive.services.lambda_.failure_destinations import Sent
from redrive.services.lambda_.model import shard_state, stream_batch
from redrive.services.lambda_.model.shard_state import Lane, ShardState
from redrive.services.lambda_.model.stream_batch import Answer, NotRun, Settlement, Undone
from redrive.services.lambda_.model.stream_settings import StreamSettings
from redrive.services.lambda_.shard_reading import Found, ShardReader
from redrive.services.lambda_.shards import BatchRow
from redrive.services.lambda_.workers import streams as stream_workers
from redrive.sim.checkers.streams import RecordsInOrder, StreamContents, WindowsWhole
from redrive.sim.checkers.tables import TablesFollowed
from redrive.store.api import Transaction
from redrive.store.tables.attempts import RunState
from redrive.store.tables.deliveries import Delivery
from redrive.store.tables.items import ItemKey
from tests.simulation.planted import Plant


def moving_the_checkpoint_when_a_batch_begins() -> AbstractContextManager[object]:
    """A batch that begins counts as done; what failed is put back, what nobody heard of is not."""
    original: Callable[..., Lane | None] = vars(stream_workers)["_release"]

    def release(tx: Transaction, row: Delivery) -> Lane | None:
        lane, batch = original(tx, row), BatchRow(**row.document)
        state = shard_states.state_of(tx, row.scope, batch.mapping, batch.shard)
        if lane is not None and state is not None and batch.ranges:
            moved = state.lanes[batch.lane].moved(batch.ranges[-1][1])
            tx.resources.put(row.scope, state.with_lane(batch.lane, moved))
        return lane

    return patch.object(stream_workers, "_release", release)


def dealing_records_to_lanes_in_turn() -> AbstractContextManager[object]:
    """The records of a key go to all concurrent batches of a shard."""
    original: Callable[..., bool] = vars(ShardReader)["_is_wanted"]

    def is_wanted(reader: ShardReader, item: StreamItem, number: int, found: Found) -> bool:
        return original(reader, replace(item, partition_key=str(item.seq)), number, found)

    return patch.object(ShardReader, "_is_wanted", is_wanted)


def dropping_the_record_after_a_split() -> AbstractContextManager[object]:
    """The second half of a batch that was split begins one record too late."""
    original = Lane.moved

    def moved(lane: Lane, position: int) -> Lane:
        after = original(lane, position)
        has_more = after.ends and after.ends[0] > position + 1
        return replace(after, position=position + 1) if has_more else after

    return patch.object(Lane, "moved", moved)


def giving_up_one_failure_too_early() -> AbstractContextManager[object]:
    """The first attempt counts as a retry."""

    def is_exhausted(settings: StreamSettings, failures: int) -> bool:
        return 0 <= settings.retries_max <= failures

    return patch.object(StreamSettings, "is_exhausted", is_exhausted)


def one_retry_too_many_of_a_batch() -> AbstractContextManager[object]:
    """A batch is given up a failure too late."""

    def is_exhausted(settings: StreamSettings, failures: int) -> bool:
        return 0 <= settings.retries_max < failures - 1

    return patch.object(StreamSettings, "is_exhausted", is_exhausted)


def counting_what_was_throttled() -> AbstractContextManager[object]:
    """A batch for which the function was never called uses up a retry."""
    original = stream_batch.after_attempt

    def after(lane: Lane, seqs: Sequence[int], answer: Answer, settings: StreamSettings, now: int) -> Settlement:
        return original(lane, seqs, Undone() if isinstance(answer, NotRun) else answer, settings, now)

    return patch.object(stream_workers, "after_attempt", after)


def giving_up_without_a_failure_record() -> AbstractContextManager[object]:
    """What is too old is dropped, and its destination hears nothing."""
    return patch.object(
        shards, "send_failure", lambda *_, **__: Sent(RunState.DROPPED)
    )  # fmt: skip


def reading_children_beside_their_parents() -> AbstractContextManager[object]:
    """A shard is read whether or not the shards that it was made of are done."""
    original = KinesisStreams.shards

    def of(source: KinesisStreams, tx: Transaction, caller: Caller, arn: str) -> Sequence[StreamShard]:
        return [replace(shard, parents=()) for shard in original(source, tx, caller, arn)]

    return patch.object(KinesisStreams, "shards", of)


def reading_new_shards_from_their_end() -> AbstractContextManager[object]:
    """A shard that appears while a mapping reads begins as the mapping began: at its latest record."""
    original = shard_states.readable_shards

    def readable(tx: Transaction, reading: Any) -> list[tuple[StreamShard, ShardState]]:
        found = original(tx, reading)
        return [
            (shard, state) if shard.is_closed or any(lane != Lane(0) for lane in state.lanes) or not shard.parents
            else (shard, replace(state, lanes=tuple(replace(lane, position=1) for lane in state.lanes)))
            for shard, state in found
        ]  # fmt: skip

    return patch.object(stream_workers, "readable_shards", readable)


def resizing_lanes_that_have_not_met() -> AbstractContextManager[object]:
    """A new number of concurrent batches begins where the fastest of the former ones is."""

    def resized(state: ShardState, count: int) -> ShardState:
        if len(state.lanes) == count or any(lane.running for lane in state.lanes):
            return state
        return replace(state, lanes=shard_state.fresh_lanes(max(lane.position for lane in state.lanes), count))

    return patch.object(shards, "resized", resized)


def keeping_the_state_of_a_window_that_failed() -> AbstractContextManager[object]:
    """The next window begins with the state with which the last one ended."""
    original = shard_state.window_of
    states: dict[int, object] = {}

    def window_of(at: int, length_s: int) -> shard_state.Window:
        window = original(at, length_s)
        return replace(window, state=states.setdefault(0, window.state))

    after = stream_batch.after_last_call

    def ended(lane: Lane, answer: Answer, settings: StreamSettings, now: int) -> Settlement:
        if lane.window is not None:
            states[0] = lane.window.state
        return after(lane, answer, settings, now)

    stack = ExitStack()
    stack.enter_context(patch.object(shards, "window_of", window_of))
    stack.enter_context(patch.object(stream_workers, "after_last_call", ended))
    return stack


def writing_entries_in_a_second_commit() -> AbstractContextManager[object]:
    """An item is written in one commit, and its entries in indexes in the next one, unless the node crashes."""
    original, call = indexes.follow, Engine.call
    kept: list[Callable[[Transaction], int]] = []

    def follow(tx: Transaction, *change: Any) -> int:
        kept.append(lambda tx: original(tx, *change))
        return 0

    def call_in_two(engine: Engine, *request: Any) -> Any:
        kept.clear()
        answer = call(engine, *request)
        for step in kept:
            engine.run(step)
        return answer

    stack = ExitStack()
    stack.enter_context(patch.object(indexes, "follow", follow))
    stack.enter_context(patch.object(Engine, "call", call_in_two))
    return stack


def leaving_the_former_entry_of_a_changed_key() -> AbstractContextManager[object]:
    """An item that gets another key in an index keeps its former entry, too."""
    original = indexes.follow

    def follow(tx: Transaction, table: Table, key: ItemKey, old: Item | None, new: Item | None) -> int:
        return original(tx, table, key, None if new is not None else old, new)

    return patch.object(indexes, "follow", follow)


def telling_the_stream_with_the_next_change() -> AbstractContextManager[object]:
    """The records of a change are kept in memory, and written with the next change."""
    original = change_log.write_changes
    kept: list[tuple[Table, Any]] = []

    def write(tx: Transaction, table: Table, changes: Any) -> None:
        waiting, kept[:] = list(kept), [(table, changes)]
        for one in waiting:
            original(tx, *one)

    return patch.object(writing, "write_changes", write)


STREAM_PLANTS: Mapping[Plant, tuple[str, ...]] = {
    moving_the_checkpoint_when_a_batch_begins: (RecordsInOrder.rule,),
    dealing_records_to_lanes_in_turn: (RecordsInOrder.rule,),
    dropping_the_record_after_a_split: (RecordsInOrder.rule,),
    giving_up_one_failure_too_early: (RecordsInOrder.given_up_rule,),
    one_retry_too_many_of_a_batch: (RecordsInOrder.given_up_rule,),
    counting_what_was_throttled: (RecordsInOrder.given_up_rule,),
    giving_up_without_a_failure_record: (RecordsInOrder.rule,),
    reading_children_beside_their_parents: (RecordsInOrder.rule,),
    reading_new_shards_from_their_end: (RecordsInOrder.rule,),
    resizing_lanes_that_have_not_met: (RecordsInOrder.rule,),
    keeping_the_state_of_a_window_that_failed: (WindowsWhole.rule,),
    writing_entries_in_a_second_commit: (TablesFollowed.rule,),
    leaving_the_former_entry_of_a_changed_key: (TablesFollowed.rule,),
    telling_the_stream_with_the_next_change: (StreamContents.rule, RecordsInOrder.rule),
}
"""Each defect, and the rules of which it breaks one."""

STREAM_DEFECT_FOUND_BY: Mapping[Plant, int] = {
    counting_what_was_throttled: 22,
    giving_up_without_a_failure_record: 21,
}
"""The first seeds find these defects late; these seeds are tried before."""
