"""Streams of tables: their stored form, their shards, and the numbers of their records. No transaction, no clock.

A stream has a fixed number of partitions, by the hash of an item's hash key; the records of a partition are stored as
one shard of the store. Every four hours a partition begins a new shard: the old shard is closed, and is the parent of
the new one. So which shards a stream has follows from the instant alone, and no row changes when a shard is closed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.dynamodb import limits
from redrive.store.tables.items import ItemKey, segment_of

_STREAM_ARN = re.compile(
    r"arn:aws:dynamodb:([a-z0-9-]+):(\d{12}):table/([a-zA-Z0-9_.-]{3,255})/stream/([0-9T:.-]{1,32})"
)
_SHARD_ID = re.compile(r"shardId-(\d{20})-([0-9a-f]{8})")

_NUMBERS_PER_RECORD = 1_000_000
"""The distance between the sequence numbers of two records. Between them lie the first and last numbers of shards."""

_FIRST_NUMBER = 10**20
"""Sequence numbers of the partition n are above (n + 1) times this number, so they have 21 digits."""


class ViewType(Enum):
    """What the records of a stream contain besides the item's key."""

    KEYS_ONLY = "KEYS_ONLY"
    NEW_IMAGE = "NEW_IMAGE"
    OLD_IMAGE = "OLD_IMAGE"
    NEW_AND_OLD_IMAGES = "NEW_AND_OLD_IMAGES"

    @property
    def has_new(self) -> bool:
        """Whether records contain the item after the change."""
        return self in (ViewType.NEW_IMAGE, ViewType.NEW_AND_OLD_IMAGES)

    @property
    def has_old(self) -> bool:
        """Whether records contain the item before the change."""
        return self in (ViewType.OLD_IMAGE, ViewType.NEW_AND_OLD_IMAGES)


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a table.

    `name` is the table's name, a slash and the stream's label; `key` maps the names of the table's key to their types.
    """

    KIND: ClassVar[str] = "dynamodb.stream"

    name: str
    id: str
    table_arn: str
    view_type: ViewType
    partitions: int
    key: Mapping[str, str]
    created_at: Instant
    disabled_at: Instant | None = None

    @property
    def table_name(self) -> str:
        return self.name.partition("/")[0]

    @property
    def label(self) -> str:
        """The stream's label: an instant with milliseconds."""
        return self.name.partition("/")[2]

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/stream/{self.label}"

    @property
    def scope(self) -> Scope:
        """The account and region that the stream belongs to."""
        _, _, _, region, account, _ = self.table_arn.split(":", 5)
        return Scope(account, region)

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None

    def is_gone(self, now: Instant) -> bool:
        """Whether the stream was disabled more than 24 hours ago, so that nobody can read it any more."""
        return self.disabled_at is not None and self.disabled_at + limits.STREAM_RETENTION_MS <= now

    def partition_of(self, key: ItemKey) -> int:
        """The partition that has an item's records."""
        return segment_of(key, self.partitions)

    def stored_shard(self, partition: int) -> str:
        """The id under which the store keeps the records of a partition."""
        return f"{self.id}/{partition}"

    @property
    def stored_shards(self) -> Sequence[str]:
        """The ids of all partitions."""
        return [self.stored_shard(partition) for partition in range(self.partitions)]


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard: the records of a partition that were written from `starts_at` to before `ends_at`.

    `is_last`: the stream was disabled in this shard's time, so no shard follows, and no record is written any more.
    """

    stream: Stream
    partition: int
    generation: int

    @property
    def starts_at(self) -> Instant:
        return self.stream.created_at + self.generation * limits.SHARD_MS

    @property
    def ends_at(self) -> Instant:
        """When the next shard of the partition begins, unless the stream is disabled before."""
        return self.starts_at + limits.SHARD_MS

    @property
    def is_last(self) -> bool:
        disabled_at = self.stream.disabled_at
        return disabled_at is not None and self.generation == generation_at(self.stream, disabled_at)

    @property
    def stored(self) -> str:
        """The id under which the store keeps the records."""
        return self.stream.stored_shard(self.partition)

    @property
    def id(self) -> str:
        seed = f"{self.stream.id}/{self.partition}/{self.generation}".encode()
        return f"shardId-{self.starts_at:020d}-{hashlib.blake2b(seed, digest_size=4).hexdigest()}"

    @property
    def parent(self) -> Shard | None:
        """The shard of the partition before this one."""
        return Shard(self.stream, self.partition, self.generation - 1) if self.generation else None

    def first_number(self, seq_before: int) -> str:
        """The shard's first sequence number; `seq_before` is the number of the last record before the shard."""
        return str(_number_base(self.partition) + seq_before * _NUMBERS_PER_RECORD + 2 * self.generation + 1)

    def last_number(self, seq_before: int, seq_last: int) -> str:
        """The last sequence number of a closed shard: that of its last record, if it has any."""
        if seq_last > seq_before:
            return self.number_of(seq_last)
        return str(int(self.first_number(seq_before)) + 1)

    def number_of(self, seq: int) -> str:
        """The sequence number of a record."""
        return str(_number_base(self.partition) + seq * _NUMBERS_PER_RECORD)

    def seq_before(self, number: str) -> int | None:
        """The last record with a smaller sequence number than this one; None if the number is not of the partition."""
        distance = int(number) - _number_base(self.partition)
        return (distance - 1) // _NUMBERS_PER_RECORD if 0 < distance < _FIRST_NUMBER else None

    def seq_until(self, number: str) -> int | None:
        """The last record up to and with this sequence number; None if the number is not of the partition."""
        distance = int(number) - _number_base(self.partition)
        return distance // _NUMBERS_PER_RECORD if 0 < distance < _FIRST_NUMBER else None


def stream_label(at: Instant) -> str:
    """The label of a stream that is created at an instant: `2015-05-11T21:21:33.291`."""
    return f"{format_instant(at).removesuffix('Z')}.{at % SECOND_MS:03d}"


def stream_name_of(arn: str) -> tuple[Scope, str] | None:
    """The scope and the name of the stream with this ARN; None if the text is no stream's ARN."""
    match = _STREAM_ARN.fullmatch(arn)
    return None if match is None else (Scope(match[2], match[1]), f"{match[3]}/{match[4]}")


def generation_at(stream: Stream, at: Instant) -> int:
    """The generation of the shards that are open at an instant."""
    return max(0, (at - stream.created_at) // limits.SHARD_MS)


def shards_of(stream: Stream, now: Instant) -> Sequence[Shard]:
    """The shards that can be read now, in the order of their ids, parents before their children."""
    return sorted(_shards(stream, now), key=lambda shard: shard.id)


def find_shard(stream: Stream, shard_id: str, now: Instant) -> Shard | None:
    """The shard with this id; None if there is none, or if all its records have expired."""
    match = _SHARD_ID.fullmatch(shard_id)
    if match is None:
        return None
    generation, rest = divmod(int(match[1]) - stream.created_at, limits.SHARD_MS)
    if rest or not _first_generation(stream, now) <= generation <= _last_generation(stream, now):
        return None
    for partition in range(stream.partitions):
        shard = Shard(stream, partition, generation)
        if shard.id == shard_id:
            return shard
    return None


def describe_key(stream: Stream) -> Sequence[Document]:
    """The KeySchema of the stream's table."""
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(stream.key, ("HASH", "RANGE"), strict=False)]


def _shards(stream: Stream, now: Instant) -> Iterator[Shard]:
    for generation in range(_first_generation(stream, now), _last_generation(stream, now) + 1):
        for partition in range(stream.partitions):
            yield Shard(stream, partition, generation)


def _first_generation(stream: Stream, now: Instant) -> int:
    """The first generation that ended less than 24 hours ago."""
    first = generation_at(stream, now - limits.STREAM_RETENTION_MS)
    return min(first, _last_generation(stream, now))


def _last_generation(stream: Stream, now: Instant) -> int:
    return generation_at(stream, now if stream.disabled_at is None else min(now, stream.disabled_at))


def _number_base(partition: int) -> int:
    return _FIRST_NUMBER * (partition + 1)
