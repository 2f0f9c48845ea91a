"""The tests of a Choice state: comparisons, and And, Or, Not over them.

A value of the wrong type makes a comparison false; it is no error. A variable that is not there is one, except for
IsPresent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from redrive.languages.matching import Wildcard
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.errors import runtime_error
from redrive.languages.states.lookup import look_up
from redrive.languages.states.paths import NothingFound, Path
from redrive.languages.states.timestamps import read_timestamp

Compare = Callable[[object, object], bool]
Accepts = Callable[[int], bool]
"""Whether the sign of a difference is that of the order that an operator names."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`Variable`, an operator, and a value or (operators that end in Path) the path of one."""

    variable: Path
    operator: str
    expected: object


@dataclass(frozen=True, slots=True)
class And:
    """All tests hold."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of the tests holds."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The test does not hold."""

    test: Test


Test = Comparison | And | Or | Not


def holds(test: Test, root: object, bindings: Bindings) -> bool:
    """Whether a test holds for `$`. Errors: StatesError."""
    match test:
        case And(tests):
            return all(holds(one, root, bindings) for one in tests)
        case Or(tests):
            return any(holds(one, root, bindings) for one in tests)
        case Not(inner):
            return not holds(inner, root, bindings)
        case Comparison():
            return _compare(test, root, bindings)


def _compare(test: Comparison, root: object, bindings: Bindings) -> bool:
    if test.operator == "IsPresent":
        return _is_present(test.variable, root, bindings) is test.expected
    value = _found(test.variable, root, bindings)
    expected = _found(test.expected, root, bindings) if isinstance(test.expected, Path) else test.expected
    return COMPARISONS[test.operator.removesuffix("Path")](value, expected)


def _is_present(path: Path, root: object, bindings: Bindings) -> bool:
    try:
        found = look_up(path, root, bindings)
    except NothingFound:
        return False
    return path.is_definite or bool(found)


def _found(path: Path, root: object, bindings: Bindings) -> object:
    try:
        return look_up(path, root, bindings)
    except NothingFound:
        raise runtime_error(
            f"Invalid path '{path.text}': The choice state's condition path references an invalid value."
        ) from None


def is_number(value: object) -> bool:
    """Whether a value of JSON is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _texts(accepts: Accepts) -> Compare:
    """Java compares texts by their UTF-16 units."""

    def compared(value: object, expected: object) -> bool:
        if not isinstance(value, str) or not isinstance(expected, str):
            return False
        first, second = _units(value), _units(expected)
        return accepts((first > second) - (first < second))

    return compared


def _numbers(accepts: Accepts) -> Compare:
    def compared(value: object, expected: object) -> bool:
        if not isinstance(value, (int, float)) or not isinstance(expected, (int, float)):
            return False
        if isinstance(value, bool) or isinstance(expected, bool):
            return False
        return accepts((value > expected) - (value < expected))

    return compared


def _instants(accepts: Accepts) -> Compare:
    def compared(value: object, expected: object) -> bool:
        first, second = read_timestamp(value), read_timestamp(expected)
        return first is not None and second is not None and accepts((first > second) - (first < second))

    return compared


def _units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _matches(value: object, pattern: object) -> bool:
    return isinstance(value, str) and isinstance(pattern, str) and wildcard_of(pattern).matches(value)


def wildcard_of(pattern: str) -> Wildcard:
    """The pattern of StringMatches: `*` is any run of characters, and a backslash makes the next character plain."""
    pieces = [""]
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\" and at + 1 < len(pattern):
            pieces[-1] += pattern[at + 1]
            at += 2
            continue
        if pattern[at] == "*":
            pieces.append("")
        else:
            pieces[-1] += pattern[at]
        at += 1
    return Wildcard(tuple(pieces))


def _kind(is_kind: Callable[[object], bool]) -> Compare:
    return lambda value, expected: is_kind(value) is expected


_ORDERS: Final[dict[str, Accepts]] = {
    "Equals": lambda sign: sign == 0,
    "GreaterThan": lambda sign: sign > 0,
    "GreaterThanEquals": lambda sign: sign >= 0,
    "LessThan": lambda sign: sign < 0,
    "LessThanEquals": lambda sign: sign <= 0,
}

COMPARISONS: Final[dict[str, Compare]] = {
    **{f"String{name}": _texts(order) for name, order in _ORDERS.items()},
    **{f"Numeric{name}": _numbers(order) for name, order in _ORDERS.items()},
    **{f"Timestamp{name}": _instants(order) for name, order in _ORDERS.items()},
    "BooleanEquals": lambda value, expected: isinstance(value, bool) and value is expected,
    "IsBoolean": _kind(lambda value: isinstance(value, bool)),
    "IsNull": _kind(lambda value: value is None),
    "IsNumeric": _kind(is_number),
    "IsString": _kind(lambda value: isinstance(value, str)),
    "IsTimestamp": _kind(lambda value: read_timestamp(value) is not None),
    "StringMatches": _matches,
}
"""The operators without those that end in Path, and without IsPresent."""

WITH_PATH: Final = frozenset(
    f"{name}Path" for name in COMPARISONS if not name.startswith("Is") and name != "StringMatches"
)
OPERATORS: Final = frozenset({*COMPARISONS, *WITH_PATH, "IsPresent"})
