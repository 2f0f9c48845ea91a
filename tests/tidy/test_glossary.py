"""The glossary knows every class that bears one of its words, and names no class that is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tests.tidy.source import PACKAGE, ROOT, Source, sources

WORD = re.compile(r"^\*\*([a-z]+)\*\*", re.MULTILINE)
CLASS = re.compile(r"`([a-z0-9_/]+\.py:[A-Z]\w*)`")


def public_types(source: Source) -> Iterator[str]:
    """The classes at the top of a file, and the names there for types: `path:Name`."""
    for node in source.tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]) if name[0].isupper():
                yield f"{source.path}:{name}"


def unlisted_types(glossary: str, types: Iterable[str]) -> list[str]:
    """Types that bear a word of the glossary and do not stand in it."""
    words = {word.capitalize() for word in WORD.findall(glossary)}
    return sorted({name for name in types if name.partition(":")[2] in words} - set(CLASS.findall(glossary)))


def missing_types(glossary: str, types: Iterable[str]) -> list[str]:
    """Types that the glossary names and that do not exist."""
    return sorted(set(CLASS.findall(glossary)) - set(types))


def _types() -> list[str]:
    return [name for source in sources(PACKAGE) for name in public_types(source)]


def _glossary() -> str:
    return (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_every_class_that_bears_a_word_of_the_glossary_stands_in_it() -> None:
    """One word, one meaning: whoever takes a word for something narrower says so there."""
    assert unlisted_types(_glossary(), _types()) == []


def test_classes_that_the_glossary_names_are_there() -> None:
    assert missing_types(_glossary(), _types()) == []


def test_word_taken_for_a_second_thing_is_seen() -> None:
    glossary = "**run**: one time.\n\n| run | `a/b.py:Run` |\n"

    assert unlisted_types(glossary, ["a/b.py:Run", "c.py:Run", "c.py:Runner"]) == ["c.py:Run"]
    assert missing_types(glossary, ["c.py:Run"]) == ["a/b.py:Run"]


def test_types_are_classes_and_names_for_types() -> None:
    text = "class A: ...\nB = A | None\nLIMIT = 1\nc = 2\ndef f():\n    class D: ...\n"

    assert list(public_types(Source("a.py", text))) == ["a.py:A", "a.py:B", "a.py:LIMIT"]
