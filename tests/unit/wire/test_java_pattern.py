"""Java's regular expressions in Python."""

from __future__ import annotations

import pytest

from redrive.wire.java_pattern import compile_java
from redrive.wire.models import Models
from redrive.wire.services import SERVICES

MATCHES = [
    (r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*", "Größe 3 — no".replace("—", "-")),
    (r"\p{L}+", "日本"),
    (r"\p{Print}+", "a ~"),
    (r"[\w-_]*", "a-_"),
    (r"(?<name>a)b", "ab"),
    (r"[\uD800\uDC00-\uDBFF\uDFFF]+", "𝄞"),
    (r"a++b", "aab"),
    (r"[a[]+", "[a"),
]
REFUSALS = [
    (r"[\p{L}]*", "a1"),
    (r"\w+", "ä"),
    (r"\d+", "٣"),
    (r"abc", "abc\n"),
    (r"\p{Print}+", "\t"),
    (r"[\w-_]*", "a+"),
]


@pytest.mark.parametrize(("pattern", "text"), MATCHES)
def test_text_that_java_matches_is_matched(pattern: str, text: str) -> None:
    """Properties, surrogate pairs, possessive quantifiers and stray hyphens mean what they mean in Java."""
    compiled = compile_java(pattern)

    assert compiled is not None
    assert compiled.fullmatch(text)


@pytest.mark.parametrize(("pattern", "text"), REFUSALS)
def test_text_that_java_refuses_is_refused(pattern: str, text: str) -> None:
    """`\\w` and `\\d` are ASCII in Java, and the whole text must match."""
    compiled = compile_java(pattern)

    assert compiled is not None
    assert not compiled.fullmatch(text)


@pytest.mark.parametrize("pattern", [r"[a-z&&[^b]]", r"\Qa.b\E", r"\P{L}"])
def test_pattern_beyond_python_is_given_up(pattern: str) -> None:
    """None says that there is nothing to check with, which is better than checking wrongly."""
    assert compile_java(pattern) is None


@pytest.mark.parametrize("service", [spec.name for spec in SERVICES])
def test_every_pattern_of_the_models_is_understood(models: Models, service: str) -> None:
    """No constraint of these services is skipped."""
    patterns = {shape.constraints.pattern for shape in models.service(service).shapes.values()} - {None}

    assert [pattern for pattern in patterns if pattern is not None and compile_java(pattern) is None] == []
