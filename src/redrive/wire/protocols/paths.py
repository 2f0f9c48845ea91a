"""Matches paths with the URI templates of REST operations.

A literal segment takes precedence over a label, a label over a greedy label (`{Key+}`, which matches the rest), and a
template with a fixed part of the query string over a template without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from redrive.wire.model.shapes import OperationModel

_NO_QUERY: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An operation at the end of a template. `labels` name the label segments, in their order."""

    operation: OperationModel
    labels: tuple[str, ...]
    query: frozenset[tuple[str, str]]


@dataclass(slots=True)
class _Branch:
    """A node in the tree of templates."""

    literals: dict[str, _Branch] = field(default_factory=dict)
    label: _Branch | None = None
    greedy: dict[str, list[_Leaf]] = field(default_factory=dict)
    leaves: dict[str, list[_Leaf]] = field(default_factory=dict)


class PathTable:
    """The templates of one service, as a tree of segments."""

    def __init__(self, operations: Iterable[OperationModel]) -> None:
        self._root = _Branch()
        for operation in operations:
            self._add(operation)

    def match(self, method: str, path: str, query: str) -> tuple[OperationModel, Mapping[str, str]] | None:
        """The operation for a raw path, with the decoded values of its labels; None if no template matches."""
        given = frozenset(parse_qsl(query, keep_blank_values=True)) if query else _NO_QUERY
        # Slashes at the end belong to a greedy label. Where there is none, they say nothing.
        found = _walk(self._root, method, path.removeprefix("/").split("/"), [], given)
        if found is None and path.endswith("/"):
            found = _walk(self._root, method, _segments(path), [], given)
        if found is None:
            return None
        leaf, values = found
        return leaf.operation, {label: unquote(value) for label, value in zip(leaf.labels, values, strict=True)}

    def _add(self, operation: OperationModel) -> None:
        path, _, query = operation.uri.partition("?")
        labels = []
        branch = self._root
        leaves: dict[str, list[_Leaf]] | None = None
        for segment in _segments(path):
            if not segment.startswith("{"):
                branch = branch.literals.setdefault(segment, _Branch())
                continue
            labels.append(segment.strip("{}").removesuffix("+"))
            if segment.endswith("+}"):
                leaves = branch.greedy
                break
            branch.label = branch.label or _Branch()
            branch = branch.label
        if leaves is None:
            leaves = branch.leaves
        fixed = frozenset(parse_qsl(query, keep_blank_values=True))
        here = leaves.setdefault(operation.method, [])
        here.append(_Leaf(operation, tuple(labels), fixed))
        here.sort(key=lambda leaf: -len(leaf.query))


def _segments(path: str) -> list[str]:
    return path.strip("/").split("/")


def _walk(
    branch: _Branch, method: str, segments: list[str], values: list[str], query: frozenset[tuple[str, str]]
) -> tuple[_Leaf, list[str]] | None:
    if not segments:
        leaf = _fitting(branch.leaves.get(method, []), query)
        return None if leaf is None else (leaf, values)
    first, rest = segments[0], segments[1:]
    found = None
    if first in branch.literals:
        found = _walk(branch.literals[first], method, rest, values, query)
    if found is None and branch.label is not None and first:
        found = _walk(branch.label, method, rest, [*values, first], query)
    if found is None and segments != [""]:
        leaf = _fitting(branch.greedy.get(method, []), query)
        found = None if leaf is None else (leaf, [*values, "/".join(segments)])
    return found


def _fitting(leaves: list[_Leaf], query: frozenset[tuple[str, str]]) -> _Leaf | None:
    for leaf in leaves:
        if leaf.query <= query:
            return leaf
    return None
