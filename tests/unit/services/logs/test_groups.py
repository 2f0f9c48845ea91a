"""Log groups, their streams, tags and retention, as AWS documents them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.clock import DAY_MS
from redrive.core.errors import ServiceError
from redrive.core.knobs import Knobs
from redrive.testing.world import World

ARN = "arn:aws:logs:us-east-1:000000000000:log-group:"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


def create(world: World, *names: str, **params: object) -> None:
    for name in names:
        world.call("logs", "CreateLogGroup", logGroupName=name, **params)


def names(answer: dict[str, Any]) -> list[str]:
    return [group["logGroupName"] for group in answer["logGroups"]]


def refused(world: World, operation: str, **params: object) -> tuple[str, str]:
    with pytest.raises(ServiceError) as caught:
        world.call("logs", operation, **params)
    return caught.value.code, caught.value.message


NO_GROUP = ("ResourceNotFoundException", "The specified log group does not exist.")
NO_STREAM = ("ResourceNotFoundException", "The specified log stream does not exist.")


def test_group_is_described_as_it_was_created(world: World) -> None:
    create(world, "/aws/lambda/f", kmsKeyId="arn:key", logGroupClass="INFREQUENT_ACCESS")

    groups = world.client("logs").describe_log_groups()["logGroups"]

    assert groups == [
        {
            "logGroupName": "/aws/lambda/f",
            "creationTime": world.now,
            "metricFilterCount": 0,
            "arn": f"{ARN}/aws/lambda/f:*",
            "logGroupArn": f"{ARN}/aws/lambda/f",
            "storedBytes": 0,
            "kmsKeyId": "arn:key",
            "logGroupClass": "INFREQUENT_ACCESS",
            "deletionProtectionEnabled": False,
        }
    ]


def test_second_group_of_a_name_is_refused(world: World) -> None:
    create(world, "g")

    assert refused(world, "CreateLogGroup", logGroupName="g") == (
        "ResourceAlreadyExistsException",
        "The specified log group already exists",
    )


@pytest.mark.parametrize("params", [{"logGroupName": "AWS/mine"}, {"logGroupName": "g", "tags": {"aws:x": "1"}}])
def test_names_and_tags_of_aws_are_refused(world: World, params: dict[str, object]) -> None:
    assert refused(world, "CreateLogGroup", **params)[0] == "InvalidParameterException"
    assert world.call("logs", "DescribeLogGroups")["logGroups"] == []


def test_groups_are_listed_by_name_in_pages(world: World) -> None:
    create(world, "b/1", "a", "b/2", "c")

    first = world.call("logs", "DescribeLogGroups", limit=2)
    second = world.call("logs", "DescribeLogGroups", limit=2, nextToken=first["nextToken"])

    assert (names(first), names(second)) == (["a", "b/1"], ["b/2", "c"])
    assert second.get("nextToken") is None


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"logGroupNamePrefix": "b/"}, ["b/1", "b/2"]),
        ({"logGroupNamePattern": "2"}, ["b/2"]),
        ({"logGroupIdentifiers": ["a", f"{ARN}b/1"]}, ["a", "b/1"]),
        ({"logGroupClass": "STANDARD"}, ["a", "b/1", "b/2"]),
        ({"logGroupClass": "ESSENTIALS"}, ["cheap"]),
        ({"includeLinkedAccounts": True, "accountIdentifiers": ["111111111111"]}, []),
    ],
)
def test_only_the_wanted_groups_are_listed(world: World, params: dict[str, object], expected: list[str]) -> None:
    create(world, "a", "b/1", "b/2")
    create(world, "cheap", logGroupClass="INFREQUENT_ACCESS")

    assert names(world.call("logs", "DescribeLogGroups", **params)) == expected


@pytest.mark.parametrize(
    "params",
    [
        {"logGroupNamePrefix": "a", "logGroupNamePattern": "a"},
        {"logGroupIdentifiers": ["a"], "logGroupNamePrefix": "a"},
        {"nextToken": "nonsense"},
        {"nextToken": "e30="},
    ],
)
def test_contradictory_filters_and_foreign_tokens_are_refused(world: World, params: dict[str, object]) -> None:
    assert refused(world, "DescribeLogGroups", **params)[0] == "InvalidParameterException"


def test_deleted_group_is_gone_with_its_streams_and_a_new_one_is_empty(world: World) -> None:
    create(world, "g")
    world.call("logs", "CreateLogStream", logGroupName="g", logStreamName="s")
    world.call(
        "logs",
        "PutLogEvents",
        logGroupName="g",
        logStreamName="s",
        logEvents=[{"timestamp": world.now, "message": "m"}],
    )

    world.call("logs", "DeleteLogGroup", logGroupName="g")
    create(world, "g")

    assert world.call("logs", "DescribeLogStreams", logGroupName="g")["logStreams"] == []
    assert world.call("logs", "FilterLogEvents", logGroupName="g")["events"] == []


def test_protected_group_is_deleted_only_after_protection_is_taken_away(world: World) -> None:
    create(world, "g", deletionProtectionEnabled=True)
    world.call("logs", "CreateLogStream", logGroupName="g", logStreamName="s")

    group = refused(world, "DeleteLogGroup", logGroupName="g")
    stream = refused(world, "DeleteLogStream", logGroupName="g", logStreamName="s")
    world.call("logs", "PutLogGroupDeletionProtection", logGroupIdentifier="g", deletionProtectionEnabled=False)
    world.call("logs", "DeleteLogGroup", logGroupName="g")

    assert (group[0], stream[0]) == ("ValidationException", "ValidationException")


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("DeleteLogGroup", {"logGroupName": "none"}),
        ("PutLogGroupDeletionProtection", {"logGroupIdentifier": "none", "deletionProtectionEnabled": True}),
        ("PutRetentionPolicy", {"logGroupName": "none", "retentionInDays": 1}),
        ("DeleteRetentionPolicy", {"logGroupName": "none"}),
        ("CreateLogStream", {"logGroupName": "none", "logStreamName": "s"}),
        ("DeleteLogStream", {"logGroupName": "none", "logStreamName": "s"}),
        ("DescribeLogStreams", {"logGroupName": "none"}),
        (
            "PutLogEvents",
            {"logGroupName": "none", "logStreamName": "s", "logEvents": [{"timestamp": 1, "message": "m"}]},
        ),
        ("GetLogEvents", {"logGroupName": "none", "logStreamName": "s"}),
        ("FilterLogEvents", {"logGroupIdentifier": f"{ARN}none"}),
        ("TagResource", {"resourceArn": f"{ARN}none", "tags": {"a": "b"}}),
        ("UntagResource", {"resourceArn": f"{ARN}none", "tagKeys": ["a"]}),
        ("ListTagsForResource", {"resourceArn": "arn:aws:logs:eu-west-1:111111111111:log-group:g"}),
        ("TagLogGroup", {"logGroupName": "none", "tags": {"a": "b"}}),
        ("UntagLogGroup", {"logGroupName": "none", "tags": ["a"]}),
        ("ListTagsLogGroup", {"logGroupName": "none"}),
    ],
)
def test_group_that_does_not_exist_is_not_found(world: World, operation: str, params: dict[str, object]) -> None:
    assert refused(world, operation, **params) == NO_GROUP


@pytest.mark.parametrize(
    "params", [{}, {"logGroupName": "g", "logGroupIdentifier": "g"}, {"logGroupIdentifier": "arn:x"}]
)
def test_group_is_named_exactly_once(world: World, params: dict[str, object]) -> None:
    create(world, "g")

    assert refused(world, "DescribeLogStreams", **params)[0] == "InvalidParameterException"


def test_retention_is_one_of_awss_numbers_of_days(world: World) -> None:
    create(world, "g")

    code, message = refused(world, "PutRetentionPolicy", logGroupName="g", retentionInDays=2)
    world.call("logs", "PutRetentionPolicy", logGroupName="g", retentionInDays=3)
    shown = world.call("logs", "DescribeLogGroups")["logGroups"][0]["retentionInDays"]
    world.call("logs", "DeleteRetentionPolicy", logGroupName="g")

    assert code == "InvalidParameterException"
    assert "Value '2' at 'retentionInDays'" in message
    assert shown == 3
    assert world.call("logs", "DescribeLogGroups")["logGroups"][0]["retentionInDays"] is None


def test_tags_are_added_replaced_and_taken_away(world: World) -> None:
    create(world, "g", tags={"a": "1", "b": "1"})
    logs = world.client("logs")

    logs.tag_resource(resourceArn=f"{ARN}g", tags={"b": "2", "c": "3"})
    logs.untag_resource(resourceArn=f"{ARN}g", tagKeys=["a", "unknown"])
    by_arn = logs.list_tags_for_resource(resourceArn=f"{ARN}g")["tags"]
    logs.tag_log_group(logGroupName="g", tags={"d": "4"})
    logs.untag_log_group(logGroupName="g", tags=["b"])

    assert by_arn == {"b": "2", "c": "3"}
    assert logs.list_tags_log_group(logGroupName="g")["tags"] == {"c": "3", "d": "4"}


def test_group_has_fifty_tags_at_most(world: World) -> None:
    create(world, "g", tags={f"k{number}": "" for number in range(50)})

    assert refused(world, "TagResource", resourceArn=f"{ARN}g", tags={"k50": ""})[0] == "TooManyTagsException"
    world.call("logs", "TagResource", resourceArn=f"{ARN}g", tags={"k49": "replaced"})


def test_arn_of_something_else_has_no_tags(world: World) -> None:
    arn = "arn:aws:logs:us-east-1:000000000000:destination:d"

    assert refused(world, "ListTagsForResource", resourceArn=arn)[0] == "InvalidParameterException"


def test_stream_is_created_once_and_deleted_with_its_events(world: World) -> None:
    create(world, "g")
    world.call("logs", "CreateLogStream", logGroupName="g", logStreamName="s")

    again = refused(world, "CreateLogStream", logGroupName="g", logStreamName="s")
    world.call("logs", "DeleteLogStream", logGroupName="g", logStreamName="s")

    assert again == ("ResourceAlreadyExistsException", "The specified log stream already exists")
    assert refused(world, "DeleteLogStream", logGroupName="g", logStreamName="s") == NO_STREAM


def streams(world: World, **params: object) -> tuple[list[str], str | None]:
    answer = world.call("logs", "DescribeLogStreams", logGroupName="g", **params)
    return [stream["logStreamName"] for stream in answer["logStreams"]], answer.get("nextToken")


def with_streams(world: World, **event_ages_ms: int | None) -> None:
    create(world, "g")
    for name, age_ms in event_ages_ms.items():
        world.call("logs", "CreateLogStream", logGroupName="g", logStreamName=name)
        if age_ms is not None:
            events = [{"timestamp": world.now - age_ms, "message": "m"}]
            world.call("logs", "PutLogEvents", logGroupName="g", logStreamName=name, logEvents=events)


def test_streams_are_listed_by_name_in_pages_both_ways(world: World) -> None:
    with_streams(world, b=None, a=None, c=None)

    first, token = streams(world, limit=2)
    second, end = streams(world, limit=2, nextToken=token)
    downwards, down_token = streams(world, descending=True, limit=1)
    below, _ = streams(world, descending=True, nextToken=down_token)

    assert (first, second, end) == (["a", "b"], ["c"], None)
    assert (downwards, below) == (["c"], ["b", "a"])


def test_streams_are_listed_by_the_time_of_their_last_event(world: World) -> None:
    with_streams(world, old=3_000, new=1_000, empty=None)

    newest, token = streams(world, orderBy="LastEventTime", descending=True, limit=1)
    others, _ = streams(world, orderBy="LastEventTime", descending=True, nextToken=token)

    assert (newest, others) == (["new"], ["old", "empty"])


def test_prefix_goes_with_the_order_by_name_alone(world: World) -> None:
    with_streams(world, aa=None, ab=None, b=None)

    assert streams(world, logStreamNamePrefix="a")[0] == ["aa", "ab"]
    assert refused(world, "DescribeLogStreams", logGroupName="g", orderBy="LastEventTime", logStreamNamePrefix="a") == (
        "InvalidParameterException",
        "Cannot order by LastEventTime with a logStreamNamePrefix.",
    )


def test_stream_tells_of_its_events(world: World) -> None:
    with_streams(world, s=5_000)
    world.advance(seconds=1)
    events = [{"timestamp": world.now - 3_000, "message": "m"}]
    world.call("logs", "PutLogEvents", logGroupName="g", logStreamName="s", logEvents=events)

    (stream,) = world.call("logs", "DescribeLogStreams", logGroupName="g")["logStreams"]

    assert stream["firstEventTimestamp"] == world.now - 6_000
    assert stream["lastEventTimestamp"] == world.now - 3_000
    assert stream["lastIngestionTime"] == world.now
    assert stream["arn"] == f"{ARN}g:log-stream:s"
    assert (len(stream["uploadSequenceToken"]), stream["storedBytes"]) == (56, 0)
    assert world.call("logs", "DescribeLogGroups")["logGroups"][0]["storedBytes"] == 2 * 27


def test_expired_events_are_swept_within_an_hour(world: World) -> None:
    """Events older than the retention go; younger ones, and those of groups without retention, stay."""
    create(world, "kept")
    world.call("logs", "CreateLogStream", logGroupName="kept", logStreamName="s")
    with_streams(world, s=0)
    world.call("logs", "PutRetentionPolicy", logGroupName="g", retentionInDays=1)
    events = [{"timestamp": world.now, "message": "m"}]
    world.call("logs", "PutLogEvents", logGroupName="kept", logStreamName="s", logEvents=events)
    world.advance(hours=12)
    young = world.now
    events = [{"timestamp": young, "message": "young"}]
    world.call("logs", "PutLogEvents", logGroupName="g", logStreamName="s", logEvents=events)

    world.advance(hours=13)

    found = world.call("logs", "FilterLogEvents", logGroupName="g")["events"]
    (stream,) = world.call("logs", "DescribeLogStreams", logGroupName="g")["logStreams"]
    groups = world.call("logs", "DescribeLogGroups")["logGroups"]
    assert [event["message"] for event in found] == ["young"]
    assert stream["firstEventTimestamp"] == young
    assert len(world.call("logs", "FilterLogEvents", logGroupName="kept")["events"]) == 1
    assert [(group["logGroupName"], group["storedBytes"]) for group in groups] == [("g", 31), ("kept", 27)]


def test_sweep_ends_when_no_group_expires_any_more(world: World) -> None:
    create(world, "g")
    world.call("logs", "PutRetentionPolicy", logGroupName="g", retentionInDays=1)
    world.call("logs", "DeleteRetentionPolicy", logGroupName="g")

    world.advance_to(world.now + DAY_MS)

    assert world.store.run(lambda tx: tx.timers.next("logs.retention")) is None


def test_sweep_of_many_events_goes_on_until_all_are_gone() -> None:
    world = World(knobs=Knobs(rows_swept_per_claim=2))
    with_streams(world, s=0)
    events = [{"timestamp": world.now, "message": "m"}] * 6
    world.call("logs", "PutLogEvents", logGroupName="g", logStreamName="s", logEvents=events)
    world.call("logs", "PutRetentionPolicy", logGroupName="g", retentionInDays=1)

    world.advance(hours=26)

    (stream,) = world.call("logs", "DescribeLogStreams", logGroupName="g")["logStreams"]
    assert world.call("logs", "FilterLogEvents", logGroupName="g")["events"] == []
    assert stream.get("firstEventTimestamp") is None
    assert world.call("logs", "DescribeLogGroups")["logGroups"][0]["storedBytes"] == 0
