"""Uses document paths: finds a value in an item, and finds paths that overlap or conflict.

Source:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.Attributes.html#Expressions.Attributes.NestedElements.DocumentPathExamples
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Generic, TypeVar

from redrive.languages.dynamo.data.values import AttributeValue, Item
from redrive.languages.dynamo.expressions.findings import Findings, Stage
from redrive.languages.dynamo.expressions.tree import Path

Leaf = TypeVar("Leaf")


def lookup(item: Item, path: Path) -> AttributeValue | None:
    """The value at the path; None if the item has none there."""
    value = item.get(path.attribute)
    for element in path.elements[1:]:
        if value is None:
            return None
        value = _child(value, element)
    return value


def _child(value: AttributeValue, element: str | int) -> AttributeValue | None:
    if isinstance(element, str):
        return value.get("M", {}).get(element)
    elements = value.get("L", [])
    return elements[element] if element < len(elements) else None


@dataclass(slots=True)
class Branch(Generic[Leaf]):
    """Paths as a tree: whether a path ends here, and the branches by name or index."""

    leaf: Leaf | None = None
    children: dict[str | int, Branch[Leaf]] = field(default_factory=dict)


def branches_of(leaves: Iterable[tuple[Path, Leaf]]) -> Branch[Leaf]:
    """The tree of these paths, which must not overlap."""
    root: Branch[Leaf] = Branch()
    for path, leaf in leaves:
        branch = root
        for element in path.elements:
            branch = branch.children.setdefault(element, Branch())
        branch.leaf = leaf
    return root


def note_entangled(findings: Findings, paths: Iterable[Path]) -> None:
    """Note two overlapping paths (one contains the other), or conflicting paths (one place is used as map and as list).

    AWS checks for overlaps first. Of several pairs, it reports the pair whose later path comes first in the text.
    """
    root = _Place()
    conflict: tuple[Path, Path] | None = None
    for number, path in enumerate(paths):
        overlapping, conflicting = root.enter(path, number)
        if overlapping is not None:
            _note_pair(findings, "overlap", overlapping, path)
            return
        if conflicting is not None and conflict is None:
            conflict = conflicting, path
    if conflict is not None:
        _note_pair(findings, "conflict", *conflict)


def _note_pair(findings: Findings, problem: str, one: Path, two: Path) -> None:
    findings.note(
        Stage.PATHS,
        f"Two document paths {problem} with each other; "
        f"must remove or rewrite one of these paths; path one: {one}, path two: {two}",
    )


_Entry = tuple[int, Path]
"""A path with its number, which tells the order in the text."""


class _Place:
    """A place in a document, with the first path that ends here, passes, or continues by a name or an index."""

    __slots__ = ("children", "ending", "going", "passing")

    def __init__(self) -> None:
        self.ending: _Entry | None = None
        self.passing: _Entry | None = None
        self.going: dict[type, _Entry] = {}
        self.children: dict[str | int, _Place] = {}

    def enter(self, path: Path, number: int) -> tuple[Path | None, Path | None]:
        """Add a path; returns the first earlier path that overlaps it, and the first that conflicts with it."""
        entry, place = (number, path), self
        overlapping: list[_Entry] = []
        conflicting: list[_Entry] = []
        for element in path.elements:
            other = place.going.get(str if isinstance(element, int) else int)
            if other is not None:
                conflicting.append(other)
            place.going.setdefault(type(element), entry)
            place = place.children.setdefault(element, _Place())
            if place.ending is not None:
                overlapping.append(place.ending)
            place.passing, before = place.passing or entry, place.passing
        if before is not None:
            overlapping.append(before)
        place.ending = place.ending or entry
        return _first(overlapping), _first(conflicting)


def _first(entries: Sequence[_Entry]) -> Path | None:
    return min(entries, key=itemgetter(0))[1] if entries else None
