"""Events of histories: how they are kept, and how answers show them.

An event is kept as a list: its number, the number of the event that caused it, its instant, its type, its details.
Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
"""

from __future__ import annotations

from redrive.core.documents import Document

KeptEvent = list[object]

_DATA = ("input", "output", "parameters")
_SHARED = {"StateEntered": "stateEnteredEventDetails", "StateExited": "stateExitedEventDetails"}
_WITHOUT_DETAILS = frozenset(
    {
        "LambdaFunctionStarted", "ParallelStateStarted", "ParallelStateSucceeded", "ParallelStateFailed",
        "ParallelStateAborted", "MapStateSucceeded", "MapStateFailed", "MapStateAborted", "MapRunSucceeded",
        "TaskStateAborted", "WaitStateAborted", "WaitForTaskTokenStarted",
    }
)  # fmt: skip


def shown_event(event: KeptEvent, *, with_data: bool) -> Document:
    """An event as GetExecutionHistory answers it; without data, inputs and outputs are left out."""
    number, previous, at, kind, details = event
    assert isinstance(kind, str), "the type of an event is a text"
    assert isinstance(details, dict), "an event has details, which may be empty"
    shown: Document = {"timestamp": at, "type": kind, "id": number, "previousEventId": previous}
    if kind not in _WITHOUT_DETAILS:
        shown[_member(kind)] = details if with_data else _without_data(details)
    return shown


def _member(kind: str) -> str:
    for ending, member in _SHARED.items():
        if kind.endswith(ending):
            return member
    return f"{kind[0].lower()}{kind[1:]}EventDetails"


def _without_data(details: Document) -> Document:
    return {name: value for name, value in details.items() if name not in _DATA}
