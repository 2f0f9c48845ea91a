"""What a state does about an error: try again after a wait, go on at a catcher's state, or fail.

Retriers are asked before catchers, each list from its beginning. A retrier counts its own retries; the counts begin
anew whenever the state is entered.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.entropy import Entropy
from redrive.languages.states.definition import Catcher, Jitter, Retrier, State
from redrive.languages.states.errors import (
    ALL,
    DATA_LIMIT_EXCEEDED,
    HEARTBEAT_TIMEOUT,
    RUNTIME,
    TASK_FAILED,
    TIMEOUT,
)

DELAY_S_MAX = 99_999_999
"""A wait without MaxDelaySeconds grows up to this."""


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """The state runs again after a wait; the retrier's count grows by one."""

    seconds: float
    retrier_index: int


@dataclass(frozen=True, slots=True)
class Caught:
    """The machine goes on at the catcher's state."""

    catcher: Catcher


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing matches the error, or the retriers that match are exhausted and no catcher matches."""


Reaction = RetryAfter | Caught | Failed


def decide(state: State, error: str | None, retry_counts: Mapping[int, int], entropy: Entropy) -> Reaction:
    """What follows from an error. `retry_counts` has the retries so far by the index of the retrier.

    A heartbeat that was missed is States.HeartbeatTimeout here, so that a matcher for this name and one for
    States.Timeout find it; AWS shows it as States.Timeout.
    """
    name = error or ""
    if name == RUNTIME:
        return Failed()
    for index, retrier in enumerate(state.retry):
        if not matches(retrier.errors, name):
            continue
        retries = retry_counts.get(index, 0)
        if retries >= retrier.attempts_max:
            break
        return RetryAfter(_drawn(retrier, retries + 1, entropy), index)
    for catcher in state.catch:
        if matches(catcher.errors, name):
            return Caught(catcher)
    return Failed()


def matches(patterns: tuple[str, ...], error: str) -> bool:
    """Whether an ErrorEquals names an error, itself or by a wildcard."""
    return any(_names(pattern, error) for pattern in patterns)


def delay_s(retrier: Retrier, retry: int) -> float:
    """The wait before a retry, counted from 1, without jitter: 1 s, 2 s, 4 s … up to MaxDelaySeconds."""
    limit = DELAY_S_MAX if retrier.delay_s_max is None else retrier.delay_s_max
    grown = math.log(retrier.interval_s) + (retry - 1) * math.log(retrier.backoff_rate)
    if grown > math.log(DELAY_S_MAX) + 1:
        return float(limit)
    return min(retrier.interval_s * retrier.backoff_rate ** (retry - 1), float(limit))


def _drawn(retrier: Retrier, retry: int, entropy: Entropy) -> float:
    delay = delay_s(retrier, retry)
    return entropy.uniform(0.0, delay) if retrier.jitter is Jitter.FULL else delay


def _names(pattern: str, error: str) -> bool:
    if pattern == error:
        return True
    if pattern == ALL:
        return error not in {DATA_LIMIT_EXCEEDED, RUNTIME}
    if pattern == TASK_FAILED:
        return error not in {TIMEOUT, HEARTBEAT_TIMEOUT, DATA_LIMIT_EXCEEDED, RUNTIME}
    return pattern == TIMEOUT and error == HEARTBEAT_TIMEOUT
