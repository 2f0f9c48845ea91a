"""The history of an execution as visits: which states were entered, with their attempts, and what is inside of each.

Each event of a history names the event that caused it; a visit has the events that follow from its entry.

Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from redrive.languages.states.drawing import Passage, Trace
from redrive.languages.states.drawing import Visit as Drawn

HistoryEvent = Mapping[str, Any]

_SCHEDULED: Final = ("TaskScheduled", "LambdaFunctionScheduled", "ActivityScheduled")
_COMPOSITES: Final = ("Map", "Parallel")
_STEPS: Final = ("Scheduled", "Started", "Submitted")
_ENDS: Final = ("Succeeded", "Failed", "TimedOut", "Aborted")


@dataclass(slots=True)
class StateAttempt:
    """An attempt at a task, or at all that is inside of a Map or a Parallel. `outcome` is empty while it runs."""

    began: datetime
    resource: str = ""
    ended: datetime | None = None
    outcome: str = ""
    error: str = ""
    cause: str = ""


@dataclass(slots=True)
class Visit:
    """A state that was entered. `outcome` is succeeded, caught, failed, aborted, or running.

    `inside` are the visits of states within it; `iteration` is the index of the Map's item that a visit belongs to.
    """

    name: str
    type: str
    entered: datetime
    parent: Visit | None = None
    iteration: int | None = None
    exited: datetime | None = None
    outcome: str = "running"
    error: str = ""
    cause: str = ""
    map_run: str = ""
    is_redriven: bool = False
    attempts: list[StateAttempt] = field(default_factory=list)
    inside: list[Visit] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """The visit for programs, with times as texts of ISO 8601."""
        told: dict[str, Any] = {"state": self.name, "type": self.type, "outcome": self.outcome}
        told |= {
            "entered": self.entered.isoformat(),
            "exited": None if self.exited is None else self.exited.isoformat(),
        }
        told |= {name: text for name in ("error", "cause", "map_run") if (text := getattr(self, name))}
        if self.iteration is not None:
            told["iteration"] = self.iteration
        if self.is_redriven:
            told["redriven"] = True
        told["attempts"] = [_attempt_document(one) for one in self.attempts]
        told["inside"] = [one.document() for one in self.inside]
        return told


def read_visits(events: Sequence[HistoryEvent]) -> list[Visit]:
    """The visits of states of the outermost branch, in their order; those of inner branches are inside of them.

    `events` is the whole history, as GetExecutionHistory answers with boto3.
    """
    return _Reading(events).visits


def trace_of(visits: Sequence[Visit]) -> Trace:
    """The path taken, for a drawing. A Map's states show their worst visit and how many there were."""
    found: dict[str, list[Visit]] = {}
    for visit in _all(visits):
        found.setdefault(visit.name, []).append(visit)
    drawn = {name: _drawn(these) for name, these in found.items()}
    return Trace(drawn, frozenset(_moves(visits)))


def _drawn(these: Sequence[Visit]) -> Drawn:
    worst = next((one for kind in _WORST for one in these if one.outcome == kind), these[-1])
    return Drawn(_PASSAGES[worst.outcome], len(these), worst.error)


_PASSAGES: Final = {
    "failed": Passage.FAILED,
    "aborted": Passage.FAILED,
    "running": Passage.RUNNING,
    "caught": Passage.CAUGHT,
    "succeeded": Passage.SUCCEEDED,
}
_WORST: Final = tuple(_PASSAGES)


def _all(visits: Sequence[Visit]) -> Iterator[Visit]:
    for visit in visits:
        yield visit
        yield from _all(visit.inside)


def _moves(visits: Sequence[Visit]) -> Iterator[tuple[str, str]]:
    """The transitions between the visits of a branch; visits of several branches or items stand among one another."""
    latest: dict[int | None, Visit] = {}
    for visit in visits:
        before = latest.get(visit.iteration)
        if before is not None:
            yield before.name, visit.name
        latest[visit.iteration] = visit
        yield from _moves(visit.inside)


def _attempt_document(attempt: StateAttempt) -> dict[str, Any]:
    told: dict[str, Any] = {"began": attempt.began.isoformat(), "outcome": attempt.outcome or "running"}
    told["ended"] = None if attempt.ended is None else attempt.ended.isoformat()
    return told | {name: text for name in ("resource", "error", "cause") if (text := getattr(attempt, name))}


class _Reading:
    """Reads a history, event by event. `_owners` is the visit that each event belongs to, by the event's number."""

    def __init__(self, events: Sequence[HistoryEvent]) -> None:
        self.visits: list[Visit] = []
        self._owners: dict[int, Visit | None] = {}
        self._branches: dict[int, int] = {}
        self._branches_of: dict[int, int] = {}
        self._iterations: dict[int, int | None] = {}
        for event in events:
            self._read(event)

    def _read(self, event: HistoryEvent) -> None:
        kind, cause = str(event["type"]), int(event.get("previousEventId", 0))
        owner = self._owners.get(cause)
        number = int(event["id"])
        self._iterations[number] = self._iterations.get(cause)
        if kind.endswith("StateEntered"):
            owner = self._entered(event, kind.removesuffix("StateEntered"), owner, cause)
        elif kind.endswith("StateExited"):
            owner = _named(owner, str(event["stateExitedEventDetails"]["name"]))
            if owner is not None:
                _exit(owner, event)
        elif kind == "MapIterationStarted":
            owner = _named(owner, str(_details(event).get("name", "")))
            self._iterations[number] = int(_details(event).get("index", 0))
        elif kind.startswith("Execution"):
            self._execution(event, kind, owner)
        elif owner is not None:
            owner = _within(owner, event, kind)
        self._owners[number] = owner
        if owner is not None and kind != "MapIterationStarted":
            self._iterations[number] = owner.iteration

    def _entered(self, event: HistoryEvent, kind: str, before: Visit | None, cause: int) -> Visit:
        """A new visit: beside the one that its cause has left, or inside of the one that its cause has begun."""
        parent = before
        if before is not None and before.exited is not None:
            parent = before.parent
        iteration = self._iterations.get(cause)
        if parent is not None and parent.type == "Parallel":
            iteration = self._branch(parent, before, cause)
        visit = Visit(str(event["stateEnteredEventDetails"]["name"]), kind, event["timestamp"], parent, iteration)
        self._iterations[int(event["id"])] = iteration
        (self.visits if parent is None else parent.inside).append(visit)
        return visit

    def _branch(self, parent: Visit, before: Visit | None, cause: int) -> int | None:
        """The branch of a Parallel: the next one for its first state, else that of the state before."""
        if before is not parent:
            return self._iterations.get(cause)
        branch = self._branches.get(id(parent), 0)
        self._branches[id(parent)] = branch + 1
        return branch

    def _execution(self, event: HistoryEvent, kind: str, owner: Visit | None) -> None:
        """The execution's end ends what is active, and a redrive goes on with what had not succeeded."""
        if kind == "ExecutionRedriven":
            for visit in _all(self.visits):
                if visit.outcome in ("failed", "aborted"):
                    visit.outcome, visit.exited, visit.is_redriven = "running", None, True
                    visit.error = visit.cause = ""
        elif kind.removeprefix("Execution") in _ENDS:
            details = _details(event)
            for visit in _all(self.visits):
                if visit.outcome == "running":
                    is_cause = owner is not None and visit in _ancestors(owner)
                    _cut(visit, event)
                    if is_cause and kind == "ExecutionFailed":
                        visit.outcome = "failed"
                    if visit is owner or (is_cause and not visit.error):
                        visit.error, visit.cause = str(details.get("error", "")), str(details.get("cause", ""))


def _within(owner: Visit, event: HistoryEvent, kind: str) -> Visit:
    """An event inside of a visit: a step or an end of an attempt. Returns the visit that it belongs to."""
    if kind in _SCHEDULED:
        owner.attempts.append(StateAttempt(event["timestamp"], _resource(event)))
        return owner
    if kind.startswith("MapRun"):
        owner.map_run = owner.map_run or str(_details(event).get("mapRunArn", ""))
        return owner
    composite = next((one for one in _COMPOSITES if kind.startswith(f"{one}State")), None)
    if composite is not None:
        return _composite(owner, event, kind.removeprefix(f"{composite}State"), composite)
    if kind.startswith("MapIteration") or kind.endswith("StateAborted"):
        return owner
    end = next((one for one in _ENDS if kind.endswith(one)), None)
    if kind == "EvaluationFailed" or kind.endswith(("ScheduleFailed", "StartFailed")):
        end = "Failed"
    if end is not None and not kind.endswith(_STEPS):
        _end(owner, event, end)
    return owner


def _composite(owner: Visit, event: HistoryEvent, what: str, type: str) -> Visit:
    """An event of a Map or a Parallel as a whole: each start of its items or branches is an attempt."""
    found = next((one for one in _ancestors(owner) if one.type == type and one.exited is None), owner)
    if what == "Started":
        for one in found.attempts:
            one.outcome, one.ended = one.outcome or "failed", one.ended or event["timestamp"]
        found.attempts.append(StateAttempt(event["timestamp"]))
    elif what in _ENDS:
        _end(found, event, what)
        if what == "Failed" and owner is not found:
            found.error, found.cause = owner.error, owner.cause
    return found


def _end(visit: Visit, event: HistoryEvent, end: str) -> None:
    details = _details(event)
    error, cause = str(details.get("error", "")), str(details.get("cause", ""))
    if end != "Succeeded":
        visit.error, visit.cause = error or visit.error, cause
    if visit.attempts and not visit.attempts[-1].outcome:
        attempt = visit.attempts[-1]
        attempt.ended, attempt.outcome, attempt.error, attempt.cause = event["timestamp"], _WORDS[end], error, cause


_WORDS: Final = {"Succeeded": "succeeded", "Failed": "failed", "TimedOut": "timed out", "Aborted": "aborted"}


def _exit(visit: Visit, event: HistoryEvent) -> None:
    """A state was left: it has succeeded, or its last attempt failed and a Catch took the error."""
    visit.exited = event["timestamp"]
    for inner in _all(visit.inside):
        if inner.outcome == "running":
            _cut(inner, event)
    is_caught = bool(visit.attempts) and visit.attempts[-1].outcome not in ("succeeded", "")
    if is_caught:
        visit.outcome = "caught"
    else:
        visit.outcome, visit.error, visit.cause = "succeeded", "", ""


def _cut(visit: Visit, event: HistoryEvent) -> None:
    """A state that nobody leaves any more: its last attempt failed, or it was stopped."""
    has_failed = bool(visit.attempts) and visit.attempts[-1].outcome in ("failed", "timed out")
    visit.outcome, visit.exited = "failed" if has_failed else "aborted", event["timestamp"]


def _named(owner: Visit | None, name: str) -> Visit | None:
    """The innermost visit of a state of this name that has not ended, from `owner` outwards."""
    return next((one for one in _ancestors(owner) if one.name == name and one.exited is None), owner)


def _ancestors(visit: Visit | None) -> list[Visit]:
    found = []
    while visit is not None:
        found.append(visit)
        visit = visit.parent
    return found


def _resource(event: HistoryEvent) -> str:
    details = _details(event)
    kind, resource = str(details.get("resourceType", "")), str(details.get("resource", ""))
    return f"{kind}:{resource}" if kind else resource


def _details(event: HistoryEvent) -> Mapping[str, Any]:
    return next((value for key, value in event.items() if key.endswith("EventDetails")), {})
