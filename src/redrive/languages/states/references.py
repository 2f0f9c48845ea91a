"""Which variables the states of a definition refer to, as Describe operations show.

Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachine.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from redrive.core.documents import Document
from redrive.languages.states.expressions import is_expression

_NAME = re.compile(r"(?<![$\w])\$([A-Za-z_]\w*)(?!\w|\s*\()")
"""A variable in a path or in an expression of JSONata; neither a function nor `$$`."""
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NESTED = ("Branches", "ItemProcessor", "Iterator")
_WRITTEN = "ResultPath"


def variable_references(definition: Document) -> Mapping[str, list[str]]:
    """The variables that each state refers to, by the state's name; states without any are left out.

    A variable is a name that some state assigns: `$x` in an expression may also be a name of the expression's own.
    """
    states = list(_states(definition))
    assigned = {name for _, state in states for name in _assigned(state)}
    found = {name: _referred(state, assigned) for name, state in states}
    return {name: names for name, names in found.items() if names}


def _states(branch: object) -> Iterator[tuple[str, Document]]:
    """All states of a branch, each before those inside of it."""
    states = branch.get("States") if isinstance(branch, dict) else None
    for name, state in states.items() if isinstance(states, dict) else ():
        if isinstance(state, dict):
            yield name, state
            branches = state.get("Branches")
            for inner in [*(branches if isinstance(branches, list) else []), *(state.get(key) for key in _NESTED[1:])]:
                yield from _states(inner)


def _assigned(state: Document) -> Iterator[str]:
    for holder in (state, *_objects(state.get("Catch")), *_objects(state.get("Choices"))):
        if isinstance(holder.get("Assign"), dict):
            yield from (name.removesuffix(".$") for name in holder["Assign"])


def _objects(value: object) -> list[Document]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _referred(state: Document, assigned: set[str]) -> list[str]:
    texts = (text for name, value in state.items() if name not in _NESTED for text in _texts(name, value))
    names = (name for text in texts for name in _NAME.findall(_QUOTED.sub("''", text)))
    return list(dict.fromkeys(name for name in names if name in assigned))


def _texts(name: str, value: object) -> Iterator[str]:
    """The paths and the expressions in a field."""
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _texts(inner, one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(name, one)
    elif isinstance(value, str) and (is_expression(value) or _is_path(name)):
        yield value


def _is_path(name: str) -> bool:
    return name != _WRITTEN and (name.endswith((".$", "Path")) or name == "Variable")
