"""How far a mapping has read its stream: whether records are left, and what is read again.

These are steps: functions of a transaction. They go by the states that the mapping's worker keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json
from redrive.core.errors import Bug
from redrive.core.scope import Caller
from redrive.delivery.sources.stream_sources import StartingPoint, StreamItem, StreamSource
from redrive.prove.stage.stage import SCOPE
from redrive.services.dynamodb.stream_source import TableStreams
from redrive.services.kinesis.source import KinesisStreams
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.model.shard_state import ShardState, fresh_lanes, lane_of, state_name
from redrive.services.lambda_.model.stream_batch import stream_event
from redrive.services.lambda_.shard_states import state_of
from redrive.services.lambda_.watches import look_now
from redrive.store.api import Transaction

Positions = tuple[ShardState, ...]
"""How far each shard is read."""

SHARD_RECORDS_MAX = 10_000
_PAGE_BYTES_MAX = 1 << 26
_READER = Caller(SCOPE, "prove")


def positions(tx: Transaction, uuid: str) -> Positions:
    """How far a mapping has read each shard."""
    return tuple(tx.resources.list(ShardState, SCOPE, prefix=state_name(uuid, "")))


def has_unread(tx: Transaction, uuid: str) -> bool:
    """Whether a mapping has records before it: new ones, or a batch that comes again."""
    mapping, source = _mapping(tx, uuid)
    for shard in source.shards(tx, _READER, mapping.read_arn):
        state = state_of(tx, SCOPE, uuid, shard.id)
        lanes = fresh_lanes(0, 1) if state is None else state.lanes
        if state is not None and state.is_finished:
            continue
        for number, lane in enumerate(lanes):
            items = _items(tx, mapping, source, shard.id, lane.position)
            if not lane.is_free or any(lane_of(item.partition_key, len(lanes)) == number for item in items):
                return True
    return False


def skip_to_end(tx: Transaction, uuid: str) -> None:
    """Have a mapping begin behind the records that its stream has now."""
    mapping, source = _mapping(tx, uuid)
    for shard in source.shards(tx, _READER, mapping.read_arn):
        state = state_of(tx, SCOPE, uuid, shard.id)
        end = source.position(tx, mapping.read_arn, shard.id, StartingPoint.LATEST, None)
        lanes = 1 if state is None else len(state.lanes)
        tx.resources.put(SCOPE, ShardState(state_name(uuid, shard.id), fresh_lanes(end, lanes)))


def read_again(tx: Transaction, uuid: str, beginning: Positions) -> None:
    """Set a mapping back to where it began; shards that have come since are read from their first record."""
    mapping, _ = _mapping(tx, uuid)
    begun = {state.name: state for state in beginning}
    for state in positions(tx, uuid):
        fresh = replace(state, lanes=fresh_lanes(0, len(state.lanes)), is_finished=False)
        tx.resources.put(SCOPE, begun.get(state.name, fresh))
    look_now(tx, SCOPE, mapping)


def event_with(tx: Transaction, uuid: str, batch: Document) -> bytes | None:
    """The event of the records that a failure's record names; None if they have expired in the stream."""
    mapping, source = _mapping(tx, uuid)
    first, last = int(batch["startSequenceNumber"]), int(batch["endSequenceNumber"])
    items = _items(tx, mapping, source, str(batch["shardId"]), 0)
    texts = [dump_json(item.document) for item in items if first <= int(item.sequence_number) <= last]
    return stream_event(texts, None) if texts else None


def told(tx: Transaction) -> Iterator[str]:
    """The positions of all mappings as text: they decide what is read next."""
    return (repr(state) for _, state in tx.resources.everywhere(ShardState))


def _mapping(tx: Transaction, uuid: str) -> tuple[EventSourceMapping, StreamSource]:
    mapping = tx.resources.get(EventSourceMapping, SCOPE, uuid)
    if mapping is None:
        raise Bug("a stream without its mapping")
    source: StreamSource = KinesisStreams() if Arn.parse(mapping.source_arn).service == "kinesis" else TableStreams()
    return mapping, source


def _items(
    tx: Transaction, mapping: EventSourceMapping, source: StreamSource, shard_id: str, after: int
) -> Sequence[StreamItem]:
    page = source.read(
        tx, _READER, mapping.read_arn, shard_id, after, limit=SHARD_RECORDS_MAX, bytes_max=_PAGE_BYTES_MAX
    )
    return page.items
