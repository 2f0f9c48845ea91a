"""The states of a mapping's shards: where it begins, which shards it may read now, and which states are forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.stream_sources import StreamShard, StreamSource
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.model.shard_state import ShardState, fresh_lanes, state_name
from redrive.services.lambda_.model.stream_settings import StreamSettings
from redrive.store.api import Transaction


class Reading(Protocol):
    """A mapping that is read from a stream, and as whom."""

    @property
    def scope(self) -> Scope: ...

    @property
    def mapping(self) -> EventSourceMapping: ...

    @property
    def settings(self) -> StreamSettings: ...

    @property
    def source(self) -> StreamSource: ...

    @property
    def caller(self) -> Caller: ...


def state_of(tx: Transaction, scope: Scope, mapping: str, shard_id: str) -> ShardState | None:
    """How far a mapping has read a shard; None for a shard that it has not looked at."""
    return tx.resources.get(ShardState, scope, state_name(mapping, shard_id))


def begin(tx: Transaction, scope: Scope, mapping: EventSourceMapping, positions: Mapping[str, int]) -> None:
    """Store the positions with which a new mapping begins in the shards that exist now."""
    lanes = 1 if mapping.stream is None else mapping.stream.parallelization
    for shard_id, position in positions.items():
        tx.resources.put(scope, ShardState(state_name(mapping.name, shard_id), fresh_lanes(position, lanes)))


def readable_shards(tx: Transaction, reading: Reading) -> list[tuple[StreamShard, ShardState]]:
    """The shards to read, the longest waiting first: those that are not done, and whose parents are.

    A shard that is new since the mapping began is read from its first record.

    Errors: ServiceError (the stream does not exist, the caller may not read it).
    """
    shards = reading.source.shards(tx, reading.caller, reading.mapping.read_arn)
    open_ids: set[str] = set()
    found: list[tuple[StreamShard, ShardState]] = []
    is_new = False
    for shard in shards:
        state = state_of(tx, reading.scope, reading.mapping.name, shard.id)
        if state is None:
            is_new = True
            state = ShardState(
                state_name(reading.mapping.name, shard.id), fresh_lanes(0, reading.settings.parallelization)
            )
            tx.resources.put(reading.scope, state)
        if state.is_finished:
            continue
        open_ids.add(shard.id)
        if not open_ids.intersection(shard.parents):
            found.append((shard, state))
    if is_new:
        _forget_others(tx, reading, shards)
    return sorted(found, key=lambda one: one[1].turn)


def forget(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """Delete the states of a deleted mapping."""
    for state in tx.resources.list(ShardState, scope, prefix=state_name(mapping.name, "")):
        tx.resources.delete(ShardState, scope, state.name)


def _forget_others(tx: Transaction, reading: Reading, shards: Sequence[StreamShard]) -> None:
    """Delete the states of shards that have expired."""
    names = {state_name(reading.mapping.name, shard.id) for shard in shards}
    for state in tx.resources.list(ShardState, reading.scope, prefix=state_name(reading.mapping.name, "")):
        if state.name not in names:
            tx.resources.delete(ShardState, reading.scope, state.name)
