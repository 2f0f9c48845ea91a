"""Java's regular expressions in Python."""

from __future__ import annotations

import pytest

from redrive.wire.model.files import Models
from redrive.wire.model.java_pattern import compile_java, fitting, linear
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


SAMPLES = [
    "", "a", "A-b_c.d", "-a", "a-", "12345", "123456789012", "a b", "é", "日本", "a\n", "\n", "$LATEST", "*", "a:b",
    "arn:aws:sqs:us-east-1:123456789012:orders", "arn:aws:iam::123456789012:role/a/b", "arn:aws:s3:::bucket",
    "arn:aws:lambda:us-east-1:123456789012:function:f:PROD", "function:f", "us-east-1", "https://example.com/a?b=c#d",
    "12345678-1234-1234-1234-123456789012", "2026-11-22T00:00:00Z", "rate(5 minutes)", "a..b", "aws:x", "!*x*", "a/b",
    "arn:aws-cn:codestar-connections:eu-west-1:123456789012:connection/1", "kafka://a", "a@b", "x" * 64, "[a]", "a=b,c",
]  # fmt: skip


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


def test_long_text_is_matched_in_linear_time_where_python_would_go_back() -> None:
    """The pattern of a bucket's name: over 5,000 characters Python tries 10^10 ways to divide them."""
    fits = fitting(r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$")

    assert fits is not None
    assert (fits("a" * 50_000), fits("a" * 50_000 + "!")) == (True, False)


def test_model_patterns_mean_the_same_to_both_matchers(models: Models) -> None:
    """For long texts another matcher stands in; on short ones it is held against Python's."""
    patterns = [
        pattern
        for spec in SERVICES
        for shape in models.service(spec.name).shapes.values()
        if (pattern := shape.constraints.pattern) is not None
    ]
    pairs = [(compile_java(pattern), linear(pattern)) for pattern in dict.fromkeys(patterns)]

    found = {
        bool(expected.fullmatch(text)) is regex.fullmatch(text)
        for expected, regex in pairs
        if expected is not None and regex is not None
        for text in SAMPLES
    }
    assert found == {True}
    assert sum(regex is None for _, regex in pairs) <= 12


def test_model_patterns_mean_the_same_for_ascii_alone(models: Models) -> None:
    """Texts of ASCII are matched by smaller patterns, which know no other characters."""
    patterns = {
        pattern
        for spec in SERVICES
        for shape in models.service(spec.name).shapes.values()
        if (pattern := shape.constraints.pattern) is not None and r"\p{" in pattern
    } | {r"[\p{M}]*", r"[^\p{M}]*"}
    texts = [text for text in SAMPLES if text.isascii()] + [chr(number) for number in range(0x80)]
    pairs = [(compile_java(pattern), compile_java(pattern, 0x7F)) for pattern in patterns]

    assert all(whole is not None and small is not None for whole, small in pairs)
    assert {
        (whole.fullmatch(text) is None) == (small.fullmatch(text) is None)
        for whole, small in pairs
        if whole is not None and small is not None
        for text in texts
    } == {True}


@pytest.mark.parametrize("service", [spec.name for spec in SERVICES])
def test_every_pattern_of_the_models_is_understood(models: Models, service: str) -> None:
    """No constraint of these services is skipped."""
    patterns = {shape.constraints.pattern for shape in models.service(service).shapes.values()} - {None}

    assert [pattern for pattern in patterns if pattern is not None and compile_java(pattern) is None] == []


def test_matcher_in_linear_time_is_made_for_the_first_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counting(pattern: str) -> None:
        made.append(pattern)

    monkeypatch.setattr("redrive.wire.model.java_pattern.linear", counting)
    fits = fitting("[a-z]*[0-9]*[a-z]*")
    assert fits is not None

    assert fits("abc1")
    assert made == []
    assert fits("a" * 10_000)
    assert fits("b" * 10_000)
    assert made == ["[a-z]*[0-9]*[a-z]*"]
