"""Records to write: their sizes, and which shard takes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from redrive.core.errors import ServiceError
from redrive.services.kinesis.model.hash_keys import HASH_KEY_MAX, Routes, explicit_hash, hash_of
from redrive.services.kinesis.model.requests import invalid_argument, null_member
from redrive.services.kinesis.model.sequence import decode_sequence
from redrive.services.kinesis.model.stream import AUTO, Shard, Stream, shard_id

_KIB = 1_024


class _EntryMembers(TypedDict):
    Data: bytes


class Entry(_EntryMembers, total=False):
    """An entry of PutRecords, or the same members of PutRecord."""

    PartitionKey: str
    ExplicitHashKey: str


def entry_sizes(stream: Stream, entries: Sequence[Entry]) -> list[int]:
    """The bytes of each entry: its data and its partition key.

    Errors: InvalidArgumentException for an entry beyond the stream's maximum.
    """
    sizes = []
    bytes_max = stream.record_kib_max * _KIB
    for entry in entries:
        key = entry.get("PartitionKey", "")
        size = len(entry["Data"]) + (len(key) if key.isascii() else len(key.encode()))
        if size > bytes_max:
            raise invalid_argument(
                f"A record of {size} bytes, with its partition key, is larger than the maximum of "
                f"{stream.record_kib_max} KiB of stream {stream.name} under account {stream.scope.account}."
            )
        sizes.append(size)
    return sizes


def check_keys(stream: Stream, entries: Sequence[Entry], path: Callable[[int], str]) -> None:
    """Refuse entries without a partition key, unless the stream distributes its records itself.

    `path` names the member of an entry in AWS's way. Errors: ValidationException.
    """
    if stream.distribution == AUTO:
        return
    for number, entry in enumerate(entries, start=1):
        if "PartitionKey" not in entry:
            raise null_member(path(number))


def shards_of(stream: Stream, routes: Routes, entries: Sequence[Entry], spread: Callable[[], int]) -> list[int]:
    """The index of the shard that takes each entry. `spread` draws a hash key for a stream that distributes itself.

    Errors: InvalidArgumentException (an ExplicitHashKey out of range).
    """
    if stream.distribution == AUTO:
        start = spread()
        count = len(routes.shards)
        step = (HASH_KEY_MAX + 1) // count
        return [routes.shard_of((start + number * step) & HASH_KEY_MAX) for number in range(len(entries))]
    shard_of = routes.shard_of
    return [
        shard_of(
            explicit_hash(entry["ExplicitHashKey"]) if "ExplicitHashKey" in entry else hash_of(entry["PartitionKey"])
        )
        for entry in entries
    ]


def check_ordering_number(stream: Stream, text: str) -> None:
    """Refuse a SequenceNumberForOrdering that no record of the stream could have. Errors: InvalidArgumentException."""
    number = decode_sequence(text)
    if number is None or number.shard >= stream.shards_made:
        raise invalid_argument(
            f"ExclusiveMinimumSequenceNumber {text} used in PutRecord on stream {stream.name} under account "
            f"{stream.scope.account} is invalid."
        )


def starting_seq(stream: Stream, shard: Shard, text: str) -> int:
    """The number in its shard of a StartingSequenceNumber. Errors: InvalidArgumentException."""
    number = decode_sequence(text)
    if number is not None and (number.shard, number.created_s) == (shard.index, shard.created_s):
        return number.seq
    reason = "" if number is None else " because it did not come from this stream"
    raise invalid_argument(
        f"StartingSequenceNumber {text} used in GetShardIterator on shard {shard.id} in stream {stream.name} under "
        f"account {stream.scope.account} is invalid{reason}."
    )


def rate_exceeded(stream: Stream, index: int) -> ServiceError:
    """Build the error for a shard that takes no more records in this second."""
    return ServiceError(
        "ProvisionedThroughputExceededException",
        f"Rate exceeded for shard {shard_id(index)} in stream {stream.name} under account {stream.scope.account}.",
    )


def keys_path(number: int) -> str:
    """The partition key of an entry of PutRecords, as AWS's validators name it."""
    return f"records.{number}.member.partitionKey"
