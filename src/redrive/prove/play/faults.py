"""The faults on a message's way, and histories in a text form that can be played again."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.core.errors import UserError


class Fault(enum.Enum):
    """A fault that strikes at a call of the handler."""

    CRASH_BEFORE = "crash-before"
    CRASH_AFTER = "crash-after"
    LOST = "lost"
    LOST_AND_RETRIED = "lost-and-retried"
    PARTLY_REFUSED = "partly-refused"
    THROTTLED = "throttled"
    OUTAGE = "outage"
    UNREACHED = "unreached"
    """A connection for a request over HTTP is refused, for the rest of the run."""
    BAD_GATEWAY = "bad-gateway"
    """A request over HTTP takes effect, and a gateway in between answers with status 502."""
    OVERLAP = "overlap"
    OVERLAP_LATE = "overlap-late"
    AGAIN = "again"
    AGAIN_LATE = "again-late"
    BESIDE = "beside"
    """Another message comes, which is worked on meanwhile. This is no fault: see `Strike.is_fault`."""


STRIKES_AFTER = frozenset({Fault.CRASH_AFTER, Fault.LOST, Fault.BAD_GATEWAY})
"""Faults that strike after the call was answered, and leave the call itself unchanged."""
ENDS_RUN = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER})
LETS_IN = frozenset({Fault.OVERLAP, Fault.OVERLAP_LATE, Fault.AGAIN, Fault.AGAIN_LATE, Fault.BESIDE})
"""What starts another run while this run is paused: with a duplicate, the same message again, or another message."""

DUPLICATE_DELAYS_MS = (0, 1 * HOUR_MS, 3 * DAY_MS, 14 * DAY_MS)
"""How long after the message a duplicate may come: at once … as long as a queue keeps a message at most."""

BUS_DELAYS_MS = (0, 1 * HOUR_MS, 24 * HOUR_MS)
"""How long after an event its bus may deliver a duplicate: it retries a delivery for 24 hours.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-retry-policy.html
"""

STREAM_DELAYS_MS = (0, 1 * HOUR_MS)
"""How long after a record it may come again: a producer puts it once more, or a checkpoint is lost. Judgement."""

REDRIVE_DELAYS_MS = (0, 1 * HOUR_MS, 3 * DAY_MS, 14 * DAY_MS)
"""How long a dead letter may wait for its redrive. The last is cut to the rest of the queue's retention."""


REDRIVES_MAX = 3
"""How often dead letters are redriven in one history."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A call of a leg, identified by what it asks: the n-th of its kind, counted from 1."""

    service: str
    operation: str
    target: str
    nth: int

    def __str__(self) -> str:
        words = [f"{_quoted(self.service)}:{_quoted(self.operation)}", *([_quoted(self.target)] if self.target else [])]
        return " ".join([*words, f"#{self.nth}"])


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault at a call, and the number of the message that it brings, if it brings one: 0 is the first.

    `at` counts the calls of a leg from 0, including those of nested runs; or it names the call, so that the call is
    found in a handler that has changed elsewhere.
    """

    at: int | Spot
    fault: Fault
    message: int = 0

    @property
    def is_fault(self) -> bool:
        """Whether something goes wrong by it. Two messages may be worked on at once at any time."""
        return self.fault is not Fault.BESIDE

    def __str__(self) -> str:
        place = f" {self.at}" if isinstance(self.at, Spot) else f"@{self.at}"
        return f"{self.fault.value}{_of(self.message)}{place}"


class Act(enum.Enum):
    """How a leg begins. Each leg lasts until the handler has run once, or nothing is left to deliver."""

    DELIVER = "deliver"
    DUPLICATE = "duplicate"
    REPUBLISH = "republish"
    """The producer of an event publishes it once more: the same detail, under another event id."""
    REDRIVE = "redrive"
    NEXT = "next"
    """Another message comes, while the first one waits to be tried again. This is no fault."""
    REREAD = "reread"
    """The checkpoints of a mapping from a stream are lost: the shards are read from where the mapping began."""


class Reuse(enum.Enum):
    """In which execution environment the runs of a leg are, as far as one is idle."""

    NEW = "in a new environment"
    SAME = "in the same environment"
    """The one that was used last."""
    EARLIER = "in an earlier environment"
    """The one before it, if there are two."""


SENDS_AGAIN = frozenset({Act.DUPLICATE, Act.REPUBLISH, Act.REREAD})
"""Acts by which comes again what came before. Each is a fault."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One step of a history: an act, after a delay, and the faults that strike while the handler runs."""

    act: Act = Act.DELIVER
    delay_ms: int = 0
    strikes: tuple[Strike, ...] = ()
    message: int = 0
    """The number of the message that is sent again: 0 is the first."""
    reuse: Reuse = Reuse.NEW

    @property
    def faults(self) -> int:
        """How many faults this leg counts as. A redrive is a person's act, and no fault; nor is another message."""
        return sum(strike.is_fault for strike in self.strikes) + (self.act in SENDS_AGAIN)

    def __str__(self) -> str:
        after = f" after {self.delay_ms} ms" if self.delay_ms else ""
        where = "" if self.reuse is Reuse.NEW else f" {self.reuse.value}"
        return " ".join([f"{self.act.value}{_of(self.message)}{after}{where}", *map(str, self.strikes)])


History = tuple[Leg, ...]

_STRIKE = r"(?P<fault>[a-z-]+)(?: of (?P<message>\d+))?(?:@(?P<at>\d+)| (?P<spot>[^\s@#]+(?: [^\s@#]+)? #\d+))"
_LEG = re.compile(
    rf"(?P<act>deliver|duplicate|republish|redrive|next|reread)(?: of (?P<of>\d+))?(?: after (?P<after>\d+) ms)?"
    r"(?: (?P<where>in (?:the same|an earlier) environment))?"
    rf"(?P<strikes>(?: {re.sub(r'[?]P<[a-z]+>', '?:', _STRIKE)})*)"
)
_SPOT = re.compile(r"(?P<service>[^\s:]*):(?P<operation>[^\s:]*)(?: (?P<target>\S+))? #(?P<nth>\d+)")


def parse_history(texts: Sequence[str]) -> History:
    """Parse legs as `str` writes them: `redrive after 3600000 ms crash-after dynamodb:PutItem reports #1`.

    Errors: UserError.
    """
    return tuple(_parse_leg(text) for text in texts)


def _parse_leg(text: str) -> Leg:
    match = _LEG.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)
        strikes = tuple(map(_parse_strike, re.finditer(_STRIKE, match["strikes"])))
        where = Reuse(match["where"]) if match["where"] else Reuse.NEW
        return Leg(Act(match["act"]), int(match["after"] or 0), strikes, int(match["of"] or 1) - 1, where)
    except ValueError:
        raise UserError(
            f"{text!r} is no leg of a history.",
            next_step="Write it as in 'deliver crash-after sqs:SendMessage mails #1'.",
            exit_code=2,
        ) from None


def _parse_strike(match: re.Match[str]) -> Strike:
    at = int(match["at"]) if match["at"] is not None else _parse_spot(match["spot"])
    return Strike(at, Fault(match["fault"]), int(match["message"] or 1) - 1)


def _parse_spot(text: str) -> Spot:
    match = _SPOT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    service, operation, target = (unquote(match[name] or "") for name in ("service", "operation", "target"))
    return Spot(service, operation, target, int(match["nth"]))


def _of(message: int) -> str:
    return f" of {message + 1}" if message else ""


def _quoted(word: str) -> str:
    return quote(word, safe="/.*")
