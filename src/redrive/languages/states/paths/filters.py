"""Filters of paths: `[?(@.price > 10 && @.name =~ /a.*/)]`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from redrive.languages.matching import GROUPS, Regex, compile_regex
from redrive.languages.states.paths.path import NothingFound, Path, Predicate

NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Operand:
    """A path from `@` or `$`, or a value."""

    path: Path | None
    value: object

    def of(self, value: object, root: object) -> object:
        """The value, or NOTHING."""
        if self.path is None:
            return self.value
        try:
            return self.path.find(value if self.path.root == "@" else root)
        except NothingFound:
            return NOTHING


@dataclass(frozen=True, slots=True)
class Exists:
    """The path finds something."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Compared:
    """Two operands and what stands between."""

    left: Operand
    operator: str
    right: Operand


@dataclass(frozen=True, slots=True)
class Negated:
    """`!`."""

    inner: Condition


@dataclass(frozen=True, slots=True)
class All:
    """`&&`."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`||`."""

    parts: tuple[Condition, ...]


Condition = Exists | Compared | Negated | All | AnyOf


def as_predicate(condition: Condition) -> Predicate:
    """The test that a condition stands for."""

    def accepts(value: object, root: object) -> bool:
        return _holds(condition, value, root)

    return accepts


def compile_pattern(pattern: str, flags: str) -> Regex:
    """A pattern between slashes. Errors: ValueError."""
    return compile_regex(f"(?i){pattern}" if "i" in flags else pattern, GROUPS)


def _holds(condition: Condition, value: object, root: object) -> bool:
    match condition:
        case Exists(operand):
            found = operand.of(value, root)
            return found is not NOTHING and not (
                operand.path is not None and not operand.path.is_definite and not found
            )
        case Negated(inner):
            return not _holds(inner, value, root)
        case All(parts):
            return all(_holds(part, value, root) for part in parts)
        case AnyOf(parts):
            return any(_holds(part, value, root) for part in parts)
        case Compared(left, name, right):
            return _compare(left.of(value, root), name, right.of(value, root))


def _compare(left: object, name: str, right: object) -> bool:
    if left is NOTHING or right is NOTHING:
        return name == "!=" and left is not right
    return _COMPARISONS[name](left, right)


def are_equal(left: object, right: object) -> bool:
    """Whether two values of JSON are the same: true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def _ordered(accepts: Callable[[int], bool]) -> Callable[[object, object], bool]:
    """A comparison of two texts or two numbers, by the sign of their difference."""

    def compared(left: object, right: object) -> bool:
        if isinstance(left, bool) or isinstance(right, bool):
            return False
        if isinstance(left, str) and isinstance(right, str):
            return accepts((left > right) - (left < right))
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return accepts((left > right) - (left < right))
        return False

    return compared


def _is_in(left: object, right: object) -> bool:
    return isinstance(right, list) and any(are_equal(left, one) for one in right)


def _matches(left: object, right: object) -> bool:
    return isinstance(left, str) and isinstance(right, Regex) and right.fullmatch(left)


def _contains(left: object, right: object) -> bool:
    return right in left if isinstance(left, str) and isinstance(right, str) else _is_in(right, left)


def _lists(left: object, right: object, judge: Callable[[list[object], list[object]], bool]) -> bool:
    return isinstance(left, list) and isinstance(right, list) and judge(left, right)


_COMPARISONS: Final[dict[str, Callable[[object, object], bool]]] = {
    "!=": lambda left, right: not are_equal(left, right),
    "<": _ordered(lambda sign: sign < 0),
    "<=": _ordered(lambda sign: sign <= 0),
    "==": are_equal,
    "=~": _matches,
    ">": _ordered(lambda sign: sign > 0),
    ">=": _ordered(lambda sign: sign >= 0),
    "anyof": lambda left, right: _lists(left, right, lambda a, b: any(_is_in(one, b) for one in a)),
    "contains": _contains,
    "empty": lambda left, right: isinstance(left, (str, list, dict)) and (not left) is right,
    "in": _is_in,
    "nin": lambda left, right: not _is_in(left, right),
    "noneof": lambda left, right: _lists(left, right, lambda a, b: not any(_is_in(one, b) for one in a)),
    "size": lambda left, right: isinstance(left, (str, list, dict)) and len(left) == right,
    "subsetof": lambda left, right: _lists(left, right, lambda a, b: all(_is_in(one, b) for one in a)),
}
