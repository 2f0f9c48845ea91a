"""Timeouts of a connection. Only the client's own silence counts, never the time that the server takes to answer.

A pure state machine that runs once a tick; HttpLimits has its limits.

    what the client does                    limit
    sends no request                        idle_ticks      closed
    has begun a head                        head_ticks      408
    sends nothing more of a body            silent_ticks    408
    sends a body slower than it may         body_ticks      408
    reads nothing of its answers            unread_ticks    closed
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from redrive.gateway.http.limits import HttpLimits


class Stage(IntEnum):
    """Where the parser is in the client's bytes."""

    BETWEEN = 0
    HEAD = 1
    BODY = 2


class Loss(Enum):
    """What happens to a connection whose timeout has passed."""

    NONE = "none"
    CLOSED = "closed"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of a connection at a tick. `message` is the same object while the same request is received."""

    stage: Stage
    message: object
    size: int
    is_busy: bool
    unsent: int


class Patience:
    """How long the server has waited for one connection."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._last: Seen | None = None
        self.ticks = 0
        self._ticks_silent = 0
        self._ticks_unread = 0

    def tick(self, seen: Seen) -> Loss:
        """What to do with the connection at this tick."""
        last, self._last = self._last, seen
        limits = self._limits
        is_unread = last is not None and 0 < last.unsent == seen.unsent
        self._ticks_unread = self._ticks_unread + 1 if is_unread else 0
        if self._ticks_unread >= limits.unread_ticks:
            return Loss.CLOSED
        is_same = last is not None and last.message is seen.message and last.stage is seen.stage
        if seen.is_busy or seen.unsent or not is_same:
            self.ticks = self._ticks_silent = 0
            return Loss.NONE
        self.ticks += 1
        self._ticks_silent = self._ticks_silent + 1 if last is not None and last.size == seen.size else 0
        match seen.stage:
            case Stage.BETWEEN:
                return Loss.CLOSED if self.ticks >= limits.idle_ticks else Loss.NONE
            case Stage.HEAD:
                is_late = self.ticks >= limits.head_ticks
            case Stage.BODY:
                allowed = limits.body_ticks + seen.size // limits.bytes_per_tick
                is_late = self._ticks_silent >= limits.silent_ticks or self.ticks >= allowed
        return Loss.TIMED_OUT if is_late else Loss.NONE
