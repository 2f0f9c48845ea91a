"""Reads single arguments in Terraform's source: a plan does not say which variable of a function refers to what.

Only what is needed of the language: blocks by their labels, and maps of plain expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_PAIR = re.compile(r'^\s*"?(?P<key>[A-Za-z_][\w-]*)"?\s*[=:]\s*(?P<value>[^\n]+?)\s*,?\s*$', re.MULTILINE)
_COMMENT = re.compile(r"^\s*(#|//).*$", re.MULTILINE)
_VARIABLES = re.compile(r"\bvariables\s*=\s*(?:merge\s*\([^{]*)?\{")


class Sources:
    """The source files of a module's folder."""

    def __init__(self, directory: Path) -> None:
        self._text = "\n".join(_texts(directory))

    def block(self, type_name: str, name: str) -> str:
        """The inside of a resource; empty if it is not there."""
        found = re.search(rf'\bresource\s+"{re.escape(type_name)}"\s+"{re.escape(name)}"\s*\{{', self._text)
        return "" if found is None else inside(self._text, found.end())


def variables_in(block: str) -> dict[str, str]:
    """The environment variables of a function, with their expressions as they are written."""
    found = _VARIABLES.search(block)
    if found is None:
        return {}
    return {match["key"]: match["value"] for match in _PAIR.finditer(inside(block, found.end()))}


def number_in(block: str, name: str) -> int | None:
    """A number that is written for a key, as in `maxReceiveCount = 3`."""
    found = re.search(rf'\b{name}"?\s*[=:]\s*"?(\d+)', block)
    return None if found is None else int(found[1])


def inside(text: str, start: int) -> str:
    """The text from behind a brace to the brace that ends it."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return ""


def _texts(directory: Path) -> Iterator[str]:
    for file in sorted(directory.glob("*.tf")) if directory.is_dir() else ():
        try:
            yield _COMMENT.sub("", file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
