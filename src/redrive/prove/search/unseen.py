"""What is said of a handler that changes nothing: the calls that it makes, and the exceptions that it catches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.prove.calls.calls import Call
from redrive.prove.play.events import Called, Ended, Event
from redrive.prove.play.performance import Performance
from redrive.prove.process.caught import Caught
from redrive.prove.search.baseline import lasting
from redrive.prove.search.reasons import ChangesNothing, import_advice

CALLS_TOLD_MAX = 8
CAUGHT_TOLD_MAX = 4
_SEEN = "Only boto3 calls, requests over HTTP, SQL and effects declared with redrive.handler are seen."


def changes_nothing(performance: Performance, play: Callable[[Performance], Sequence[Event]]) -> ChangesNothing:
    """Why nothing can be proved, from one more clean run from here, in which exceptions are noted."""
    caught = Caught(performance.subject.told_line)
    with caught.watched():
        events = play(performance)
    calls = [event for event in events if isinstance(event, Called)]
    answers = [event.answer for event in events if isinstance(event, Ended)]
    lines = [
        *_listed("It made no call" if not calls else "It made these calls", list(map(_told, calls)), CALLS_TOLD_MAX),
        *_listed("It caught these exceptions itself", caught.told, CAUGHT_TOLD_MAX) * bool(caught.told),
        f"It returned {answers[-1] if answers else 'nothing'}",
    ]
    told = lasting("\n".join(lines))
    return ChangesNothing(
        f"The handler changes nothing that can be seen, so nothing can be lost or repeated.\n{told}",
        next_step=import_advice(performance, " ".join(caught.told))
        or _next_step([one.call for one in calls], has_caught=bool(caught.told)), exit_code=2,
    )  # fmt: skip


def _listed(title: str, members: Sequence[str], most: int) -> list[str]:
    distinct = list(dict.fromkeys(members))
    more = [f"    … and {len(distinct) - most} more"] if len(distinct) > most else []
    return [title + (":" if distinct else "."), *(f"    {one}" for one in distinct[:most]), *more]


def _told(one: Called) -> str:
    refused = f", refused: {one.outcome}" if one.outcome else ""
    return f"{one.call}{refused}" + (f" at {one.place.told}" if one.place is not None else "")


def _next_step(calls: Sequence[Call], *, has_caught: bool) -> str:
    if has_caught:
        return (
            "An exception took it off its way. Give it what it expects: the message (--event FILE; --save-event FILE "
            "writes this one), answers (--given FILE), its tables (--template FILE)."
        )
    silent = [call for call in calls if call.changes]
    if silent:
        return f"Changes like {silent[0]} do not count as effects: count them with --effect '{silent[0].name}'."
    if calls:
        return (
            "It only reads: what it reads may have led it past its work. Give it a message for which it does "
            f"something (--event FILE), and its tables (--template FILE). {_SEEN}"
        )
    return f"Give it a message for which it does something (--event FILE). {_SEEN}"
