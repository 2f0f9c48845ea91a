"""What matches and what does not, above all AWS's own examples.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.languages.event_pattern import Matcher, matches, parse


def found(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    """What the definition and the matcher say; they must agree."""
    read = parse(json.dumps(pattern))
    matched = matches(read, event)
    assert Matcher.of({"p": read}).matching(event) == (frozenset({"p"}) if matched else frozenset())
    return matched


EC2 = {
    "version": "0",
    "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
    "detail-type": "EC2 Instance State-change Notification",
    "source": "aws.ec2",
    "account": "111122223333",
    "time": "2017-12-22T18:43:48Z",
    "region": "us-west-1",
    "resources": ["arn:aws:ec2:us-west-1:123456789012:instance/i-1234567890abcdef0"],
    "detail": {"instance-id": "i-1234567890abcdef0", "state": "terminated"},
}
AUTOSCALING = {"source": "aws.autoscaling", "resources": [], "detail": {"eventVersion": "", "responseElements": None}}


@pytest.mark.parametrize(
    ("pattern", "event"),
    [
        ({"source": ["aws.ec2"], "detail-type": [EC2["detail-type"]], "detail": {"state": ["terminated"]}}, EC2),
        ({"source": ["aws.ec2", "aws.fargate"]}, EC2),
        ({"detail": {"eventVersion": [""]}}, AUTOSCALING),
        ({"detail": {"responseElements": [None]}}, AUTOSCALING),
        ({"time": [{"prefix": "2017-12-22"}]}, EC2),
        ({"service": [{"prefix": {"equals-ignore-case": "EventB"}}]}, {"service": "eVENTBridge"}),
        ({"FileName": [{"suffix": ".png"}]}, {"FileName": "a.png"}),
        ({"FileName": [{"suffix": {"equals-ignore-case": ".png"}}]}, {"FileName": "a.PNG"}),
        ({"state": [{"anything-but": "initializing"}]}, {"state": "running"}),
        ({"x-limit": [{"anything-but": 123}]}, {"x-limit": 124}),
        ({"state": [{"anything-but": ["stopped", "overloaded"]}]}, {"state": "running"}),
        ({"x-limit": [{"anything-but": [100, 200, 300]}]}, {"x-limit": 150}),
        ({"state": [{"anything-but": {"equals-ignore-case": ["initializing", "stopped"]}}]}, {"state": "Running"}),
        ({"state": [{"anything-but": {"prefix": "init"}}]}, {"state": "stopped"}),
        ({"FileName": [{"anything-but": {"suffix": [".txt", ".rtf"]}}]}, {"FileName": "a.png"}),
        ({"FilePath": [{"anything-but": {"wildcard": "*/lib/*"}}]}, {"FilePath": "/bin/a"}),
        ({"c-count": [{"numeric": [">", 0, "<=", 5]}], "x": [{"numeric": ["=", 3.018e2]}]}, {"c-count": 5, "x": 301.8}),
        ({"sourceIPAddress": [{"cidr": "10.0.0.0/24"}]}, {"sourceIPAddress": "10.0.0.255"}),
        ({"state": [{"exists": True}]}, {"state": None}),
        ({"state": [{"exists": False}]}, {"other": 1}),
        ({"detail-type": [{"equals-ignore-case": "ec2 instance state-change notification"}]}, EC2),
        ({"EventBusArn": [{"wildcard": "*:us-east-1:*:event-bus/*"}]}, {"EventBusArn": "arn:us-east-1:1:event-bus/x"}),
        ({"Location": ["New York"], "Day": ["Monday"]}, {"Location": "New York", "Day": "Monday"}),
        ({"$or": [{"Location": ["New York"]}, {"Day": ["Monday"]}]}, {"Location": "Rome", "Day": "Monday"}),
        ({"resources": ["arn:b", "arn:c"]}, {"resources": ["arn:a", "arn:b"]}),
        ({"price": [{"anything-but": [100, 500]}]}, {"price": [100, 50]}),
    ],
)
def test_examples_of_aws_match(pattern: dict[str, Any], event: dict[str, Any]) -> None:
    assert found(pattern, event)


@pytest.mark.parametrize(
    ("pattern", "event"),
    [
        ({"detail": {"eventVersion": [None]}}, AUTOSCALING),
        ({"detail": {"responseElements": [""]}}, AUTOSCALING),
        ({"resources": [None]}, AUTOSCALING),
        ({"missing": [None]}, AUTOSCALING),
        ({"resources": [{"exists": True}]}, AUTOSCALING),
        ({"source": ["AWS.EC2"]}, EC2),
        ({"Source": ["aws.ec2"]}, EC2),
        ({"detail": [{"exists": True}]}, EC2),
        ({"state": [{"anything-but": "initializing"}]}, {"other": "running"}),
        ({"state": [{"anything-but": {"prefix": "init"}}]}, {"state": "initializing"}),
        ({"state": [{"anything-but": {"equals-ignore-case": "initializing"}}]}, {"state": "INITIALIZING"}),
        ({"FilePath": [{"anything-but": {"wildcard": ["*/lib/*", "*/bin/*"]}}]}, {"FilePath": "/a/bin/x"}),
        ({"price": [{"anything-but": [100, 500]}]}, {"price": [100, 500]}),
        ({"c-count": [{"numeric": [">", 0, "<=", 5]}]}, {"c-count": 0}),
        ({"c-count": [{"numeric": [">", 0]}]}, {"c-count": "1"}),
        ({"c-count": [{"numeric": [">=", 0]}]}, {"c-count": True}),
        ({"ip": [{"cidr": "10.0.0.0/24"}]}, {"ip": "10.0.1.0"}),
        ({"ip": [{"cidr": "10.0.0.0/24"}]}, {"ip": "::ffff:10.0.0.1"}),
        ({"ip": [{"cidr": "10.0.0.0/24"}]}, {"ip": 167772160}),
        ({"$or": [{"Location": ["New York"]}, {"Day": ["Monday"]}]}, {"Location": "Rome", "Day": "Friday"}),
        ({"n": ["300"]}, {"n": 300}),
        ({"n": [1]}, {"n": True}),
        ({"n": [False]}, {"n": 0}),
    ],
)
def test_what_is_not_asked_for_does_not_match(pattern: dict[str, Any], event: dict[str, Any]) -> None:
    assert not found(pattern, event)


@pytest.mark.parametrize("written", ["300", "300.0", "3.0e2", "3e+2"])
def test_numbers_match_however_they_are_written(written: str) -> None:
    matcher = Matcher.of({"exact": parse('{"n": [300]}'), "range": parse('{"n": [{"numeric": ["=", 300]}]}')})

    assert matcher.matching_json(f'{{"n": {written}}}') == {"exact", "range"}


def test_whole_numbers_of_64_bits_are_told_apart() -> None:
    matcher = Matcher.of({"big": parse('{"n": [9007199254740993]}')})

    assert matcher.matching_json('{"n": 9007199254740993}') == {"big"}
    assert matcher.matching_json('{"n": 9007199254740992}') == frozenset()


@pytest.mark.parametrize("value", [None, 7, True, "x"])
@pytest.mark.parametrize("name", ["prefix", "suffix", "equals-ignore-case", "wildcard"])
def test_anything_but_a_text_matches_all_other_kinds(name: str, value: object) -> None:
    assert found({"a": [{"anything-but": {name: "y"}}]}, {"a": value})


@pytest.mark.parametrize("name", ["prefix", "suffix"])
def test_every_text_begins_and_ends_with_the_empty_text(name: str) -> None:
    assert found({"a": [{name: ""}]}, {"a": "x"})
    assert not found({"a": [{name: ""}]}, {"a": 1})


@pytest.mark.parametrize(
    ("wildcard", "text", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("a*b", "a--b", True),
        ("a*b", "ab", True),
        ("a*a", "a", False),
        ("\\*", "*", True),
        ("\\*", "x", False),
        ("\\\\", "\\", True),
        ("*\\**", "a*b", True),
        ("*\\**", "ab", False),
        ("a?", "ab", False),
    ],
)
def test_wildcards_cover_the_whole_text(wildcard: str, text: str, expected: bool) -> None:
    assert found({"a": [{"wildcard": wildcard}]}, {"a": text}) is expected


ITEMS = {"items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}]}


class TestArrays:
    def test_fields_under_an_array_match_within_one_element(self) -> None:
        assert found({"items": {"sku": ["a"], "n": [1]}}, ITEMS)
        assert not found({"items": {"sku": ["a"], "n": [2]}}, ITEMS)

    def test_fields_under_different_arrays_match_apart(self) -> None:
        event = {"a": [{"x": 1}, {"x": 2}], "b": [{"x": 2}, {"x": 1}]}

        assert found({"a": {"x": [1]}, "b": {"x": [1]}}, event)

    def test_arrays_in_arrays_keep_their_elements_together(self) -> None:
        event = {"a": [{"t": 1, "b": [{"x": 1, "y": 1}]}, {"t": 2, "b": [{"x": 1, "y": 2}, {"x": 2, "y": 1}]}]}

        assert found({"a": {"t": [2], "b": {"x": [1], "y": [2]}}}, event)
        assert not found({"a": {"t": [1], "b": {"x": [1], "y": [2]}}}, event)
        assert not found({"a": {"b": {"x": [2], "y": [2]}}}, event)

    def test_absence_counts_beside_the_element_that_matches(self) -> None:
        event = {"items": [{"sku": "a"}, {"sku": "b", "n": 2}]}

        assert found({"items": {"sku": ["a"], "n": [{"exists": False}]}}, event)
        assert not found({"items": {"sku": ["b"], "n": [{"exists": False}]}}, event)

    def test_absence_alone_concerns_all_elements(self) -> None:
        assert not found({"items": {"n": [{"exists": False}]}}, {"items": [{"n": 1}, {"m": 1}]})
        assert found({"items": {"n": [{"exists": False}]}}, {"items": [{"m": 1}, {"m": 2}]})

    @pytest.mark.parametrize("value", [[], [[]], {}, {"x": 1}, [{"x": 1}]])
    def test_field_without_a_value_is_absent(self, value: object) -> None:
        assert found({"a": [{"exists": False}]}, {"a": value})
        assert not found({"a": [{"exists": True}]}, {"a": value})


class TestDots:
    @pytest.mark.parametrize("pattern", [{"d": {"s.t": ["x"]}}, {"d": {"s": {"t": ["x"]}}}, {"d.s.t": ["x"]}])
    @pytest.mark.parametrize(
        "event", [{"d": {"s.t": "x"}}, {"d": {"s": {"t": "x"}}}, {"d.s": {"t": "x"}}, {"d.s.t": "x"}]
    )
    def test_dots_in_keys_stand_for_nesting(self, pattern: dict[str, Any], event: dict[str, Any]) -> None:
        assert found(pattern, event)

    def test_key_with_a_dot_that_holds_an_object_has_no_value(self) -> None:
        assert not found({"d": {"s.t": [{"exists": True}]}}, {"d": {"s.t": {"u": "x"}}})

    def test_shorter_key_counts_where_a_path_is_written_twice(self) -> None:
        assert found({"a.b": [1]}, {"a": {"b": 1}, "a.b": 2})
        assert not found({"a.b": [2]}, {"a": {"b": 1}, "a.b": 2})
        assert found({"a.b": [2]}, {"a": {"c": 1}, "a.b": 2})


class TestOr:
    def test_alternatives_are_joined_with_the_fields_beside_them(self) -> None:
        pattern = {"s": ["x"], "$or": [{"a": [1]}, {"b": [1], "c": [1]}]}

        assert found(pattern, {"s": "x", "a": 1})
        assert found(pattern, {"s": "x", "b": 1, "c": 1})
        assert not found(pattern, {"s": "x", "b": 1})
        assert not found(pattern, {"a": 1})

    def test_alternatives_may_stand_in_alternatives(self) -> None:
        pattern = {"d": {"$or": [{"a": [1]}, {"$or": [{"b": [1]}, {"c": [{"exists": False}]}]}]}}

        assert found(pattern, {"d": {"c": 1, "b": 1}})
        assert found(pattern, {"d": {}})
        assert not found(pattern, {"d": {"c": 1, "a": 2}})

    @pytest.mark.parametrize("value", [["x", "y"], [{"prefix": "x"}], [{"prefix": "x"}, {"suffix": "y"}], ["x"]])
    def test_or_without_two_objects_of_fields_is_an_ordinary_field(self, value: list[Any]) -> None:
        assert found({"$or": value}, {"$or": "xy" if isinstance(value[0], dict) else "x"})
        assert not found({"$or": value}, {"x": "x"})
