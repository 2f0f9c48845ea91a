"""Subscriptions of consumers to shards: the stored form. At most one for each consumer and shard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.stream import Consumer, Shard, Stream


@dataclass(frozen=True, slots=True)
class Subscription:
    """The latest subscription of a consumer to a shard. `id` distinguishes it from those before it."""

    KIND: ClassVar[str] = "kinesis.subscription"
    IS_STATE: ClassVar[bool] = True

    name: str
    id: str
    begun_at: Instant

    def is_held(self, now: Instant) -> bool:
        """Whether another call is refused because this subscription has only begun."""
        return now - self.begun_at < limits.SUBSCRIPTION_HELD_MS

    @property
    def ends_at(self) -> Instant:
        """The instant at which the subscriber has to call again."""
        return self.begun_at + limits.SUBSCRIPTION_MS


def subscription_prefix(stream: Stream, consumer: Consumer) -> str:
    """What the names of a consumer's subscriptions begin with; consumers of the same name differ in their second."""
    return f"{stream.id}/{consumer.arn.rpartition('/')[2]}/"


def subscription_name(stream: Stream, consumer: Consumer, shard: Shard) -> str:
    """The name of the subscription of a consumer to a shard."""
    return f"{subscription_prefix(stream, consumer)}{shard.index}"
