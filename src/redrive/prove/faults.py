"""What can go wrong on a message's way, and histories written down so that they can be played again."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.core.errors import UserError


class Fault(enum.Enum):
    """What strikes at a call of the handler."""

    CRASH_BEFORE = "crash-before"
    CRASH_AFTER = "crash-after"
    LOST = "lost"
    LOST_AND_RETRIED = "lost-and-retried"
    THROTTLED = "throttled"
    OUTAGE = "outage"
    OVERLAP = "overlap"
    OVERLAP_LATE = "overlap-late"


ENDS_RUN = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER})

DUPLICATE_DELAYS_MS = (0, 1 * HOUR_MS, 3 * DAY_MS, 14 * DAY_MS)
"""How long after the message a duplicate of it may come: at once … as long as a queue keeps a message at most."""

REDRIVE_DELAYS_MS = (0, 1 * HOUR_MS, 3 * DAY_MS, 14 * DAY_MS)
"""How long a dead letter may lie before somebody redrives it. The last is cut to what the queue's retention leaves."""


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault at a call: `at` counts the calls of a leg from 0, those of runs inside runs among them."""

    at: int
    fault: Fault


class Act(enum.Enum):
    """How a leg begins. Each goes on until the handler has run once, or nothing is left to deliver."""

    DELIVER = "deliver"
    DUPLICATE = "duplicate"
    REDRIVE = "redrive"


@dataclass(frozen=True, slots=True)
class Leg:
    """One step of a history: an act, after a delay, and the faults that strike while the handler runs."""

    act: Act = Act.DELIVER
    delay_ms: int = 0
    strikes: tuple[Strike, ...] = ()

    @property
    def faults(self) -> int:
        """How many faults it counts for. A redrive is what a person does, and no fault."""
        return len(self.strikes) + (self.act is Act.DUPLICATE)

    def __str__(self) -> str:
        after = f" after {self.delay_ms} ms" if self.delay_ms else ""
        return " ".join([f"{self.act.value}{after}", *(f"{strike.fault.value}@{strike.at}" for strike in self.strikes)])


History = tuple[Leg, ...]

_LEG = re.compile(r"(deliver|duplicate|redrive)(?: after (\d+) ms)?((?: [a-z-]+@\d+)*)")


def parse_history(texts: Sequence[str]) -> History:
    """Read legs as `str` writes them: `redrive after 3600000 ms crash-after@1`. Errors: UserError."""
    return tuple(_parse_leg(text) for text in texts)


def _parse_leg(text: str) -> Leg:
    match = _LEG.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)
        strikes = [word.split("@") for word in match[3].split()]
        return Leg(Act(match[1]), int(match[2] or 0), tuple(Strike(int(at), Fault(name)) for name, at in strikes))
    except ValueError:
        raise UserError(
            f"{text!r} is no leg of a history.", next_step="Write it as in 'deliver crash-after@1'.", exit_code=2
        ) from None
