"""An explanation names the field that fails, what was expected and found, and what would make the event match."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from redrive.languages.event_pattern import Explanation, Pattern, explain, matches, parse
from tests.unit.languages.event_pattern.strategies import EVENTS, PATTERNS

EVENT = {
    "source": "aws.s3",
    "detail-type": "Object Created",
    "detail": {
        "bucket": {"name": "my-uplaods"},
        "object": {"key": "in/a.csv", "size": "300"},
        "items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}],
        "tags": [],
    },
}


def explained(pattern: dict[str, Any], event: dict[str, Any] | None = None) -> Explanation:
    return explain(parse(json.dumps(pattern)), EVENT if event is None else event)


@settings(max_examples=100)
@given(PATTERNS, EVENTS)
def test_explanation_agrees_with_the_definition(pattern: Pattern, event: dict[str, Any]) -> None:
    explanation = explain(pattern, event)

    assert explanation.matches is matches(pattern, event)
    assert explanation.matches is (explanation.nearness == 1.0)
    assert 0.0 <= explanation.nearness <= 1.0
    assert all(field.is_satisfied == (field.hint == "") for field in explanation.fields)
    assert explanation.matches or explanation.note or not all(field.is_satisfied for field in explanation.fields)
    assert explanation.text()


@pytest.mark.parametrize(
    ("pattern", "path", "hint"),
    [
        ({"detail-type": ["Object created"]}, "detail-type", '"Object created": only the case differs'),
        ({"detail-type": ["Object Created "]}, "detail-type", '"Object Created ": only space around it differs'),
        ({"detail": {"bucket": {"name": ["other", "my-uploads"]}}}, "detail.bucket.name", '"my-uploads", the nearest'),
        ({"detail": {"object": {"size": [300]}}}, "detail.object.size", 'the number 300; the event has the text "300"'),
        ({"detail": {"object": {"size": [{"numeric": [">", 1]}]}}}, "detail.object.size", "only as a number"),
        ({"detail": {"object": {"key": [{"suffix": ".json"}]}}}, "detail.object.key", 'ends with ".json"'),
        ({"detail": {"objet": {"key": ["a"]}}}, "detail.objet.key", 'nearest key is "object"'),
        ({"bucket": {"name": ["x"]}}, "bucket.name", "The event has it at detail.bucket.name."),
        ({"detail": {"bucket": ["x"]}}, "detail.bucket", "holds an object"),
        ({"detail": {"tags": ["x"]}}, "detail.tags", "holds an empty array"),
        ({"source": {"name": ["x"]}}, "source.name", "source is no object"),
        ({"source": [{"exists": False}]}, "source", "if there were no source"),
    ],
)  # fmt: skip
def test_failing_field_is_named_with_what_would_mend_it(pattern: dict[str, Any], path: str, hint: str) -> None:
    explanation = explained(pattern)

    assert [field.path for field in explanation.fields if not field.is_satisfied] == [path]
    assert hint in explanation.fields[0].hint
    assert hint in explanation.text()


def test_fields_of_different_elements_are_noted() -> None:
    explanation = explained({"detail": {"items": {"sku": ["a"], "n": [2]}}})

    assert all(field.is_satisfied for field in explanation.fields)
    assert "not in the same element of an array" in explanation.text()


def test_nearest_alternative_is_explained() -> None:
    explanation = explained({"$or": [{"account": ["1"], "region": ["x"]}, {"source": ["aws.s3"], "id": ["1"]}]})

    assert [field.path for field in explanation.fields] == ["source", "id"]


def test_patterns_are_ranked_by_how_near_the_event_is() -> None:
    near = {"source": ["aws.s3"], "detail-type": ["Object Created"], "detail": {"bucket": {"name": ["my-uploads"]}}}
    wrong_type = {"source": ["aws.s3"], "detail-type": ["Order Placed"], "detail": {"bucket": {"name": ["x"]}}}
    foreign = {"source": ["shop"], "detail-type": ["Order Placed"], "detail": {"order": ["1"]}}

    nearness = [explained(pattern).nearness for pattern in (near, wrong_type, foreign)]

    assert nearness == sorted(nearness, reverse=True)
    assert len(set(nearness)) == 3


def test_long_values_are_cut() -> None:
    explanation = explained({"source": ["x"]}, {"source": "y" * 100_000})

    assert len(explanation.text()) < 1_000
