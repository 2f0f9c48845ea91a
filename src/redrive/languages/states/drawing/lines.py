"""A machine as lines of text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from redrive.languages.states.definition import Branch, Map, Parallel, State
from redrive.languages.states.drawing.labels import Way, ways_of
from redrive.languages.states.drawing.order import reading_order
from redrive.languages.states.drawing.trace import Passage, Trace

_MARKS: Final = {
    Passage.RUNNING: "◐",
    Passage.SUCCEEDED: "●",
    Passage.CAUGHT: "◍",
    Passage.FAILED: "✗",
}
NOT_VISITED = "○"
INDENT = "    "


def draw_lines(branch: Branch, trace: Trace) -> list[str]:
    """The machine: a line for each state and for each way that does not lead to the next line.

    A thick rail or arrow was taken, a thin one was not. States are ● succeeded, ◍ failed and caught, ✗ failed,
    ◐ running, ○ not visited.
    """
    return list(_branch(branch, trace))


def _branch(branch: Branch, trace: Trace) -> Iterator[str]:
    order = reading_order(branch)
    for index, name in enumerate(order):
        state = branch.states[name]
        following = order[index + 1] if index + 1 < len(order) else None
        yield from _state(state, following, trace)


def _state(state: State, following: str | None, trace: Trace) -> Iterator[str]:
    visit = trace.visits.get(state.name)
    mark = NOT_VISITED if visit is None else _MARKS[visit.passage]
    times = f" ×{visit.count}" if visit is not None and visit.count > 1 else ""
    note = f"  {visit.note}" if visit is not None and visit.note else ""
    yield f"{mark} {state.name}  {state.type}{times}{note}"
    ways = list(ways_of(state))
    goes_on = any(way.target == following for way in ways)
    taken_on = following is not None and (state.name, following) in trace.moves
    rail = ("┃" if taken_on else "│") if goes_on else " "
    for title, nested in _nested(state):
        yield f"{rail}{INDENT}╷ {title}"
        for line in _branch(nested, trace):
            yield f"{rail}{INDENT}{line}"
    yield from _ways(state, ways, following, rail, trace)
    if goes_on:
        yield rail
    elif not ways:
        yield "■" if visit is not None and visit.passage is Passage.SUCCEEDED else "□"


def _ways(state: State, ways: list[Way], following: str | None, rail: str, trace: Trace) -> Iterator[str]:
    shown = [way for way in ways if way.label or way.target != following]
    for index, way in enumerate(shown):
        taken = (state.name, way.target) in trace.moves
        corner = "╰" if index + 1 == len(shown) else "├"
        arrow = "━▶" if taken else "─▷"
        label = f"{way.label}: " if way.label else ""
        yield f"{rail} {corner}{arrow} {label}{way.target}"


def _nested(state: State) -> Iterator[tuple[str, Branch]]:
    if isinstance(state, Parallel):
        for index, branch in enumerate(state.branches):
            yield f"branch {index + 1} of {len(state.branches)}", branch
    elif isinstance(state, Map):
        yield f"each item ({state.mode.value.lower()})", state.processor
