"""What time it is for function code: the engine's time, when that is virtual.

A handler that computes a lease or a TTL from `time.time()` must read the clock that its schedules and queues run on;
otherwise a virtual day would pass in no time for it. Time goes on at its real pace while a function runs, starting from
the virtual instant at which the run began.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, cast

import time_machine


class _Client(Protocol):
    """AWS's runtime client, as far as it is known here."""

    def wait_next_invocation(self) -> object: ...


def at(instant_ms: int) -> AbstractContextManager[object]:
    """While inside, this process reads that time."""
    return cast("AbstractContextManager[object]", time_machine.travel(instant_ms / 1000, tick=True))


class FunctionTime:
    """The time of this whole process from now on: virtual, set anew with each event."""

    def __init__(self, instant_ms: int, timeout_ms: int) -> None:
        """Go to an instant and stay in virtual time. An event's deadline is its beginning and `timeout_ms`."""
        self._timeout_ms = timeout_ms
        self._traveller = time_machine.travel(instant_ms / 1000, tick=True).start()

    def begin(self, deadline_ms: int) -> None:
        """An event has come: it is now its beginning."""
        self._traveller.move_to((deadline_ms - self._timeout_ms) / 1000)

    def follow_aws_runtime(self) -> None:
        """Have AWS's runtime client set the time with each event that it receives."""
        from awslambdaric.lambda_runtime_client import LambdaRuntimeClient  # noqa: PLC0415 - it may not be installed.

        wait = LambdaRuntimeClient.wait_next_invocation

        def wait_and_set_time(client: _Client) -> object:
            request = wait(client)
            self.begin(int(request.deadline_time_in_ms))
            return request

        LambdaRuntimeClient.wait_next_invocation = wait_and_set_time
