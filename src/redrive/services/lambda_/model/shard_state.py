"""How far a mapping has read a shard: one position, and at most one batch, for each of the concurrent batches.

A lane has the records whose partition keys fall to it. All records of a lane up to its position are done. `ends` are
the numbers with which the batches end that are under way or come again, the next one first; a batch that was split has
several. So a batch is the lane's records after the position up to `ends[0]`, however often it is read.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from redrive.core.clock import SECOND_MS, Instant


@dataclass(frozen=True, slots=True)
class Window:
    """A tumbling window that is open, with the state that the function returned last.

    `is_cut`: the state was too large, so the window ends early.
    """

    start: Instant
    end: Instant
    state: object = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """One of the concurrent batches of a shard. See the module.

    `running` is the id of the attempt under way. `attempts` counts those at the batch that were begun and recorded,
    `failures` those that used up a retry, `waits` those in a row that failed for any reason. `oldest_at` is when the
    oldest record of the batch arrived, or an earlier instant; `request_id` is of the last attempt.
    """

    position: int
    ends: tuple[int, ...] = ()
    running: str = ""
    batch_id: str = ""
    execution_id: str = ""
    request_id: str = ""
    attempts: int = 0
    failures: int = 0
    waits: int = 0
    retry_at: Instant = 0
    oldest_at: Instant = 0
    window: Window | None = None

    @property
    def last(self) -> int:
        """The number up to which records were taken, done or not."""
        return self.ends[-1] if self.ends else self.position

    @property
    def is_free(self) -> bool:
        """Whether nothing is under way or comes again."""
        return not self.ends and not self.running and not self.waits

    def moved(self, position: int) -> Lane:
        """The lane after its batch has ended, done or given up."""
        ends = self.ends[1:] if self.ends and self.ends[0] <= position else self.ends
        return Lane(position, ends, execution_id=self.execution_id if ends else "", window=self.window)

    def rested(self) -> Lane:
        """The lane without a batch under way that comes again."""
        return replace(self, batch_id="", running="", attempts=0, failures=0, waits=0, retry_at=0)


@dataclass(frozen=True, slots=True)
class ShardState:
    """How far a mapping has read a shard. `turn` orders the shards: the one that waited longest comes first."""

    KIND: ClassVar[str] = "lambda.shard_state"
    IS_STATE: ClassVar[bool] = True

    name: str
    lanes: tuple[Lane, ...]
    is_finished: bool = False
    turn: int = 0

    def with_lane(self, number: int, lane: Lane) -> ShardState:
        """The state with another lane in this place."""
        return replace(self, lanes=(*self.lanes[:number], lane, *self.lanes[number + 1 :]))


def state_name(mapping: str, shard_id: str) -> str:
    """The name of a shard's state: those of a mapping have its UUID as their prefix."""
    return f"{mapping}/{shard_id}"


def fresh_lanes(position: int, count: int) -> tuple[Lane, ...]:
    """Slots that begin after a record."""
    return (Lane(position),) * count


def lane_of(partition_key: str, count: int) -> int:
    """The lane to which the records with a partition key belong: always the same, so they keep their order."""
    return zlib.crc32(partition_key.encode()) % count if count > 1 else 0


def resized(state: ShardState, count: int) -> ShardState:
    """The state with as many lanes as the mapping asks for, once all lanes have come to the same record.

    Until then the lanes that are ahead wait for the others: otherwise records would be done twice, or out of order.
    """
    if len(state.lanes) == count:
        return state
    last = meeting_point(state)
    is_met = all(lane.is_free and lane.window is None and lane.position >= last for lane in state.lanes)
    return replace(state, lanes=fresh_lanes(last, count)) if is_met else state


def meeting_point(state: ShardState) -> int:
    """The number up to which some lane has taken records."""
    return max(lane.last for lane in state.lanes)


def window_of(at: Instant, length_s: int) -> Window:
    """The tumbling window of a record that arrived at an instant. Windows begin at multiples of their length."""
    length_ms = length_s * SECOND_MS
    start = at - at % length_ms
    return Window(start, start + length_ms, {})


def ranges_of(numbers: Sequence[int]) -> list[list[int]]:
    """Ascending numbers as ranges, both ends included: [[1, 3], [7, 7]]."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def numbers_of(ranges: Sequence[Sequence[int]]) -> list[int]:
    """The numbers in ranges."""
    return [number for first, last in ranges for number in range(first, last + 1)]
