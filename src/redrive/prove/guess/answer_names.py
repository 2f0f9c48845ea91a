"""The names in a handler's partial batch response, as its code writes them, and how they are spelt wrong."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

from redrive.prove.guess.reading import nodes_of, own_files, parsed

FAILURES = "batchItemFailures"
IDENTIFIER = "itemIdentifier"
NAMES: Mapping[str, str] = {
    FAILURES: "an answer without this name is a success of the whole batch, and every message of it is deleted",
    IDENTIFIER: "an entry without this name makes the whole batch fail, and every message of it comes again",
}
"""The names of a partial batch response, and what follows where one is missing.

Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
"""
_NEAR = 0.85


def misspelt_names(file: Path) -> dict[str, str]:
    """What is wrong, by the name that the user's code writes: the right name, what follows, and where it stands."""
    found: dict[str, str] = {}
    for own in own_files(file):
        tree = parsed(own)
        for text, line in () if tree is None else _keys(tree):
            right = right_name(text)
            if right is not None:
                found.setdefault(text, f"AWS knows {right}, and {NAMES[right]} ({own.name}:{line})")
    return found


def right_name(text: str) -> str | None:
    """The name that a key is meant for; None if the key is right, or something else."""
    if text in NAMES:
        return None
    near = [right for right in NAMES if _likeness(text, right) >= _NEAR]
    return max(near, key=lambda right: _likeness(text, right), default=None)


def _likeness(text: str, right: str) -> float:
    return difflib.SequenceMatcher(None, text.replace("_", "").lower(), right.lower()).ratio()


def _keys(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The texts that are keys of objects: written in one, or assigned to."""
    for node in nodes_of(tree):
        match node:
            case ast.Dict(keys=keys):
                for key in keys:
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, key.lineno
            case ast.Subscript(slice=ast.Constant(value=str(text)), ctx=ast.Store()):
                yield text, node.lineno
            case _:
                pass
