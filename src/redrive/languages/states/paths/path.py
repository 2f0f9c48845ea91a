"""Paths, and what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

FOUND_MAX = 100_000
"""Values that a path may find on its way; more is a path that multiplies, such as `$..*..*`."""


class NothingFound(ValueError):
    """A definite path leads nowhere, or a function is applied to what it does not take. The text says where."""


class Predicate(Protocol):
    """A filter: whether it takes a value. `root` is what `$` means inside of it."""

    def __call__(self, value: object, root: object) -> bool: ...


@dataclass(frozen=True, slots=True)
class Children:
    """`.name`, `['name']` or `['one','two']`."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Elements:
    """`[0]`, `[-1]` or `[0,2]`."""

    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """`[1:3]`, with Python's meaning."""

    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Every:
    """`.*` or `[*]`."""


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(…)]`."""

    accepts: Predicate
    text: str


@dataclass(frozen=True, slots=True)
class Descent:
    """`..`: the next segment applies to each value below, and to the value itself."""


@dataclass(frozen=True, slots=True)
class Applied:
    """`.length()`, and the other functions."""

    name: str
    function: Callable[[object, Sequence[object]], object]
    arguments: tuple[object, ...]


Segment = Children | Elements | Slice | Every | Filter | Descent | Applied


@dataclass(frozen=True, slots=True)
class Path:
    """A path: where it begins, and its segments. `root` is `$`, `$$`, or the name of a variable with its dollar."""

    text: str
    root: str
    segments: tuple[Segment, ...]
    is_definite: bool

    def find(self, root: object) -> object:
        """The value at this path, or for an indefinite path the list of values. Errors: NothingFound."""
        if self.is_definite:
            return self._find_one(root)
        found = [root]
        descending = False
        for index, segment in enumerate(self.segments):
            if isinstance(segment, Applied):
                return self._applied(found, index)
            if isinstance(segment, Descent):
                descending = True
                continue
            last = index + 1 == len(self.segments)
            places = _bounded(_all_below(found)) if descending else found
            found = _bounded(value for place in places for value in _select(segment, place, root, last))
            descending = False
        return found

    def _find_one(self, value: object) -> object:
        for index, segment in enumerate(self.segments):
            match segment:
                case Children((name,)) if isinstance(value, dict):
                    if name not in value:
                        raise NothingFound(self._missing(index))
                    value = value[name]
                case Children((_,)):
                    raise NothingFound(self._missing(index) if index else f"No results for path: {self.normal(index)}")
                case Children(names) if isinstance(value, dict):
                    value = {name: value[name] for name in names if name in value}
                case Elements((at,)) if isinstance(value, list) and -len(value) <= at < len(value):
                    value = value[at]
                case Applied(function=function, arguments=arguments):
                    value = function(value, arguments)
                case _:
                    raise NothingFound(f"No results for path: {self.normal(index)}")
        return value

    def _applied(self, found: object, index: int) -> object:
        for segment in self.segments[index:]:
            if isinstance(segment, Applied):
                found = segment.function(found, segment.arguments)
        return found

    def _missing(self, index: int) -> str:
        if index + 1 == len(self.segments):
            return f"No results for path: {self.normal(index)}"
        return f"Missing property in path {self.normal(index)}"

    def normal(self, upto: int) -> str:
        """The path up to a segment in brackets, as AWS prints it: $['a']['b'][0]."""
        return "$" + "".join(map(_normal, self.segments[: upto + 1]))


def _normal(segment: Segment) -> str:
    match segment:
        case Children(names):
            return f"[{','.join(repr_name(name) for name in names)}]"
        case Elements(indices):
            return f"[{','.join(map(str, indices))}]"
        case Slice(start, end):
            return f"[{'' if start is None else start}:{'' if end is None else end}]"
        case Every():
            return "[*]"
        case Filter():
            return "[?]"
        case Descent():
            return ".."
        case Applied(name=name):
            return f".{name}()"


def repr_name(name: str) -> str:
    """A name in single quotes."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _select(segment: Segment, value: object, root: object, last: bool) -> Iterator[object]:
    match segment:
        case Children(names) if isinstance(value, dict):
            if last and len(names) > 1:
                yield {name: value[name] for name in names if name in value}
            else:
                yield from (value[name] for name in names if name in value)
        case Elements(indices) if isinstance(value, list):
            yield from (value[at] for at in indices if -len(value) <= at < len(value))
        case Slice(start, end) if isinstance(value, list):
            yield from value[start:end]
        case Every():
            yield from _inside(value)
        case Filter(accepts=accepts) if isinstance(value, list):
            yield from (element for element in value if accepts(element, root))
        case Filter(accepts=accepts) if isinstance(value, dict) and accepts(value, root):
            yield value
        case _:
            return


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _all_below(values: Sequence[object]) -> Iterator[object]:
    """Each value, then what is inside of it, in the order of the text."""
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        yield value
        waiting.extend(reversed(list(_inside(value))))


def _bounded(values: Iterator[object]) -> list[object]:
    found: list[object] = []
    for value in values:
        found.append(value)
        if len(found) > FOUND_MAX:
            raise NothingFound(f"The path finds more than {FOUND_MAX} values")
    return found
