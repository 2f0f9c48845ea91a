"""A machine as a graph: which states lead where, what can be reached, what can end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from redrive.languages.states.definition import Branch, Choice, Fail, Map, Parallel, State, Succeed


def targets_of(state: State) -> Iterator[tuple[str, str]]:
    """Where a state may lead, each with the place of the field that says so."""
    if state.next is not None:
        yield "Next", state.next
    for index, catcher in enumerate(state.catch):
        yield f"Catch[{index}]/Next", catcher.next
    if isinstance(state, Choice):
        for index, rule in enumerate(state.choices):
            yield f"Choices[{index}]/Next", rule.next
        if state.default is not None:
            yield "Default", state.default


def branches_of(state: State) -> Iterator[tuple[str, Branch]]:
    """The branches inside of a state, each with its place."""
    if isinstance(state, Parallel):
        for index, branch in enumerate(state.branches):
            yield f"Branches[{index}]", branch
    elif isinstance(state, Map):
        yield "ItemProcessor", state.processor


def all_branches(branch: Branch, place: str = "") -> Iterator[tuple[str, Branch]]:
    """A branch and all that are nested in it, each with its place."""
    yield place, branch
    for name, state in branch.states.items():
        for inner, nested in branches_of(state):
            yield from all_branches(nested, f"{place}/States/{name}/{inner}")


def all_states(branch: Branch, place: str = "") -> Iterator[tuple[str, State]]:
    """All states, those of nested branches too, each with its place."""
    for here, one in all_branches(branch, place):
        for name, state in one.states.items():
            yield f"{here}/States/{name}", state


def reachable(start: str, states: Mapping[str, State]) -> set[str]:
    """The names of the states that a branch can come to."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in found or name not in states:
            continue
        found.add(name)
        waiting.extend(target for _, target in targets_of(states[name]))
    return found


def ends(branch: Branch) -> set[str]:
    """The names of the states from which an end can be reached."""
    before: dict[str, list[str]] = {}
    waiting: list[str] = []
    for name, state in branch.states.items():
        for _, target in targets_of(state):
            before.setdefault(target, []).append(name)
        if isinstance(state, (Succeed, Fail)) or (state.next is None and not isinstance(state, Choice)):
            waiting.append(name)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(before.get(name, ()))
    return found
