"""How many batches of a queue may run at once: more while the queue is full, fewer after the function has failed.

The numbers of the beginning, the growth and the bounds are AWS's; how far an error sets them back is ours.
Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import MINUTE_MS, Instant
from redrive.services.lambda_.limits import (
    BATCHES_PER_POLLER,
    MAPPING_CONCURRENCY,
    MAPPING_CONCURRENCY_MAX,
    MAPPING_CONCURRENCY_MIN,
    MAPPING_GROWTH_PER_MINUTE,
    POLLER_GROWTH_PER_MINUTE,
)
from redrive.services.lambda_.model.function import Function
from redrive.services.lambda_.model.mapping import EventSourceMapping


@dataclass(frozen=True, slots=True)
class QueuePace:
    """`level` batches were allowed at the instant `since`; more are from then on. `name` is the mapping's UUID."""

    KIND: ClassVar[str] = "lambda.queue_pace"
    IS_STATE: ClassVar[bool] = True

    name: str
    level: int
    since: Instant


@dataclass(frozen=True, slots=True)
class PaceBounds:
    """How many batches of a mapping run at first and at most, and how many more each minute."""

    first: int
    most: int
    per_minute: int

    @property
    def step_ms(self) -> int:
        """How long it takes until one batch more may run."""
        return -(-MINUTE_MS // self.per_minute)


def bounds_of(mapping: EventSourceMapping, function: Function) -> PaceBounds:
    """The bounds of a mapping: MaximumConcurrency or its pollers, and never more than the reserved concurrency."""
    if mapping.pollers_min is not None and mapping.pollers_max is not None:
        first, most = mapping.pollers_min * BATCHES_PER_POLLER, mapping.pollers_max * BATCHES_PER_POLLER
        growth = POLLER_GROWTH_PER_MINUTE
    else:
        most = MAPPING_CONCURRENCY_MAX if mapping.concurrency_max is None else mapping.concurrency_max
        first, growth = MAPPING_CONCURRENCY, MAPPING_GROWTH_PER_MINUTE
    if function.reserved is not None:
        most = min(most, function.reserved)
    return PaceBounds(min(first, most), most, growth)


def allowed(pace: QueuePace | None, bounds: PaceBounds, now: Instant) -> int:
    """How many batches may run at once now."""
    if pace is None:
        return bounds.first
    return min(bounds.most, pace.level + bounds.per_minute * max(0, now - pace.since) // MINUTE_MS)


def set_back(name: str, pace: QueuePace | None, bounds: PaceBounds, now: Instant) -> QueuePace:
    """The pace after the function has failed: half as many batches, at least two."""
    level = max(min(MAPPING_CONCURRENCY_MIN, bounds.most), allowed(pace, bounds, now) // 2)
    return QueuePace(name, level, now)
