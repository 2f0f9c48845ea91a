"""Metric filters and subscription filters: what they do with events, in the transaction that takes the events."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.clock import HOUR_MS
from redrive.core.errors import ServiceError
from redrive.testing.world import World

CODE = "import json\ndef handler(event, context):\n    print('got ' + json.dumps(event))\n"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("logs", "CreateLogGroup", logGroupName="g")
    world.call("logs", "CreateLogStream", logGroupName="g", logStreamName="s")
    yield world
    world.close()


def put(world: World, *messages: str, at: int = 0) -> None:
    events = [{"timestamp": world.now + at, "message": text} for text in messages]
    world.call("logs", "PutLogEvents", logGroupName="g", logStreamName="s", logEvents=events)


def filter_metric(world: World, pattern: str, name: str = "f", **transformation: object) -> None:
    made = {"metricName": "M", "metricNamespace": "N", "metricValue": "1", **transformation}
    world.call(
        "logs",
        "PutMetricFilter",
        logGroupName="g",
        filterName=name,
        filterPattern=pattern,
        metricTransformations=[made],
    )


def points(world: World, **dimensions: str) -> list[tuple[float, float]]:
    """The sum and the count of each minute of the metric."""
    found = world.call(
        "cloudwatch", "GetMetricStatistics", Namespace="N", MetricName="M", StartTime=world.now - HOUR_MS,
        EndTime=world.now + 120_000, Period=60, Statistics=["Sum", "SampleCount"],
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
    )["Datapoints"]  # fmt: skip
    return [(point["Sum"], point["SampleCount"]) for point in sorted(found, key=lambda one: one["Timestamp"])]


def refused(world: World, operation: str, **params: object) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        world.call("logs", operation, **params)
    return caught.value


def test_each_match_is_a_data_point_at_the_time_of_its_event(world: World) -> None:
    put(world, "ERROR before the filter")
    filter_metric(world, "ERROR")

    put(world, "ERROR one", "fine", "ERROR two")
    put(world, "ERROR early", at=-600_000)

    assert points(world) == [(1.0, 1.0), (2.0, 2.0)]


def test_values_and_dimensions_come_from_fields(world: World) -> None:
    filter_metric(world, "{ $.ms > 0 }", metricValue="$.ms", dimensions={"Path": "$.path"}, unit="Milliseconds")

    put(world, '{"ms": 5, "path": "/a"}', '{"ms": 7.5, "path": "/a"}', '{"ms": 1, "path": "/b"}', '{"ms": 9}')
    filter_metric(world, "[ip, ..., bytes]", "spaces", metricValue="$bytes", metricName="B")
    put(world, '10.0.0.1 - [now] "GET /" 12', "10.0.0.1 - many")

    assert points(world, Path="/a") == [(12.5, 2.0)]
    assert points(world, Path="/b") == [(1.0, 1.0)]
    assert points(world) == []
    listed = world.call("cloudwatch", "ListMetrics", MetricName="B")["Metrics"]
    assert len(listed) == 1


def test_default_is_published_once_for_a_minute_without_a_match(world: World) -> None:
    filter_metric(world, "ERROR", defaultValue=0)

    put(world, "fine")
    put(world, "fine")
    world.advance(minutes=1)
    put(world, "ERROR", "fine")
    world.advance(minutes=1)
    world.advance(minutes=1)
    put(world, "fine")

    assert points(world) == [(0.0, 1.0), (1.0, 1.0), (0.0, 1.0)]


def test_metric_filters_are_shown_replaced_and_deleted(world: World) -> None:
    filter_metric(world, "a", "b")
    filter_metric(world, "a", "a", defaultValue=0)
    filter_metric(world, "z", "b", unit="Count")

    shown = world.call("logs", "DescribeMetricFilters", logGroupName="g")["metricFilters"]
    by_metric = world.call("logs", "DescribeMetricFilters", metricName="M", metricNamespace="N", limit=1)
    group = world.call("logs", "DescribeLogGroups")["logGroups"][0]
    world.call("logs", "DeleteMetricFilter", logGroupName="g", filterName="a")

    assert [(one["filterName"], one["filterPattern"]) for one in shown] == [("a", "a"), ("b", "z")]
    assert shown[0]["metricTransformations"] == [
        {"metricName": "M", "metricNamespace": "N", "metricValue": "1", "defaultValue": 0.0}
    ]
    assert by_metric["nextToken"]
    assert group["metricFilterCount"] == 2
    assert refused(world, "DeleteMetricFilter", logGroupName="g", filterName="a").code == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("pattern", "transformation", "told"),
    [
        ("{ $.a = 1 }", {"dimensions": {"A": "$.a"}, "defaultValue": 0.0}, "mutually exclusive"),
        ("a", {"metricValue": "x"}, "metricValue is a number"),
        ("[a, b]", {"metricValue": "$c"}, "the pattern has no field $c"),
        ("a", {"dimensions": {"A": "$.a"}}, "the pattern has no field"),
        ("{ $.a = 1 }", {"dimensions": {"A": "fixed"}}, "the value of a dimension is a field"),
        ("{ $.a = }", {}, "Invalid filter pattern"),
    ],
)
def test_transformations_that_cannot_be_are_refused(
    world: World, pattern: str, transformation: dict[str, object], told: str
) -> None:
    made = {"metricName": "M", "metricNamespace": "N", "metricValue": "1", **transformation}

    error = refused(
        world, "PutMetricFilter", logGroupName="g", filterName="f", filterPattern=pattern, metricTransformations=[made]
    )

    assert error.code == "InvalidParameterException"
    assert told in error.message


def test_trying_a_metric_filter_shows_what_it_takes_out(world: World) -> None:
    lines = ['1.1.1.1 - "GET /a" 404 12', "nothing here", '2.2.2.2 - "GET /b" 200 1']

    spaces = world.call("logs", "TestMetricFilter", filterPattern="[ip, user, r, s=4*, b]", logEventMessages=lines)
    nested = world.call("logs", "TestMetricFilter", filterPattern="{ $.a.b = 1 }", logEventMessages=['{"a": {"b": 1}}'])

    assert spaces["matches"] == [
        {
            "eventNumber": 1, "eventMessage": lines[0],
            "extractedValues": {"$ip": "1.1.1.1", "$user": "-", "$r": "GET /a", "$s": "404", "$b": "12"},
        }
    ]  # fmt: skip
    assert nested["matches"][0]["extractedValues"] == {"$.a.b": "1"}


def role(world: World, service: str, *actions: str) -> str:
    """A role that a service may assume; answers its ARN."""
    name = service.partition(".")[0]
    trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    world.call("iam", "CreateRole", RoleName=name, AssumeRolePolicyDocument=document)
    if actions:
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        world.call("iam", "PutRolePolicy", RoleName=name, PolicyName="allowed", PolicyDocument=policy)
    return f"arn:aws:iam::{world.caller().account}:role/{name}"


def function(world: World, name: str = "f") -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", CODE)
    arn = world.call(
        "lambda", "CreateFunction", FunctionName=name, Runtime="python3.12", Handler="app.handler",
        Role=role(world, "lambda.amazonaws.com", "logs:*"), Code={"ZipFile": packed.getvalue()},
    )["FunctionArn"]  # fmt: skip
    return str(arn)


def allow(world: World, arn: str) -> None:
    account, region = arn.split(":")[4], arn.split(":")[3]
    world.call(
        "lambda", "AddPermission", FunctionName=arn, StatementId="logs", Action="lambda:InvokeFunction",
        Principal="logs.amazonaws.com", SourceArn=f"arn:aws:logs:{region}:{account}:log-group:g:*",
    )  # fmt: skip


def subscribe(world: World, arn: str, pattern: str = "ERROR", name: str = "sub", **params: object) -> None:
    world.call(
        "logs", "PutSubscriptionFilter", logGroupName="g", filterName=name, filterPattern=pattern, destinationArn=arn,
        **params,
    )  # fmt: skip


def logged(world: World, name: str = "f") -> list[dict[str, Any]]:
    """The payloads that a function has got, unpacked."""
    found = world.call("logs", "FilterLogEvents", logGroupName=f"/aws/lambda/{name}", filterPattern="got")["events"]
    events = [json.loads(event["message"].removeprefix("got ")) for event in found]
    return [json.loads(gzip.decompress(base64.b64decode(event["awslogs"]["data"]))) for event in events]


def records(world: World) -> list[dict[str, Any]]:
    """What the stream `k` has got, unpacked, each with the key of its partition."""
    shard = world.call("kinesis", "ListShards", StreamName="k")["Shards"][0]["ShardId"]
    iterator = world.call(
        "kinesis", "GetShardIterator", StreamName="k", ShardId=shard, ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    found = world.call("kinesis", "GetRecords", ShardIterator=iterator)["Records"]
    return [{**json.loads(gzip.decompress(record["Data"])), "key": record["PartitionKey"]} for record in found]


def test_function_gets_what_matches_and_nothing_else(world: World) -> None:
    arn = function(world)
    allow(world, arn)
    subscribe(world, arn)

    put(world, "ERROR one", "fine", "ERROR two")
    world.settle()

    (got,) = logged(world)
    assert [event["message"] for event in got["logEvents"]] == ["ERROR one", "ERROR two"]
    assert got["messageType"] == "DATA_MESSAGE"
    assert (got["logGroup"], got["logStream"], got["subscriptionFilters"]) == ("g", "s", ["sub"])
    assert got["owner"] == world.caller().account


def test_function_without_permission_is_refused_and_one_that_lost_it_is_tried_again(world: World) -> None:
    arn = function(world)

    early = refused(
        world, "PutSubscriptionFilter", logGroupName="g", filterName="s", filterPattern="", destinationArn=arn
    )
    allow(world, arn)
    subscribe(world, arn)
    world.call("lambda", "RemovePermission", FunctionName=arn, StatementId="logs")
    put(world, "ERROR")
    world.advance(minutes=30)
    account, region = arn.split(":")[4], arn.split(":")[3]
    group_arn = f"arn:aws:logs:{region}:{account}:log-group:g:*"
    waiting = world.store.run(lambda tx: tx.deliveries.count_of_source("logs.subscription", group_arn))
    allow(world, arn)
    world.advance(minutes=15)

    assert early.message.startswith("Could not execute the lambda function.")
    assert waiting == 1
    assert len(logged(world)) == 1


def test_stream_gets_a_control_message_and_then_records_under_the_role(world: World) -> None:
    world.call("kinesis", "CreateStream", StreamName="k", ShardCount=1)
    world.advance(seconds=60)
    arn = world.call("kinesis", "DescribeStreamSummary", StreamName="k")["StreamDescriptionSummary"]["StreamARN"]
    acting = role(world, "logs.amazonaws.com", "kinesis:PutRecord")

    subscribe(world, arn, roleArn=acting)
    put(world, "ERROR one")
    world.settle()

    messages = records(world)
    assert [one["messageType"] for one in messages] == ["CONTROL_MESSAGE", "DATA_MESSAGE"]
    assert [event["message"] for event in messages[1]["logEvents"]] == ["ERROR one"]
    assert messages[1]["key"] == "s"


def test_destination_takes_logs_of_the_accounts_that_its_policy_allows(world: World) -> None:
    world.call("kinesis", "CreateStream", StreamName="k", ShardCount=1)
    world.advance(seconds=60)
    stream = world.call("kinesis", "DescribeStreamSummary", StreamName="k")["StreamDescriptionSummary"]["StreamARN"]
    acting = role(world, "logs.amazonaws.com", "kinesis:PutRecord")
    made = world.call("logs", "PutDestination", destinationName="d", targetArn=stream, roleArn=acting)["destination"]
    theirs = world.client("logs", account="111111111111")
    theirs.create_log_group(logGroupName="app")
    theirs.create_log_stream(logGroupName="app", logStreamName="s")
    given = {"logGroupName": "app", "filterName": "f", "filterPattern": "ERROR", "destinationArn": made["arn"]}

    with pytest.raises(theirs.exceptions.ClientError) as before:
        theirs.put_subscription_filter(**given)
    allowed = {
        "Effect": "Allow", "Principal": {"AWS": "111111111111"}, "Action": "logs:PutSubscriptionFilter",
        "Resource": made["arn"],
    }  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    world.call("logs", "PutDestinationPolicy", destinationName="d", accessPolicy=document)
    theirs.put_subscription_filter(**given)
    event = {"timestamp": world.now, "message": "ERROR there"}
    theirs.put_log_events(logGroupName="app", logStreamName="s", logEvents=[event])
    world.settle()
    other = world.client("logs", account="222222222222")
    other.create_log_group(logGroupName="app")
    with pytest.raises(other.exceptions.ClientError) as third:
        other.put_subscription_filter(**given)

    assert before.value.response["Error"]["Code"] == "AccessDeniedException"
    assert third.value.response["Error"]["Code"] == "AccessDeniedException"
    (got,) = [one for one in records(world) if one["messageType"] == "DATA_MESSAGE"]
    assert (got["owner"], got["logGroup"]) == ("111111111111", "app")
    assert [one["message"] for one in got["logEvents"]] == ["ERROR there"]


def test_destinations_that_cannot_be_are_refused(world: World) -> None:
    given: dict[str, object] = {"logGroupName": "g", "filterName": "x", "filterPattern": ""}
    foreign = "arn:aws:lambda:us-east-1:999999999999:function:f"
    stream = "arn:aws:kinesis:us-east-1:000000000000:stream/gone"
    firehose = "arn:aws:firehose:us-east-1:000000000000:deliverystream/d"

    codes = [
        refused(world, "PutSubscriptionFilter", **{**given, "logGroupName": "gone"}, destinationArn=foreign).code,
        refused(world, "PutSubscriptionFilter", **given, destinationArn=stream).message,
        refused(world, "PutSubscriptionFilter", **given, destinationArn=firehose).message,
        refused(world, "DeleteSubscriptionFilter", logGroupName="g", filterName="x").message,
    ]

    assert codes == [
        "AccessDeniedException",
        "destinationArn for vendor kinesis cannot be used without roleArn",
        "redrive does not serve Firehose, so no subscription can send to it.",
        "The specified subscription filter does not exist.",
    ]


def test_group_has_two_subscriptions_and_takes_them_along(world: World) -> None:
    arn = function(world)
    allow(world, arn)
    subscribe(world, arn, name="a")
    subscribe(world, arn, name="b")

    error = refused(
        world, "PutSubscriptionFilter", logGroupName="g", filterName="c", filterPattern="", destinationArn=arn
    )
    shown = world.call("logs", "DescribeSubscriptionFilters", logGroupName="g")["subscriptionFilters"]
    world.call("logs", "DeleteLogGroup", logGroupName="g")
    world.call("logs", "CreateLogGroup", logGroupName="g")

    assert error.code == "LimitExceededException"
    assert [(one["filterName"], one["distribution"]) for one in shown] == [("a", "ByLogStream"), ("b", "ByLogStream")]
    assert world.call("logs", "DescribeSubscriptionFilters", logGroupName="g")["subscriptionFilters"] == []


def test_events_and_promises_are_one_commit(world: World) -> None:
    """A step that fails after the events were taken leaves neither events nor deliveries behind."""
    arn = function(world)
    allow(world, arn)
    subscribe(world, arn)

    class Lost(Exception):
        pass

    events = [{"timestamp": world.now, "message": "ERROR"}]

    def step(tx: Any) -> None:
        params = {"logGroupName": "g", "logStreamName": "s", "logEvents": events}
        tx.services.call(tx, world.caller(), "logs", "PutLogEvents", params)
        raise Lost

    with pytest.raises(Lost):
        world.store.run(step)
    world.settle()

    assert world.call("logs", "FilterLogEvents", logGroupName="g")["events"] == []
    assert refused(world, "FilterLogEvents", logGroupName="/aws/lambda/f").code == "ResourceNotFoundException"


def test_live_tail_sends_what_comes_each_second_until_three_hours_are_over(world: World) -> None:
    arn = world.call("logs", "DescribeLogGroups")["logGroups"][0]["logGroupArn"]
    put(world, "ERROR before")
    entry = world.engine.registry

    first: Any = world.store.run(
        lambda tx: entry.begin(
            tx, world.caller(), "logs", "StartLiveTail",
            {"logGroupIdentifiers": [arn], "logEventFilterPattern": "ERROR"},
        )
    )  # fmt: skip
    put(world, "ERROR now", "fine")
    world.advance(seconds=1)
    second: Any = world.store.run(first.more.resume)
    world.advance(seconds=1)
    third: Any = world.store.run(second.more.resume)
    world.advance(hours=3)
    with pytest.raises(ServiceError) as ended:
        world.store.run(third.more.resume)

    assert list(first.events[0]) == ["sessionStart"]
    (update,) = second.events
    assert [event["message"] for event in update["sessionUpdate"]["sessionResults"]] == ["ERROR now"]
    assert third.events[0]["sessionUpdate"] == {"sessionMetadata": {"sampled": False}, "sessionResults": []}
    assert ended.value.code == "SessionTimeoutException"
