"""Line numbers in a template's text, for messages to its author."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.source import compose


def line_of(text: str, *path: str) -> int | None:
    """The line, from 1, of the key at this path; None if there is none."""
    try:
        node = compose(text)
    except (yaml.YAMLError, TemplateError, RecursionError):
        return None
    line: int | None = None
    for name in path:
        if not isinstance(node, yaml.MappingNode):
            return None
        found = next((pair for pair in node.value if pair[0].value == name), None)
        if found is None:
            return None
        line, node = int(found[0].start_mark.line) + 1, found[1]
    return line


def keys_twice(text: str) -> list[tuple[str, int]]:
    """The keys that occur twice in one object, each with the line of the later one, which takes effect."""
    try:
        node = compose(text)
    except (yaml.YAMLError, TemplateError, RecursionError):
        return []
    return [] if node is None else list(_twice(node))


def _twice(node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _twice(item)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                yield key.value, int(key.start_mark.line) + 1
            seen.add(key.value)
        yield from _twice(value)
