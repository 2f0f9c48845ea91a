"""Document paths at work: finding a value in an item, and paths that cannot stand beside each other.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.Attributes.html#Expressions.Attributes.NestedElements.DocumentPathExamples
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Generic, TypeVar

from redrive.languages.dynamo.findings import Findings, Stage
from redrive.languages.dynamo.tree import Path
from redrive.languages.dynamo.values import AttributeValue, Item

Leaf = TypeVar("Leaf")


def lookup(item: Item, path: Path) -> AttributeValue | None:
    """The value at the end of the path; None if the item has none there."""
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
    """Paths as a tree: what ends here, and what goes on from here by a name or an index."""

    leaf: Leaf | None = None
    children: dict[str | int, Branch[Leaf]] = field(default_factory=dict)


def branches_of(leaves: Iterable[tuple[Path, Leaf]]) -> Branch[Leaf]:
    """The tree of these paths, of which none overlap."""
    root: Branch[Leaf] = Branch()
    for path, leaf in leaves:
        branch = root
        for element in path.elements:
            branch = branch.children.setdefault(element, Branch())
        branch.leaf = leaf
    return root


def note_entangled(findings: Findings, paths: Iterable[Path]) -> None:
    """Note two paths of which one contains the other, or which take one place for a map and a list.

    AWS looks for the former first.
    """
    pairs = list(_pairs(paths))
    for problem, entangled in (("overlap", _overlap), ("conflict", _conflict)):
        for one, two in pairs:
            if entangled(one, two):
                findings.note(
                    Stage.PATHS,
                    f"Two document paths {problem} with each other; "
                    f"must remove or rewrite one of these paths; path one: {one}, path two: {two}",
                )
                return


def _pairs(paths: Iterable[Path]) -> Iterable[tuple[Path, Path]]:
    """All pairs that begin in one attribute, in the order in which their later path was written."""
    earlier: dict[str, list[Path]] = {}
    for path in paths:
        companions = earlier.setdefault(path.attribute, [])
        for companion in companions:
            yield companion, path
        companions.append(path)


def _overlap(one: Path, two: Path) -> bool:
    return all(a == b for a, b in zip(one.elements, two.elements, strict=False))


def _conflict(one: Path, two: Path) -> bool:
    for a, b in zip_longest(one.elements, two.elements):
        if a != b:
            return isinstance(a, int) != isinstance(b, int)
    return False
