"""Splits, merges and uniform scaling: what becomes of the shards of a stream. No transaction, no clock.

Source: https://docs.aws.amazon.com/streams/latest/dev/kinesis-using-sdk-java-resharding.html
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from redrive.core.clock import SECOND_MS, Instant
from redrive.services.kinesis.model.hash_keys import uniform_ranges
from redrive.services.kinesis.model.requests import invalid_argument
from redrive.services.kinesis.model.stream import Shard, Stream, shard_index

Range = tuple[int, int]


def new_shards(count: int, now: Instant) -> tuple[Shard, ...]:
    """The shards of a new stream."""
    return tuple(
        Shard(index, str(first), str(last), now // SECOND_MS, now)
        for index, (first, last) in enumerate(uniform_ranges(count))
    )


def split(stream: Stream, id: str, new_start: int, ends: Mapping[int, int], now: Instant) -> Stream:
    """Close a shard, and open two for its hash keys: those below `new_start`, and the others.

    `ends` has the number of the last record of each shard that may close.
    Errors: ResourceNotFoundException is the caller's; InvalidArgumentException (the start is not strictly inside).
    """
    parent = _open_shard(stream, id)
    low, high = int(parent.first_hash), int(parent.last_hash)
    if not low + 1 < new_start < high:
        raise invalid_argument(
            f"NewStartingHashKey {new_start} used in SplitShard() on shard {id} in stream {stream.name} under account "
            f"{stream.scope.account} is not both greater than one plus the shard's StartingHashKey {low} and less than "
            f"the shard's EndingHashKey {high}."
        )
    return _replace(stream, [parent], [(low, new_start - 1), (new_start, high)], ends, now)


def merge(stream: Stream, id: str, adjacent_id: str, ends: Mapping[int, int], now: Instant) -> Stream:
    """Close two adjacent shards, and open one for their hash keys. Errors: InvalidArgumentException."""
    parent, adjacent = _open_shard(stream, id), _open_shard(stream, adjacent_id)
    lower, upper = sorted((parent, adjacent), key=lambda shard: int(shard.first_hash))
    if int(lower.last_hash) + 1 != int(upper.first_hash):
        raise invalid_argument(
            f"Shards {id} and {adjacent_id} in stream {stream.name} under account {stream.scope.account} are not an "
            "adjacent pair of shards eligible for merging"
        )
    return _replace(stream, [parent, adjacent], [(int(lower.first_hash), int(upper.last_hash))], ends, now)


def scale(stream: Stream, count: int, ends: Mapping[int, int], now: Instant) -> Stream:
    """Split and merge shards until `count` shards are open, with ranges of the same width.

    A shard whose range remains stays open. Each other shard is split at the borders of the new ranges; then neighbours
    within a new range are merged, two at a time, so that no shard has more than two parents.
    """
    targets = uniform_ranges(count)
    starts = {first for first, _ in targets}
    for border in sorted(starts - {0}):
        whole = next(shard for shard in _by_range(stream) if int(shard.first_hash) <= border <= int(shard.last_hash))
        if int(whole.first_hash) != border:
            low, high = int(whole.first_hash), int(whole.last_hash)
            stream = _replace(stream, [whole], [(low, border - 1), (border, high)], ends, now)
    while (pair := next(_pairs_within(_by_range(stream), starts), None)) is not None:
        lower, upper = pair
        stream = _replace(stream, [lower, upper], [(int(lower.first_hash), int(upper.last_hash))], ends, now)
    return stream


def _pairs_within(shards: Sequence[Shard], starts: set[int]) -> Iterator[tuple[Shard, Shard]]:
    """Neighbours that belong to one new range."""
    for lower, upper in pairwise(shards):
        if int(upper.first_hash) not in starts:
            yield lower, upper


def _by_range(stream: Stream) -> list[Shard]:
    return sorted(stream.open_shards, key=lambda shard: int(shard.first_hash))


def _open_shard(stream: Stream, id: str) -> Shard:
    """The open shard with this id. The caller has made sure that the stream has the shard.

    Errors: InvalidArgumentException for a closed shard.
    """
    index = shard_index(id)
    shard = None if index is None else stream.shard(index)
    if shard is None or not shard.is_open:
        raise invalid_argument(
            f"Shard {id} in stream {stream.name} under account {stream.scope.account} has already been merged or split,"
            " and thus is not eligible for merging or splitting."
        )
    return shard


def _replace(
    stream: Stream, parents: Sequence[Shard], ranges: Sequence[Range], ends: Mapping[int, int], now: Instant
) -> Stream:
    """Close shards and open others for the given ranges.

    A child's second of creation is later than its parents', so that all its sequence numbers are larger than theirs.
    """
    closed = {
        shard.index: dataclasses.replace(shard, closed_at=now, last_seq=ends.get(shard.index, 0)) for shard in parents
    }
    created_s = max(now // SECOND_MS, *(shard.created_s + 1 for shard in parents))
    adjacent = parents[1].index if len(parents) > 1 else None
    children = [
        Shard(stream.shards_made + number, str(first), str(last), created_s, now, parents[0].index, adjacent)
        for number, (first, last) in enumerate(ranges)
    ]
    kept = tuple(closed.get(shard.index, shard) for shard in stream.shards)
    return dataclasses.replace(stream, shards=(*kept, *children), shards_made=stream.shards_made + len(children))
