"""What a drawing writes beside a transition: after which error, under which condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from redrive.core.documents import dump_json
from redrive.languages.states.choice_rules import And, Comparison, Not, Or, Test
from redrive.languages.states.definition import Choice, State
from redrive.languages.states.expressions import Expression
from redrive.languages.states.paths import Path
from redrive.languages.states.templates import Literal, Template

LABEL_CHARACTERS_MAX = 60

_SIGNS: Final = {
    "Equals": "=",
    "GreaterThan": ">",
    "GreaterThanEquals": "≥",
    "LessThan": "<",
    "LessThanEquals": "≤",
    "Matches": "like",
}


@dataclass(frozen=True, slots=True)
class Way:
    """A way out of a state: where to, and when; `label` is empty for the only regular one."""

    target: str
    label: str


def ways_of(state: State) -> Iterator[Way]:
    """The ways out of a state, the regular ones first."""
    if state.next is not None:
        yield Way(state.next, "")
    if isinstance(state, Choice):
        for rule in state.choices:
            yield Way(rule.next, _short(f"if {described(rule.test)}"))
        if state.default is not None:
            yield Way(state.default, "otherwise")
    for catcher in state.catch:
        yield Way(catcher.next, _short(f"on {', '.join(catcher.errors)}"))


def described(test: Test | Template) -> str:
    """A test as a reader says it: $.total > 10 and $.paid = true."""
    match test:
        case And(tests):
            return " and ".join(_inner(one) for one in tests)
        case Or(tests):
            return " or ".join(_inner(one) for one in tests)
        case Not(inner):
            return f"not ({described(inner)})"
        case Comparison():
            return _comparison(test)
        case Expression(text=text):
            return text
        case Literal(content=content):
            return dump_json(content)
        case _:
            return "…"


def _inner(test: Test) -> str:
    return f"({described(test)})" if isinstance(test, (And, Or)) else described(test)


def _comparison(test: Comparison) -> str:
    if test.operator.startswith("Is"):
        verb = "is" if test.expected is True else "is not"
        return f"{test.variable.text} {verb} {test.operator.removeprefix('Is').lower()}"
    name = test.operator.removesuffix("Path")
    for kind in ("String", "Numeric", "Boolean", "Timestamp"):
        name = name.removeprefix(kind)
    expected = test.expected.text if isinstance(test.expected, Path) else dump_json(test.expected)
    return f"{test.variable.text} {_SIGNS[name]} {expected}"


def _short(text: str) -> str:
    return text if len(text) <= LABEL_CHARACTERS_MAX else f"{text[: LABEL_CHARACTERS_MAX - 1]}…"
