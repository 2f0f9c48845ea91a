"""A sample of a pattern is an event that the pattern matches."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from redrive.languages.event_pattern import Pattern, matches, parse, sample
from tests.unit.languages.event_pattern.strategies import EVENTS, PATTERNS

ENVELOPE = {"version": "0", "source": "sample.source", "detail-type": "Sample", "resources": [], "detail": {}}


@given(PATTERNS, EVENTS)
def test_a_sample_is_matched_by_its_pattern(pattern: Pattern, event: dict[str, Any]) -> None:
    made = sample(pattern, event)

    assert made is None or matches(pattern, made)


@given(PATTERNS, EVENTS)
def test_an_event_that_matches_already_is_not_changed(pattern: Pattern, event: dict[str, Any]) -> None:
    made = sample(pattern, event)

    made_again = None if made is None else sample(pattern, made)
    assert made_again == made


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["shop"], "detail-type": ["Order Placed"], "detail": {"total": [{"numeric": [">", 100]}]}},
        {"detail": {"state": [{"anything-but": ["sample", "other"]}]}},
        {"detail": {"name": [{"prefix": "a"}], "file": [{"suffix": ".png"}], "key": [{"wildcard": "in/*.csv"}]}},
        {"detail": {"bucket": {"name": ["b"]}, "ip": [{"cidr": "10.0.0.0/24"}], "error": [{"exists": False}]}},
        {"$or": [{"source": [{"equals-ignore-case": "A"}]}, {"source": ["b"]}], "detail": {"id": [{"exists": True}]}},
        {"resources": ["arn:aws:s3:::b"], "detail": {"n": [{"numeric": [">", 1, "<", 2]}], "z": [None]}},
    ],
)
def test_each_operator_has_a_sample(pattern: dict[str, Any]) -> None:
    read = parse(json.dumps(pattern))

    made = sample(read, ENVELOPE)

    assert made is not None
    assert matches(read, made)
    assert made["version"] == "0"


def test_a_pattern_that_nothing_satisfies_has_no_sample() -> None:
    contradiction = parse('{"detail": {"a": ["x"], "a.b": ["y"]}}')

    assert sample(contradiction, ENVELOPE) is None
