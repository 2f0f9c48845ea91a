"""Projection expressions: the grammar, and the projection of an item.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ProjectionExpressions.html
"""

from __future__ import annotations

from collections.abc import Iterable

from redrive.languages.dynamo.data.values import AttributeValue, Item
from redrive.languages.dynamo.expressions.forms import read_form
from redrive.languages.dynamo.expressions.placeholders import Placeholders
from redrive.languages.dynamo.expressions.reader import Reader
from redrive.languages.dynamo.expressions.tree import Path, Projection
from redrive.languages.dynamo.paths import Branch, branches_of, note_entangled


def parse_projection(text: str, placeholders: Placeholders) -> Projection:
    """Parse a projection expression: document paths, separated by commas.

    Errors: ValidationException for a text that is empty, larger than 4 KB or malformed, for undefined placeholders,
    reserved words, and paths that overlap or conflict.
    """
    return read_form(_read, text, "ProjectionExpression", placeholders)


def _read(text: str, kind: str, placeholders: Placeholders) -> Projection:
    reader = Reader(text, kind, placeholders)
    paths = [reader.path()]
    while reader.accept(","):
        paths.append(reader.path())
    reader.expect_end()
    note_entangled(reader.findings, paths)
    reader.findings.report()
    return Projection(tuple(paths))


def project(projection: Projection, item: Item) -> dict[str, AttributeValue]:
    """The projected part of an item, in the item's order. The item is not changed."""
    return project_paths(projection.paths, item)


def project_paths(paths: Iterable[Path], item: Item) -> dict[str, AttributeValue]:
    """The part of an item at these paths: maps keep the named members, lists keep the chosen elements without gaps."""
    return _members(branches_of((path, True) for path in paths), item)


def _members(branch: Branch[bool], members: Item) -> dict[str, AttributeValue]:
    kept = ((name, _kept(branch.children[name], value)) for name, value in members.items() if name in branch.children)
    return {name: value for name, value in kept if value is not None}


def _kept(branch: Branch[bool], value: AttributeValue) -> AttributeValue | None:
    """The part of a value in the branch; None if there is none."""
    if branch.leaf:
        return value
    if "M" in value:
        members = _members(branch, value["M"])
        return {"M": members} if members else None
    kept = [
        part
        for index, element in enumerate(value.get("L", []))
        if index in branch.children and (part := _kept(branch.children[index], element)) is not None
    ]
    return {"L": kept} if kept else None
