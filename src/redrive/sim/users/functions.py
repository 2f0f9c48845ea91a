"""Functions of a simulation: plain callables, run at the instant of their event. world.py draws their duration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import Conflict, ServiceError
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.sim.weather import AnswerLost, Hazard, Weather


class HandlerFailed(Exception):
    """A handler could not do its work."""


@dataclass(frozen=True, slots=True)
class HandlerRun:
    """One run of a handler: the input of its function."""

    function_name: str
    request_id: str
    event: Document


Handler = Callable[[HandlerRun], Document | None]


class Functions:
    """An Invoker whose functions are callables by function name."""

    def __init__(self, weather: Weather) -> None:
        self._weather = weather
        self._handlers: dict[str, Handler] = {}

    def register(self, function_name: str, handler: Handler) -> None:
        """Register a callable as the function with this name."""
        self._handlers[function_name] = handler

    def invoke(self, invocation: Invocation) -> InvocationResult:
        """Run the handler now. Its exceptions, and lost answers of calls that it made, are the function's errors."""
        if self._weather.strikes(Hazard.THROTTLED):
            return InvocationResult(InvocationStatus.THROTTLED, error="ConcurrentInvocationLimitExceeded")
        run = HandlerRun(invocation.function_name, invocation.request_id, load_json(invocation.payload))
        try:
            answer = self._handlers[invocation.function_name](run)
        except (HandlerFailed, ServiceError, Conflict, AnswerLost) as error:
            return failure(type(error).__name__, str(error))
        return InvocationResult(InvocationStatus.OK, dump_json(answer).encode())

    def close(self) -> None:
        """Nothing runs between two events."""


def failure(kind: str, message: str) -> InvocationResult:
    """The result of a run that ended in an error of the function."""
    document: Mapping[str, str] = {"errorType": kind, "errorMessage": message}
    return InvocationResult(InvocationStatus.FUNCTION_ERROR, dump_json(document).encode())
