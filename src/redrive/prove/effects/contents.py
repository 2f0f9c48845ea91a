"""The contents of what is left behind, as facts, compared with a clean run's.

A fact is a path and a text: an attribute of an item, a field of a message's body, a parameter of a call. Facts that
differ between two correct clean runs (other ids, another day, a slower process, another order of messages) do not
belong to the work and are not compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

Facts = tuple[tuple[str, str], ...]
"""Paths and their texts, in order. All members of a set have the same path."""
Group = tuple[str, str]
"""A kind of thing and the label that its members share; an empty label for members that share none."""

_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"})


@dataclass(frozen=True, slots=True)
class Left:
    """One thing left behind, and its contents."""

    kind: str
    label: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that differs from the clean run. `is_doubled`: a number that is a multiple of the clean run's number."""

    group: Group
    path: str
    now: str
    once: str

    @property
    def is_doubled(self) -> bool:
        """Whether the difference is the one that repeated work makes."""
        now, once = _number(self.now), _number(self.once)
        if now is None or not once:
            return False
        return now / once >= 2 and now % once == 0

    def __str__(self) -> str:
        kind, label = self.group
        what = f"{self.path} of the {kind}" + (f" ({label})" if label else "")
        return f"{what} is {_told(self.now)}, and {_told(self.once)} if nothing goes wrong"


Texts = Mapping[str, tuple[str, ...]]
"""The facts of a group at each path: the texts of all its members, in order."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The comparable groups of a clean run: the number of members of each, and their texts."""

    sizes: Mapping[Group, int]
    texts: Mapping[Group, Texts]
    varying: frozenset[tuple[Group, str]]

    @property
    def kinds(self) -> frozenset[str]:
        """The compared kinds."""
        return frozenset(kind for kind, _ in self.sizes)

    def also_varying(self, others: Iterable[Contents]) -> Contents:
        """The same, without what differs in other comparisons of the clean run."""
        return replace(self, varying=self.varying.union(*(other.varying for other in others)))

    def without(self, paths: Collection[tuple[str, str]]) -> Contents:
        """The same, without these paths of these kinds."""
        left_out = {(group, path) for group in self.sizes for kind, path in paths if group[0] == kind}
        return replace(self, varying=self.varying | left_out)

    def varies(self, kind: str, path: str) -> bool:
        """Whether a fact differs between clean runs, and so is not compared."""
        return any((group[0], known) == (kind, path) for group, known in self.varying)

    def differences(self, left: Sequence[Left]) -> Iterator[Difference]:
        """The facts that differ. Missing and surplus things are not reported here."""
        sizes, texts = _grouped(left, self.sizes)
        for group in sorted(self.sizes):
            if sizes[group] == self.sizes[group]:
                for path in sorted(self.texts[group].keys() | texts[group].keys()):
                    once, now = self.texts[group].get(path, ()), texts[group].get(path, ())
                    if once != now and (group, path) not in self.varying:
                        yield Difference(group, path, _first_without(now, once), _first_without(once, now))


def compared(clean: Sequence[Left], elsewhere: Sequence[Left], second: Sequence[Left]) -> Contents:
    """The facts to compare with a clean run, learned from a run elsewhere and from a second attempt.

    A whole number that is one higher at the second attempt counts attempts, as the first attempt did nothing.
    """
    labels = _groups(clean) & _groups(elsewhere)
    known = {*labels, *((kind, "") for kind, _ in _groups(clean) | _groups(elsewhere))}
    sizes, texts = _grouped(clean, known)
    sizes_there, texts_there = _grouped(elsewhere, known)
    _, texts_then = _grouped(second, known)
    common = {group for group in known if sizes[group] and sizes[group] == sizes_there[group]}
    varying = {
        (group, path)
        for group in common
        for path in texts[group].keys() | texts_there[group].keys() | texts_then[group].keys()
        if texts[group].get(path) != texts_there[group].get(path)
        or _is_one_more(texts[group].get(path, ()), texts_then[group].get(path, ()))
    }
    return Contents(
        {group: sizes[group] for group in common}, {group: texts[group] for group in common}, frozenset(varying)
    )  # fmt: skip


def facts_of(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """The facts of a document, of DynamoDB's typed values, or of a JSON text: one path and text each."""
    match value:
        case Mapping() if len(value) == 1 and set(value) <= _TYPES and path:
            yield from facts_of(_untyped(value), path)
        case Mapping():
            for name in sorted(value, key=str):
                yield from facts_of(value[name], f"{path}.{name}" if path else str(name))
        case list() | tuple():
            for number, member in enumerate(value):
                yield from facts_of(member, f"{path}[{number}]")
        case set() | frozenset():
            yield from sorted((path, str(member)) for member in value)
        case str() if value[:1] in ("{", "["):
            yield from _facts_of_text(value, path)
        case None | bool() | str() | int() | float() | bytes():
            yield path, value if isinstance(value, str) else repr(value)
        case _:
            yield path, type(value).__name__  # A stream, or an object whose text contains its address.


def _facts_of_text(text: str, path: str) -> Iterator[tuple[str, str]]:
    try:
        document = json.loads(text)
    except ValueError:
        yield path, text
    else:
        yield from facts_of(document, path)


def _untyped(value: Mapping[object, object]) -> object:
    kind, inner = next(iter(value.items()))
    return set(inner) if kind in ("SS", "NS", "BS") and isinstance(inner, list) else inner


def _groups(left: Iterable[Left]) -> set[Group]:
    return {(one.kind, one.label) for one in left}


def _grouped(left: Sequence[Left], known: Iterable[Group]) -> tuple[Counter[Group], dict[Group, Texts]]:
    """The things left behind, by group: the number of members, and their texts at each path."""
    groups = set(known)
    sizes: Counter[Group] = Counter()
    texts: dict[Group, dict[str, list[str]]] = {group: {} for group in groups}
    for one in left:
        group = (one.kind, one.label) if (one.kind, one.label) in groups else (one.kind, "")
        if group in groups:
            sizes[group] += 1
            for path, text in one.facts:
                texts[group].setdefault(path, []).append(text)
    return sizes, {
        group: {path: tuple(sorted(found)) for path, found in paths.items()} for group, paths in texts.items()
    }  # fmt: skip


def _is_one_more(once: tuple[str, ...], then: tuple[str, ...]) -> bool:
    numbers = [_number(text) for text in once]
    return (
        bool(once)
        and len(once) == len(then)
        and [_number(text) for text in then] == [None if number is None else number + 1 for number in numbers]
        and None not in numbers
    )


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _first_without(texts: tuple[str, ...], others: tuple[str, ...]) -> str:
    return next(iter(sorted((Counter(texts) - Counter(others)).elements())), "")


def _told(text: str) -> str:
    cut = text if len(text) <= 40 else f"{text[:39]}…"
    return cut if _number(text) is not None else f"{cut!r}" if text else "not there"
