"""Time, for code that runs in a user's process. The only module of the library that reads a clock or sleeps.

Everything else takes `clock` and `sleep` as arguments whose defaults are these functions, so that a test moves time by
hand. An instant is an integer: milliseconds since the Unix epoch, UTC.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

Instant = int
Clock = Callable[[], Instant]
Sleep = Callable[[float], None]
SleepAsync = Callable[[float], Awaitable[None]]


def now_ms() -> Instant:
    """The machine's time. In a function on our engine it is the engine's time."""
    return time.time_ns() // 1_000_000


def sleep(seconds: float) -> None:
    """Wait, doing nothing."""
    time.sleep(seconds)


async def sleep_async(seconds: float) -> None:
    """Wait, letting other coroutines run."""
    import asyncio  # Imported here because it costs more than the rest of the library.

    await asyncio.sleep(seconds)
