"""Checks which branches assign which variables: a name of an outer scope cannot be assigned inside.

Child executions of a distributed Map see no variables, so their names are their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from redrive.languages.states.definition import Branch, Choice, Map, Mode, State
from redrive.languages.states.graph import branches_of
from redrive.languages.states.reading.fields import Faults


def check_variables(branch: Branch, faults: Faults, place: str = "", outer: frozenset[str] = frozenset()) -> None:
    """Note each name that an outer scope has already."""
    own: set[str] = set()
    for name, state in branch.states.items():
        for variable in _assigned(state):
            own.add(variable)
            if variable in outer:
                faults.add(
                    f"The variable '{variable}' is assigned in an outer scope already", f"{place}/States/{name}/Assign"
                )
    for name, state in branch.states.items():
        is_apart = isinstance(state, Map) and state.mode is Mode.DISTRIBUTED
        visible = frozenset() if is_apart else outer | own
        for inner, nested in branches_of(state):
            check_variables(nested, faults, f"{place}/States/{name}/{inner}", visible)


def _assigned(state: State) -> Iterator[str]:
    yield from (name for name, _ in state.assign)
    for catcher in state.catch:
        yield from (name for name, _ in catcher.assign)
    if isinstance(state, Choice):
        for rule in state.choices:
            yield from (name for name, _ in rule.assign)
