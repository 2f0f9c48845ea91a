"""Streams, their shards and consumers: the stored form, ids and ARNs. No transaction, no clock."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar

from redrive.core.clock import HOUR_MS, SECOND_MS, Instant
from redrive.core.scope import Scope
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.hash_keys import Routes
from redrive.services.kinesis.model.sequence import sequence_number

PROVISIONED = "PROVISIONED"
ON_DEMAND = "ON_DEMAND"
AUTO = "AUTO"
USER_PARTITION_KEY = "USER_PARTITION_KEY"
NOT_ENCRYPTED = "NONE"

_SHARD_PREFIX = "shardId-"
_INDEX = attrgetter("index")


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard. `first_hash` and `last_hash` are decimal digits, because JSON readers know no numbers of 128 bits.

    `created_s` is the second in its sequence numbers. A closed shard has `closed_at` and the number of its last record.
    """

    index: int
    first_hash: str
    last_hash: str
    created_s: int
    opened_at: Instant
    parent: int | None = None
    adjacent_parent: int | None = None
    closed_at: Instant | None = None
    last_seq: int = 0

    @property
    def id(self) -> str:
        """The shard's id: `shardId-000000000007`."""
        return shard_id(self.index)

    @property
    def is_open(self) -> bool:
        """Whether the shard takes records."""
        return self.closed_at is None

    @property
    def first_number(self) -> str:
        """The StartingSequenceNumber, which is below the number of the first record."""
        return sequence_number(self.created_s, self.index, 0, self.opened_at)

    @property
    def last_number(self) -> str | None:
        """The EndingSequenceNumber of a closed shard, which is above the number of the last record."""
        if self.closed_at is None:
            return None
        return sequence_number(self.created_s, self.index, self.last_seq + 1, self.closed_at)

    @property
    def parents(self) -> tuple[str, ...]:
        """The ids of the shards that this shard was made of."""
        return tuple(shard_id(index) for index in (self.parent, self.adjacent_parent) if index is not None)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A registered consumer of a stream."""

    name: str
    arn: str
    created_at: Instant
    tags: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream. `id` distinguishes it from an earlier stream of the same name.

    `layout` changes with the open shards. `secret` signs the iterators of the stream. `shards_made` is the index of the
    next shard; `shards` are sorted by index. Records from before `trimmed_at` do not come back. `scaled_at`
    and `mode_changed_at` are the instants of the changes that are limited per day.
    """

    KIND: ClassVar[str] = "kinesis.stream"

    name: str
    id: str
    arn: str
    secret: str
    created_at: Instant
    layout: str
    shards: tuple[Shard, ...]
    shards_made: int
    mode: str = PROVISIONED
    retention_hours: int = limits.RETENTION_HOURS_MIN
    key_id: str = ""
    shard_metrics: tuple[str, ...] = ()
    record_kib_max: int = limits.RECORD_KIB_DEFAULT
    warm_mibps: int | None = None
    distribution: str = USER_PARTITION_KEY
    tags: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    consumers: tuple[Consumer, ...] = ()
    scaled_at: tuple[Instant, ...] = ()
    mode_changed_at: tuple[Instant, ...] = ()
    trimmed_at: Instant = 0

    @property
    def scope(self) -> Scope:
        """The account and region of the stream."""
        _, _, _, region, account, _ = self.arn.split(":", 5)
        return Scope(account, region)

    @property
    def retention_ms(self) -> int:
        return self.retention_hours * HOUR_MS

    def horizon(self, now: Instant) -> Instant:
        """The instant before which all records have expired."""
        return max(now - self.retention_ms, self.trimmed_at)

    @property
    def is_encrypted(self) -> bool:
        """Whether the stream shows its records as encrypted."""
        return bool(self.key_id)

    @property
    def topic(self) -> str:
        """The topic that is notified when a shard of this stream may have new records."""
        return f"stream:{self.id}"

    @property
    def open_shards(self) -> list[Shard]:
        """The shards that take records, in the order of their ids."""
        return [shard for shard in self.shards if shard.closed_at is None]

    def records_of(self, index: int) -> str:
        """The id under which the records of a shard are stored."""
        return f"{self.id}/{index}"

    def shard(self, index: int) -> Shard | None:
        """The shard with this index, which may be closed and expired."""
        place = bisect_left(self.shards, index, key=_INDEX)
        return self.shards[place] if place < len(self.shards) and self.shards[place].index == index else None

    def living_shards(self, now: Instant) -> Sequence[Shard]:
        """The shards whose records may be read: closed ones only until their retention has passed."""
        horizon = self.horizon(now)
        return [shard for shard in self.shards if shard.closed_at is None or shard.closed_at > horizon]

    def consumer(self, name: str) -> Consumer | None:
        """The registered consumer with this name."""
        return next((consumer for consumer in self.consumers if consumer.name == name), None)


def shard_id(index: int) -> str:
    """The id of the shard with this index: `shardId-000000000007`."""
    return f"{_SHARD_PREFIX}{index:012d}"


def shard_index(id: str) -> int | None:
    """The index in a shard's id; None if the text is no id."""
    digits = id.removeprefix(_SHARD_PREFIX)
    is_id = digits != id and digits.isascii() and digits.isdigit() and shard_id(int(digits)) == id
    return int(digits) if is_id else None


def stream_arn(scope: Scope, name: str) -> str:
    """The ARN of a stream."""
    return f"arn:aws:kinesis:{scope.region}:{scope.account}:stream/{name}"


def parse_stream_arn(arn: str) -> tuple[Scope, str]:
    """The place and the name of the stream that an ARN of a stream, or of a consumer, names."""
    _, _, _, region, account, resource = arn.split(":", 5)
    return Scope(account, region), resource.split("/")[1]


def consumer_name(arn: str) -> str | None:
    """The name of the consumer in an ARN `…:stream/STREAM/consumer/NAME:SECOND`; None for the ARN of a stream."""
    parts = arn.split(":", 5)[-1].split("/")
    return parts[3].rpartition(":")[0] if len(parts) == 4 and parts[2] == "consumer" else None


def consumer_arn(stream: Stream, name: str, now: Instant) -> str:
    """The ARN of a consumer that is registered now."""
    return f"{stream.arn}/consumer/{name}:{now // SECOND_MS}"


def routes_of(stream: Stream) -> Routes:
    """The routes of a stream. They change with `layout`."""
    ordered = sorted((int(shard.first_hash), shard.index) for shard in stream.open_shards)
    return Routes([start for start, _ in ordered], [index for _, index in ordered])
