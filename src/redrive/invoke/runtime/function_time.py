"""The time that function code reads: the engine's time, if that is virtual.

A handler that computes a lease or a TTL from `time.time()` must read the same clock as its schedules and queues;
otherwise a virtual day would take no time for the handler. While a function runs, its time advances at real speed,
from the virtual instant at which the run began.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, cast

import time_machine


class _Client(Protocol):
    """The part of AWS's runtime client that is used here."""

    def wait_next_invocation(self) -> object: ...


def at(instant_ms: int) -> AbstractContextManager[object]:
    """While entered, this process reads that time."""
    return cast("AbstractContextManager[object]", time_machine.travel(instant_ms / 1000, tick=True))


class FunctionTime:
    """Sets the time of this whole process: virtual, and set anew with each event."""

    def __init__(self, instant_ms: int, timeout_ms: int) -> None:
        """Set the virtual time. The deadline of an event is the start of its run plus `timeout_ms`."""
        self._timeout_ms = timeout_ms
        self._traveller = time_machine.travel(instant_ms / 1000, tick=True).start()

    def begin(self, deadline_ms: int) -> None:
        """Set the time to the start of a new event."""
        self._traveller.move_to((deadline_ms - self._timeout_ms) / 1000)

    def follow_aws_runtime(self) -> None:
        """Make AWS's runtime client set the time with each event that it receives."""
        from awslambdaric.lambda_runtime_client import LambdaRuntimeClient  # noqa: PLC0415 - it may not be installed.

        wait = LambdaRuntimeClient.wait_next_invocation

        def wait_and_set_time(client: _Client) -> object:
            request = wait(client)
            self.begin(int(request.deadline_time_in_ms))
            return request

        LambdaRuntimeClient.wait_next_invocation = wait_and_set_time
