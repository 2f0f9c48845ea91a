"""The places of the values in a failing expression."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from redrive.prove.guess.mends import Raised
from redrive.prove.guess.positions import failing_node, value_of
from redrive.prove.guess.watched import At, place_of


def first_place(raised: Raised) -> At | None:
    """The first value with a place in the failing expression."""
    return next((at for at, _ in parts_of(raised)), None)


def parts_of(raised: Raised) -> Iterator[tuple[At, ast.AST]]:
    """The values with a place in the failing expression, or its statement: the outermost first."""
    node = failing_node(raised.frame, raised.instruction)
    for part in () if node is None else ast.walk(node):
        at = place_of(value_of(part, raised.frame))
        if at is not None:
            yield at, part


def at_path(root: At, path: Iterable[object]) -> At:
    """The place that a path leads to from another one."""
    for step in path:
        root = root.below(step if isinstance(step, int) else str(step))
    return root
