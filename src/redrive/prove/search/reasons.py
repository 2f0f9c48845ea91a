"""Why a handler cannot be proved: the messages for the user if it fails without any fault."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from redrive.core.errors import UserError
from redrive.prove.calls.calls import Call
from redrive.prove.play.events import Ended, Event
from redrive.prove.play.performance import Performance
from redrive.prove.process.subject import NamedSubject
from redrive.prove.project.packages import advice_on_import
from redrive.prove.stage.retriers import status_of
from redrive.prove.stage.trigger import SAMPLE_EVENT, Kind, bodies_of, record_text
from redrive.services.lambda_.model.batch import reported_failures

LINES_MAX = 8
"""How many of the last lines that the handler printed or logged are shown."""
BODY_CHARS_MAX = 300
_HOW_TO_SET = (
    "A variable is set by --env NAME=VALUE, a parameter by --parameter NAME=VALUE, an answer over HTTP by --given FILE."
)
PLACES_MAX = 4
"""How many lines of the user's code are shown of a traceback: the innermost."""

_FROM_BODY = "event['Records'][0]['body']"
_SOURCES = ("eventSource", "EventSource", "detail-type", "requestContext", "awslogs")
"""Members of the events that Lambda passes to functions, or of their records."""


class ChangesNothing(UserError):
    """The handler has no effect that can be seen, so nothing can be lost or repeated."""


class NotLoaded(UserError):
    """The handler's module cannot be imported; the next step may be a command that installs what it imports."""


def failed(performance: Performance, event: Ended) -> UserError:
    """A run failed without any fault."""
    if performance.surroundings.reached:
        return _reached(performance)
    told = event.answer or f"it {event.ending.value}"
    kind, _, _ = told.partition(":")
    if kind in _UNLOADED:
        advice = import_advice(performance, told) or (_PYTHON_2 if _PRINTS.search(told) else _UNLOADED[kind])
        return NotLoaded(f"The handler cannot be loaded: {told}", next_step=advice, exit_code=2)
    if kind == "Runtime.MarshalError" and "coroutine" in told:
        return UserError(_COROUTINE, next_step=_AWAITED, exit_code=2)
    what = f"The handler fails although nothing goes wrong: {told}{_failed_at(performance)}{_said(performance)}"
    next_step = _guesses_told(performance, told) + _message_told(performance) + _command(performance, told)
    return UserError(what, next_step=next_step, exit_code=2)


_ABSENT = re.compile(r"NoSuchKey|ResourceNotFound|ParameterNotFound|KeyError: '(Item|Items|Attributes)'|\(404\)")


def _command(performance: Performance, told: str) -> str:
    """The one command to type next: it sets the variable, gives what is missing, or keeps the event to be changed."""
    line = "".join(performance.failed_at[-1:])
    command = performance.trigger.command or f"redrive prove {performance.subject.name}"
    variable = next((name for name in performance.trigger.variables if name in f"{line} {told}"), None)
    if variable is not None:
        return f"\n  Next: {command} --env {variable}=VALUE"
    if _ABSENT.search(told):
        return (
            f"\n  Next: {command} --given given.yaml, with rows, objects, secrets or parameters that are there before."
        )
    return f"\n  Next: {command} --save-event event.json; change the file, and give it with --event event.json."


def left(performance: Performance, events: Sequence[Event]) -> UserError:
    """A run reported success, but its message is still in the queue."""
    if performance.surroundings.reached:
        return _reached(performance)
    answer = next((event.answer for event in reversed(events) if isinstance(event, Ended)), "")
    what = f"The handler {_left_how(performance)} although nothing goes wrong. It returned {answer}"
    if performance.trigger.kind.is_queue and reported_failures(answer.encode()) is None:
        what += ", which is no answer for a mapping with ReportBatchItemFailures: Lambda takes it for a failure"
    if performance.trigger.kind is Kind.API and status_of(answer.encode(), is_proxy=True) is None:
        what += ", which has no statusCode: API Gateway takes it for malformed, and answers with status 502"
    what += _said(performance)
    return UserError(what, next_step=import_advice(performance, answer) or _message_told(performance), exit_code=2)


def _left_how(performance: Performance) -> str:
    trigger = performance.trigger
    if trigger.is_awaited:
        return "answers with an error"
    return "is given its records again" if trigger.is_stream else "leaves its message in the queue"


def require_same_order(first: Sequence[Call], second: Sequence[Call]) -> None:
    """Refuse a handler whose calls come in another order from run to run. Errors: UserError."""
    for one, other in zip(first, second, strict=False):
        if one != other and Counter(first) == Counter(second):
            raise UserError(
                f"The handler's calls come in another order each time: once {one}, once {other}.",
                next_step="Prove it with one thread, and with lists in place of sets.", exit_code=2,
            )  # fmt: skip


_UNLOADED = {
    "Runtime.ImportModuleError": "A handler is named as module:function, importable from the working directory, or as "
    "path/to/file.py:function; what it imports has to be installed where redrive is.",
    "Runtime.HandlerNotFound": "Name a function that the module has: module:function.",
    "Runtime.UserCodeSyntaxError": "Mend the module.",
    "Runtime.BuiltInModuleConflict": "Give the module another name.",
}


_PRINTS = re.compile(r"Missing parentheses in call to '(print|exec)'|leading zeros in decimal|multiple exception types")
_PYTHON_2 = "The code is written for Python 2: port it to a Python that Lambda has."
_COROUTINE = (
    "The handler is a coroutine function (async def), and nobody awaits what it returns: Lambda's Python runtime calls "
    "it and fails each time with Runtime.MarshalError, because a coroutine is no JSON. None of its code runs."
)
_AWAITED = (
    "Give Lambda a plain function, and prove that one: def handler(event, context): return "
    "asyncio.run(handle(event, context))"
)


def import_advice(performance: Performance, told: str) -> str:
    """What to do about an import that failed, where a text tells of one; empty otherwise."""
    subject = performance.subject
    if not isinstance(subject, NamedSubject):
        return ""
    return advice_on_import(told, subject.file, (subject.root, *subject.folders))


def _reached(performance: Performance) -> UserError:
    return UserError(
        f"The handler opens a connection to {performance.surroundings.reached[0]}, and no connection is let out."
        f"{_said(performance)}",
        next_step="HTTP is answered here, and nothing else: prove the handler with that call replaced, as "
        "redrive.testing.prove takes a callable.", exit_code=2,
    )  # fmt: skip


def _failed_at(performance: Performance) -> str:
    return "".join(f"\n    {place}" for place in performance.failed_at[-PLACES_MAX:])


def _guesses_told(performance: Performance, told: str) -> str:
    """The guesses that the failed line or the error mentions; all of them if it mentions none."""
    guesses = {**performance.trigger.guesses, **performance.made_up}
    if not guesses:
        return ""
    place = " ".join([told, *performance.failed_at[-1:]])
    named = [name for name in guesses if any(word in place for word in _words(name))]
    lines = [f"\n    {name}: {guesses[name]}" for name in named or guesses]
    which = "A guess stands in that line" if named else "These were guessed"
    return f"{which}:{''.join(lines)}\n  {_HOW_TO_SET}\n  "


def _words(name: str) -> list[str]:
    """The words of a guess that a line of code would have: the variable, the key of the event, the operation."""
    words = name.replace(" of the event", "").split()
    return [word.rpartition(".")[2] for word in words if word not in {"variable", "parameter", "answer", "of", "event"}]


def _said(performance: Performance) -> str:
    lines = [line for line in performance.surroundings.said.splitlines() if line.strip()]
    return (
        "".join(["\nIt printed and logged last:", *(f"\n    {line}" for line in lines[-LINES_MAX:])]) if lines else ""
    )


def _message_told(performance: Performance) -> str:
    bodies = performance.trigger.bodies
    kind = performance.trigger.kind
    if kind.is_awaited or (kind.is_direct and kind is not Kind.EVENTBRIDGE):
        return (
            f"It was invoked with the event\n    {bodies[0][:BODY_CHARS_MAX]}\n  Give it the event that it expects "
            "(--event FILE), and its tables (--template)."
        )
    if performance.trigger.is_direct:
        return (
            f"It was invoked with the event\n    {bodies[0][:BODY_CHARS_MAX]}\n  Give it the event that it expects "
            "(--event FILE, with the event or the entries of PutEvents; --save-event FILE writes this one; "
            "--event-type names a kind of AWS's own), and its tables (--template)."
        )
    if performance.trigger.is_stream:
        return (
            f"It was given records of a stream; the first says\n    {record_text(bodies[0])[:BODY_CHARS_MAX]}\n  Give "
            "it the records that it expects (--event FILE, with the event of a mapping, or of Kinesis the data), and "
            "its tables (--template)."
        )
    body = bodies[0] if len(bodies[0]) <= BODY_CHARS_MAX else bodies[0][: BODY_CHARS_MAX - 1] + "…"
    which = "redrive's sample" if bodies == bodies_of(SAMPLE_EVENT) else "the event"
    if which == "the event" and _is_direct(bodies[0]):
        return (
            f"The event arrives as the body of an SQS message, in {_FROM_BODY}. A function that EventBridge invokes is "
            "proved with --trigger eventbridge, one that S3, SNS or a schedule invokes with --trigger s3, sns or "
            "schedule, one that a stream feeds with --trigger kinesis or dynamodb, a task of Step Functions with "
            "--trigger task, a function behind an API with --trigger api, and one that others invoke asynchronously "
            "with --trigger lambda. For any "
            f"other, prove one that takes the event from there: lambda event, context: handler(json.loads({_FROM_BODY})"
            ", context)."
        )
    return (
        f"It was given {which} as the body of an SQS message, in {_FROM_BODY}:\n    {body}\n  Give it the message that "
        "it expects (--event FILE, with the body's JSON or a whole SQS event), and its tables (--template)."
    )


def _is_direct(body: str) -> bool:
    try:
        event = json.loads(body)
    except ValueError:
        return False
    records = event.get("Records") if isinstance(event, dict) else None
    places = [event, *(records if isinstance(records, list) else [])]
    return any(isinstance(place, dict) and name in place for place in places for name in _SOURCES)
