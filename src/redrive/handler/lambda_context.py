"""The current run: Lambda's context, and the event that brought the work.

A batch calls functions with records, without Lambda's context; they find it here. The variable belongs to the run, not
to the module: each thread and each coroutine has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol, TypeGuard


class LambdaContext(Protocol):
    """The part of Lambda's `context` that the library uses."""

    def get_remaining_time_in_millis(self) -> int:
        """The remaining time of the invocation."""
        ...


class Origin(NamedTuple):
    """The origin of a piece of work: the message that brought it, and the queue, stream or bus that sent it."""

    message_id: str | None = None
    source: str | None = None


UNKNOWN = Origin()

_CURRENT: ContextVar[LambdaContext | None] = ContextVar("redrive_lambda_context", default=None)


@contextmanager
def invocation(context: object) -> Iterator[None]:
    """While inside, `remaining_ms` refers to this invocation. An object that is not a Lambda context is ignored."""
    before = _CURRENT.set(context if _is_lambda_context(context) else None)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def remaining_ms(arguments: Iterable[object] = ()) -> int | None:
    """The remaining time of the invocation; None outside of Lambda.

    A Lambda context among the arguments takes precedence over the current invocation's.
    """
    context = current_context(arguments)
    return None if context is None else context.get_remaining_time_in_millis()


def current_context(arguments: Iterable[object] = ()) -> LambdaContext | None:
    """The Lambda context among the arguments, else the current invocation's; None outside of Lambda."""
    for argument in arguments:
        if _is_lambda_context(argument):
            return argument
    return _CURRENT.get()


def origin_of(event: object) -> Origin:
    """The origin of an event or a record, as far as it contains that."""
    record = single_record(event)
    match record:
        case {"eventSourceARN": str(arn), "messageId": str(message_id)}:
            return Origin(message_id, arn)
        case {"eventSourceARN": str(arn)}:
            return Origin(None, arn)
        case {"messageId": str(message_id)}:
            return Origin(message_id)
        case {"source": str(source), "id": str()}:
            return Origin(None, source)
        case {"context": {"schedule_arn": str(arn)}}:
            return Origin(None, arn)
        case _:
            return UNKNOWN


def single_record(event: object) -> object:
    """The record of an event with exactly one record; any other event unchanged."""
    match event:
        case {"Records": [record]}:
            return record
        case _:
            return event


def _is_lambda_context(value: object) -> TypeGuard[LambdaContext]:
    return callable(getattr(value, "get_remaining_time_in_millis", None))
