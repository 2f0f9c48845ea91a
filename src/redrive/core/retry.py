"""What follows from an attempt: pure rules, no clock, no store.

Every asynchronous delivery (of a schedule, of a rule, of Lambda's own queue) calls `decide`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document


class FailureKind(enum.Enum):
    """How a failed attempt counts."""

    PERMANENT = "permanent"
    TRANSIENT = "transient"
    THROTTLED = "throttled"


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The target accepted the delivery. `result` is its answer."""

    result: Document


@dataclass(frozen=True, slots=True)
class Failed:
    """The target did not accept the delivery: the code and message of its error.

    The target has asked for a wait of at least `wait_ms` before the next attempt. `version` is the version of the
    target that ran, if one ran and the target has versions.
    """

    code: str
    message: str
    kind: FailureKind
    wait_ms: int = 0
    version: str = ""


Outcome = Succeeded | Failed


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait after failure number n, from 1.

    With `steps_ms`, the waits are these values, the last repeated. Otherwise the waits double from `first_ms` up to
    `cap_ms`: 1 s, 2 s, 4 s … 256 s, 480 s with the defaults. `jitter` is the maximum random change of a wait, as a
    share in both directions. AWS publishes no curve: see docs/semantics/delivery.md.
    """

    first_ms: int = 1 * SECOND_MS
    cap_ms: int = 8 * MINUTE_MS
    jitter: float = 0.1
    steps_ms: tuple[int, ...] = ()

    def wait_ms(self, failures: int, spread: float) -> int:
        """The wait after this many failures. `spread` is a random number in [-1, 1], which is scaled by `jitter`."""
        if self.steps_ms:
            base = self.steps_ms[min(failures, len(self.steps_ms)) - 1]
        else:
            base = min(self.cap_ms, self.first_ms << min(failures - 1, 40))
        return round(base * (1 + spread * self.jitter))


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and for how long to try again.

    `retries_max` counts retries after the first attempt. `age_ms_max` counts from the delivery's `first_at`. A
    throttled attempt uses up a retry only with `throttles_count`; its wait follows `throttle_backoff` if that is set.
    """

    retries_max: int = 185
    age_ms_max: int = 24 * HOUR_MS
    backoff: Backoff = Backoff()
    throttle_backoff: Backoff | None = None
    throttles_count: bool = True


class Exhausted(enum.Enum):
    """The bound of the policy that ended the retries, in AWS's spelling."""

    ATTEMPTS = "MaximumRetryAttempts"
    AGE = "MaximumEventAgeInSeconds"


@dataclass(frozen=True, slots=True)
class Delivered:
    """The delivery reached its target."""


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again at this instant. `counted`: the failure used up a retry."""

    at: Instant
    counted: bool


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further attempt. `exhausted` is None for a permanent failure."""

    exhausted: Exhausted | None


Verdict = Delivered | RetryAt | GiveUp


def decide(
    policy: RetryPolicy,
    *,
    failures: int,
    attempts: int,
    first_at: Instant,
    now: Instant,
    outcome: Outcome,
    spread: float,
) -> Verdict:
    """What follows from an attempt that just ended.

    `failures` counts earlier failures that used up a retry. `attempts` counts all attempts, including this one. The age
    is checked before the wait: if the next attempt would come too late, the delivery is given up at once.
    """
    match outcome:
        case Succeeded():
            return Delivered()
        case Failed(kind=FailureKind.PERMANENT):
            return GiveUp(None)
        case Failed(kind=kind, wait_ms=wait_ms):
            throttled = kind is FailureKind.THROTTLED
            counted = policy.throttles_count or not throttled
            if counted and failures >= policy.retries_max:
                return GiveUp(Exhausted.ATTEMPTS)
            backoff = policy.throttle_backoff if throttled and policy.throttle_backoff else policy.backoff
            at = now + max(wait_ms, backoff.wait_ms(failures + 1 if counted else attempts, spread))
            if at > first_at + policy.age_ms_max:
                return GiveUp(Exhausted.AGE)
            return RetryAt(at, counted)
