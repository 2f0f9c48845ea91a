"""Operations on shards: list, split, merge, change their number."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypedDict

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.worker import will_age
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.descriptions import describe_shard
from redrive.services.kinesis.model.hash_keys import explicit_hash
from redrive.services.kinesis.model.requests import (
    decode_token,
    encode_token,
    in_use,
    invalid_argument,
    invalid_request,
    invalid_token,
    limit_exceeded,
)
from redrive.services.kinesis.model.resharding import merge, scale, split
from redrive.services.kinesis.model.stream import ON_DEMAND, PROVISIONED, Shard, Stream, shard_index
from redrive.services.kinesis.operations.streams import announce, check_shards, find_stream, index_after
from redrive.services.kinesis.retention import RETENTION
from redrive.store.api import Transaction

_SHARDS = "shards"


class _FilterMembers(TypedDict):
    Type: str


class ShardFilter(_FilterMembers, total=False):
    """Which shards ListShards shows."""

    ShardId: str
    Timestamp: Instant


@operation("ListShards")
def list_shards(
    tx: Transaction,
    caller: Caller,
    *,
    stream_name: str | None = None,
    next_token: str | None = None,
    exclusive_start_shard_id: str | None = None,
    max_results: int | None = None,
    stream_creation_timestamp: Instant | None = None,
    shard_filter: ShardFilter | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """List the shards of a stream, sorted by id, at most `max_results` (1,000), those that the filter wants.

    A token knows its stream and its filter. Closed shards are listed until their retention has passed.

    Errors: ResourceNotFoundException; InvalidArgumentException; ExpiredNextTokenException; ResourceInUseException (a
    later stream has the name).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListShards.html
    """
    kind, at = "", 0
    after = index_after(exclusive_start_shard_id)
    stream_key = ""
    if next_token is not None:
        _check_alone(stream_name, exclusive_start_shard_id, stream_creation_timestamp, shard_filter)
        stream_name, stream_key, kind, at, after = _resume(next_token, tx.now)
    elif shard_filter is not None:
        kind, at, after = _read_filter(shard_filter, exclusive_start_shard_id, after)
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:ListShards")
    check_incarnation(stream, stream_key, stream_creation_timestamp)
    wanted = _wants(stream, kind, at, tx.now)
    found = [shard for shard in stream.living_shards(tx.now) if shard.index > after and wanted(shard)]
    size = max_results or limits.LIST_SHARDS_DEFAULT
    answer: Document = {"Shards": [describe_shard(shard) for shard in found[:size]]}
    if len(found) > size:
        fields = (stream.name, stream.id, kind, str(at), str(found[size - 1].index))
        answer["NextToken"] = encode_token(_SHARDS, tx.now, *fields)
    return answer


@operation("SplitShard")
def split_shard(
    tx: Transaction,
    caller: Caller,
    *,
    shard_to_split: str,
    new_starting_hash_key: str,
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Close a shard, and open two shards for its hash keys.

    Errors: ResourceNotFoundException (no such stream or shard); InvalidArgumentException; ValidationException (an
    on-demand stream); LimitExceededException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SplitShard.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:SplitShard")
    _check_provisioned(stream)
    _check_shards_exist(tx, stream, shard_to_split)
    new_start = explicit_hash(new_starting_hash_key)
    check_shards(tx, caller, 1)
    _store(tx, split(stream, shard_to_split, new_start, _ends(tx, stream), tx.now))
    return {}


@operation("MergeShards")
def merge_shards(
    tx: Transaction,
    caller: Caller,
    *,
    shard_to_merge: str,
    adjacent_shard_to_merge: str,
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Close two adjacent shards, and open one shard for their hash keys.

    Errors: ResourceNotFoundException (no such stream or shard); InvalidArgumentException (not adjacent, or closed);
    ValidationException (an on-demand stream).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_MergeShards.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:MergeShards")
    _check_provisioned(stream)
    _check_shards_exist(tx, stream, shard_to_merge, adjacent_shard_to_merge)
    _store(tx, merge(stream, shard_to_merge, adjacent_shard_to_merge, _ends(tx, stream), tx.now))
    return {}


@operation("UpdateShardCount")
def update_shard_count(
    tx: Transaction,
    caller: Caller,
    *,
    target_shard_count: int,
    scaling_type: str,
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Split and merge shards until the target number of shards is open, with ranges of the same width.

    Errors: ResourceNotFoundException; ValidationException (an on-demand stream); InvalidArgumentException (more than
    double, less than half); LimitExceededException (ten times within 24 hours, too many shards).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateShardCount.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:UpdateShardCount")
    _check_provisioned(stream)
    current = len(stream.open_shards)
    recent = tuple(at for at in stream.scaled_at if tx.now - at < limits.SCALING_WINDOW_MS)
    if tx.services.limits is Limits.STRICT:
        _check_target(stream, current, target_shard_count, recent)
    check_shards(tx, caller, max(0, target_shard_count - current))
    scaled = scale(stream, target_shard_count, _ends(tx, stream), tx.now)
    _store(tx, dataclasses.replace(scaled, scaled_at=(*recent, tx.now)))
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardCount": current,
        "TargetShardCount": target_shard_count,
    }


def _check_target(stream: Stream, current: int, target: int, recent: Sequence[Instant]) -> None:
    """Refuse a scaling beyond the quotas. Errors: InvalidArgumentException; LimitExceededException."""
    where = f"stream {stream.name} under account {stream.scope.account}"
    if target > limits.STREAM_SHARDS_MAX:
        raise limit_exceeded(f"The target of {target} shards for {where} exceeds {limits.STREAM_SHARDS_MAX}.")
    if target > 2 * current:
        raise invalid_argument(
            f"UpdateShardCount cannot scale up over double your current open shard count. Current open shard count: "
            f"{current}; Target shard count: {target}"
        )
    if 2 * target < current:
        raise invalid_argument(
            f"UpdateShardCount cannot scale down below half your current open shard count. Current open shard count: "
            f"{current}; Target shard count: {target}"
        )
    if len(recent) >= limits.SCALINGS_PER_DAY_MAX:
        raise limit_exceeded(
            f"UpdateShardCount can be called {limits.SCALINGS_PER_DAY_MAX} times per rolling 24 hours on {where}."
        )


def _store(tx: Transaction, stream: Stream) -> None:
    """Store a stream whose open shards have changed, and tell its readers."""
    changed = dataclasses.replace(stream, layout=tx.entropy.hex(16))
    tx.resources.put(stream.scope, changed)
    will_age(tx, RETENTION, tx.now + stream.retention_ms)
    announce(tx, changed)


def _ends(tx: Transaction, stream: Stream) -> dict[int, int]:
    """The number of the last record of each open shard."""
    return {shard.index: tx.streams.last(stream.records_of(shard.index)).seq for shard in stream.open_shards}


def _check_provisioned(stream: Stream) -> None:
    if stream.mode != PROVISIONED:
        assert stream.mode == ON_DEMAND
        raise invalid_request(
            f"Request is invalid. Stream {stream.name} under account {stream.scope.account} is in On-Demand mode."
        )


def _check_shards_exist(tx: Transaction, stream: Stream, *ids: str) -> None:
    """Refuse ids of shards that the stream does not have. Errors: ResourceNotFoundException."""
    known = {shard.index for shard in stream.living_shards(tx.now)}
    for shard in ids:
        if shard_index(shard) not in known:
            raise ServiceError(
                "ResourceNotFoundException",
                f"Could not find shard {shard} in stream {stream.name} under account {stream.scope.account}.",
            )


def _check_alone(*members: object) -> None:
    """Refuse members that a token replaces. Errors: InvalidArgumentException."""
    names = ("StreamName", "ExclusiveStartShardId", "StreamCreationTimestamp", "ShardFilter")
    for name, member in zip(names, members, strict=True):
        if member is not None:
            raise invalid_argument(f"NextToken and {name} cannot be provided together.")


def _resume(token: str, now: Instant) -> tuple[str, str, str, Instant, int]:
    try:
        name, key, kind, at, after = decode_token(_SHARDS, token, now)
        return name, key, kind, int(at), int(after)
    except ValueError:
        raise invalid_token() from None


def _read_filter(given: ShardFilter, exclusive_start: str | None, after: int) -> tuple[str, Instant, int]:
    """The kind of a filter, its instant, and the index after which the list begins.

    Errors: InvalidArgumentException.
    """
    kind = given["Type"]
    has_instant = kind in ("AT_TIMESTAMP", "FROM_TIMESTAMP")
    if has_instant != ("Timestamp" in given):
        what = "needs a Timestamp" if has_instant else "takes no Timestamp"
        raise invalid_argument(f"ShardFilter {kind} {what}.")
    if (kind == "AFTER_SHARD_ID") != ("ShardId" in given):
        what = "needs a ShardId" if kind == "AFTER_SHARD_ID" else "takes no ShardId"
        raise invalid_argument(f"ShardFilter {kind} {what}.")
    if kind != "AFTER_SHARD_ID":
        return kind, given.get("Timestamp", 0), after
    if exclusive_start is not None:
        raise invalid_argument("ShardFilter AFTER_SHARD_ID and ExclusiveStartShardId cannot be provided together.")
    return "", 0, index_after(given["ShardId"])


def _wants(stream: Stream, kind: str, at: Instant, now: Instant) -> Callable[[Shard], bool]:
    """Whether a filter wants a shard."""
    horizon = max(stream.horizon(now), stream.created_at)
    match kind:
        case "AT_LATEST":
            return lambda shard: shard.is_open
        case "AT_TRIM_HORIZON":
            return lambda shard: shard.opened_at <= horizon
        case "AT_TIMESTAMP":
            return lambda shard: shard.opened_at <= at and (shard.closed_at is None or shard.closed_at >= at)
        case "FROM_TIMESTAMP":
            since = max(at, horizon)
            return lambda shard: shard.closed_at is None or shard.closed_at >= since
        case _:
            return lambda _: True


def check_incarnation(stream: Stream, id: str, created_at: Instant | None) -> None:
    """Refuse a later stream of the same name. Errors: ResourceInUseException."""
    is_other = bool(id) and id != stream.id
    # Clients send this instant in whole seconds.
    if is_other or (created_at is not None and created_at // SECOND_MS != stream.created_at // SECOND_MS):
        raise in_use(f"Stream {stream.name} under account {stream.scope.account} was created at another time.")
