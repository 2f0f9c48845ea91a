"""The exceptions of this library. Each message says what happened, to which execution, and what to do.

A handler normally does not catch them: an error that leaves the handler leaves the message in its queue, as each of
these requires.
"""

from __future__ import annotations


class HandlerError(Exception):
    """The base class of all errors of this library."""


class StillRunning(HandlerError):
    """Another run of this execution holds its lease; this delivery has to come again later.

    `until` is the instant at which the lease ends, in milliseconds since the epoch.
    """

    def __init__(self, key: str, until: int) -> None:
        super().__init__(
            f"execution {key!r} is running elsewhere, under a lease until {until}; leave this delivery in its queue"
        )
        self.key = key
        self.until = until


class LeaseLost(HandlerError):
    """This run outlived its lease and another run took the execution over: this run's result is not recorded."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"execution {key!r} was taken over by another run, so this run records nothing; its lease was too short, "
            "or its process was paused: give the function a lease at least as long as it may run"
        )
        self.key = key


class PayloadChanged(HandlerError):
    """The key was used before with another payload: two different requests share one key."""

    def __init__(self, key: str, recorded: str, given: str) -> None:
        super().__init__(
            f"execution {key!r} was recorded with payload {recorded[:12]}… and comes again with {given[:12]}…; "
            "either the key is too coarse, or the payload changed under it: fix the key, or send it under a new one"
        )
        self.key = key


class KeyShared(HandlerError):
    """The key belongs to another function's execution: one function would get the other's result, and never run."""

    def __init__(self, key: str, recorded: str, given: str) -> None:
        super().__init__(
            f"execution {key!r} is one of {recorded}, and {given} finds the same key: give each function a prefix of "
            f"its own (idempotent(prefix=…)); or, if it is one function under a new name, idempotent(name={recorded!r})"
        )
        self.key = key
        self.recorded = recorded
        self.given = given


class KeyRefused(HandlerError):
    """The event has no key of this kind, or its key could be the same for different executions."""


class ResultNotStorable(HandlerError):
    """The function returned a value that a record cannot store and return unchanged."""


class RecordFull(HandlerError):
    """The execution has had so many or so large effects that its record has no room for another result."""


class OutsideExecution(HandlerError):
    """An effect or `current_execution` was called outside of a function decorated with `idempotent`."""


class EffectRepeated(HandlerError):
    """One run called an effect of this name twice; the second call would return the first call's result."""


class EffectUncertain(HandlerError):
    """It is unknown whether an effect happened, and repeating it may do it twice."""


class CircuitOpen(HandlerError):
    """The breaker admits no call. `retry_after_s` is the time until it may."""

    def __init__(self, name: str, retry_after_s: float) -> None:
        super().__init__(f"circuit {name!r} is open: it lets a probe through in {retry_after_s:.1f} s")
        self.name = name
        self.retry_after_s = retry_after_s


class FunctionFailed(HandlerError):
    """An invoked Lambda function raised. `kind` is AWS's FunctionError: Unhandled, or Handled of older runtimes."""

    def __init__(self, function_name: str, kind: str, error_type: str, message: str, trace: tuple[str, ...]) -> None:
        super().__init__(f"{function_name} failed ({kind}): {error_type}: {message}")
        self.function_name = function_name
        self.kind = kind
        self.error_type = error_type
        self.message = message
        self.trace = trace
