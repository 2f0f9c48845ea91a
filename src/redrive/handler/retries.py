"""Retries inside an invocation: exponential backoff with full jitter, bounded by attempts and by the remaining time.

For failures that pass within seconds. For longer failures let the error leave the handler: the queue retries.

The n-th wait is uniformly random from zero to min(cap, first × 2^(n-1)): up to 0.1 s, 0.2 s, 0.4 s … for transient
failures, up to 1 s, 2 s, 4 s … for throttles.

Source: https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar, cast

from redrive.handler.clock import Clock, Sleep, SleepAsync, now_ms, sleep, sleep_async
from redrive.handler.entropy import Random, fraction
from redrive.handler.failures import Classes, Kind, classify
from redrive.handler.functions import is_async, refuse_unrun
from redrive.handler.lambda_context import remaining_ms

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, how long and what to retry.

    `attempts_max` counts the first call too. `total_s_max` bounds the total time, waits included. If a wait would
    leave less than `reserve_s` of the Lambda invocation, the error is raised at once, while there is time to handle it.
    """

    attempts_max: int = 4
    first_s: float = 0.1
    cap_s: float = 20.0
    throttle_first_s: float = 1.0
    throttle_cap_s: float = 60.0
    total_s_max: float | None = None
    reserve_s: float = 0.5
    classes: Classes | None = None

    def __post_init__(self) -> None:
        if self.attempts_max < 1:
            raise ValueError(f"{self.attempts_max} attempts call nothing: at least 1")

    def wait_s(self, kind: Kind, failures: int, draw: float) -> float:
        """The wait after this number of failures, from 1. `draw` is from [0, 1)."""
        first_s, cap_s = (
            (self.throttle_first_s, self.throttle_cap_s) if kind is Kind.THROTTLED else (self.first_s, self.cap_s)
        )
        return draw * min(cap_s, first_s * float(1 << min(failures - 1, 60)))

    def wait_or_end(
        self, kind: Kind, failures: int, *, elapsed_ms: int, left_ms: int | None, draw: float
    ) -> float | str:
        """The wait before the next try, or why there is none. `failures` includes the latest."""
        if kind is Kind.PERMANENT:
            return "neither permanent failures nor unknown ones are retried; classes=Classes(transient=…) names yours"
        if failures >= self.attempts_max:
            return f"{failures} attempts are all it may make"
        wait_s = self.wait_s(kind, failures, draw)
        if self.total_s_max is not None and elapsed_ms / 1000 + wait_s > self.total_s_max:
            return f"a wait of {wait_s:.1f} s would go beyond the {self.total_s_max} s that it may take"
        if left_ms is not None and wait_s > left_ms / 1000 - self.reserve_s:
            return f"a wait of {wait_s:.1f} s would go beyond the invocation, which has {left_ms} ms left"
        return wait_s


DEFAULT_POLICY = RetryPolicy()


def retry_call(
    function: Callable[[], R],
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
    context: object = None,
    clock: Clock = now_ms,
    sleep: Sleep = sleep,
    random: Random = fraction,
) -> R:
    """Call a function without arguments until it succeeds or the policy stops; then its last error is raised.

    `context` is Lambda's; without it the context of a batch's invocation is used. The error carries a note that says
    why the retries ended. Errors: the function's; TypeError if it returns a coroutine, which is not retried.
    """
    tries = _Tries(policy, context, clock, random)
    while True:
        try:
            result = function()
        except Exception as error:
            wait_s = tries.wait_after(error)
            if wait_s is None:
                raise
        else:
            refuse_unrun(result, function)
            return result
        sleep(wait_s)


async def retry_call_async(
    function: Callable[[], Awaitable[R]],
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
    context: object = None,
    clock: Clock = now_ms,
    sleep: SleepAsync = sleep_async,
    random: Random = fraction,
) -> R:
    """As `retry_call`, for an async function."""
    tries = _Tries(policy, context, clock, random)
    while True:
        try:
            return await function()
        except Exception as error:
            wait_s = tries.wait_after(error)
            if wait_s is None:
                raise
        await sleep(wait_s)


def retry(
    policy: RetryPolicy = DEFAULT_POLICY,
    *,
    clock: Clock = now_ms,
    sleep: Sleep = sleep,
    sleep_async: SleepAsync = sleep_async,
    random: Random = fraction,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Retry every call of a function, plain or async; see `retry_call`.

    A Lambda context among the arguments bounds the waits.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if is_async(function):

            @functools.wraps(function)
            async def run_async(*args: P.args, **kwargs: P.kwargs) -> object:
                call = functools.partial(function, *args, **kwargs)
                context = _context_among((*args, *kwargs.values()))
                return await retry_call_async(
                    call, policy=policy, context=context, clock=clock, sleep=sleep_async, random=random
                )

            return cast("Callable[P, R]", run_async)

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            call = functools.partial(function, *args, **kwargs)
            context = _context_among((*args, *kwargs.values()))
            return retry_call(call, policy=policy, context=context, clock=clock, sleep=sleep, random=random)

        return run

    return decorate


class _Tries:
    """The failures of one call so far."""

    def __init__(self, policy: RetryPolicy, context: object, clock: Clock, random: Random) -> None:
        self._policy = policy
        self._context = context
        self._clock = clock
        self._random = random
        self._started_at = clock()
        self._failures = 0
        self._last: Exception | None = None

    def wait_after(self, error: Exception) -> float | None:
        """The wait before the next try; None if there is none, with a note on the error."""
        self._failures += 1
        if self._last is not None and self._last is not error and error.__context__ is None:
            error.__context__ = self._last  # The first error may be the important one.
        self._last = error
        elapsed_ms = self._clock() - self._started_at
        kind = classify(error, self._policy.classes)
        left_ms = remaining_ms((self._context,))
        wait = self._policy.wait_or_end(
            kind, self._failures, elapsed_ms=elapsed_ms, left_ms=left_ms, draw=self._random()
        )
        if isinstance(wait, str):
            error.add_note(f"not tried again after attempt {self._failures}: {wait}")
            return None
        return wait


def _context_among(arguments: tuple[object, ...]) -> object:
    for argument in arguments:
        if hasattr(argument, "get_remaining_time_in_millis"):
            return argument
    return None
