"""Time, for code that runs in a user's process. The only module of the library that reads a clock or sleeps.

All other code takes `clock` and `sleep` as arguments with these functions as defaults, so that a test controls time.
An instant is an integer: milliseconds since the Unix epoch, UTC.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

Instant = int
Clock = Callable[[], Instant]
Sleep = Callable[[float], None]
SleepAsync = Callable[[float], Awaitable[None]]


def now_ms() -> Instant:
    """The machine's time. In a function on our engine this is the engine's time."""
    return time.time_ns() // 1_000_000


def sleep(seconds: float) -> None:
    """Block this thread for a time."""
    time.sleep(seconds)


async def sleep_async(seconds: float) -> None:
    """Wait without blocking other coroutines."""
    import asyncio  # Imported here because this import takes longer than the rest of the library.

    await asyncio.sleep(seconds)
