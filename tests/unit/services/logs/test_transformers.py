"""Transformers of groups and accounts: who sees what events become. And the account's subscription."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.testing.world import World
from tests.unit.services.logs.test_filters import filter_metric, points, put, records, refused, role

CONFIG: list[dict[str, Any]] = [
    {"grok": {"match": "%{WORD:method} %{NOTSPACE:path} %{INT:took}"}},
    {"typeConverter": {"entries": [{"key": "took", "type": "integer"}]}},
    {"copyValue": {"entries": [{"source": "@logGroupStream", "target": "from"}]}},
]
MADE = '{"method":"GET","path":"/a","took":31,"from":"s"}'


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("logs", "CreateLogGroup", logGroupName="g")
    world.call("logs", "CreateLogStream", logGroupName="g", logStreamName="s")
    yield world
    world.close()


def transform(world: World) -> None:
    world.call("logs", "PutTransformer", logGroupIdentifier="g", transformerConfig=CONFIG)


def query(world: World, text: str) -> list[dict[str, str]]:
    """The rows of a query over all that there is."""
    second = world.now // 1000
    started = world.call(
        "logs", "StartQuery", logGroupName="g", queryString=text, startTime=second - 3600, endTime=second + 3600
    )
    world.settle()
    found = world.call("logs", "GetQueryResults", queryId=started["queryId"])["results"]
    return [{cell["field"]: cell["value"] for cell in row if cell["field"] != "@ptr"} for row in found]


def policy(world: World, kind: str, document: object, name: str = "p", **params: object) -> None:
    world.call(
        "logs", "PutAccountPolicy", policyName=name, policyType=kind, policyDocument=json.dumps(document), **params
    )


def stream(world: World) -> tuple[str, str]:
    """A stream of Kinesis and a role that may write to it: their ARNs."""
    world.call("kinesis", "CreateStream", StreamName="k", ShardCount=1)
    world.advance(seconds=60)
    arn = world.call("kinesis", "DescribeStreamSummary", StreamName="k")["StreamDescriptionSummary"]["StreamARN"]
    return str(arn), role(world, "logs.amazonaws.com", "kinesis:PutRecord")


def sent(world: World) -> list[dict[str, Any]]:
    """What the stream has got, without control messages."""
    world.settle()
    return [one for one in records(world) if one["messageType"] == "DATA_MESSAGE"]


def test_queries_see_the_fields_of_transformed_events_and_the_message_as_it_came(world: World) -> None:
    put(world, "GET /before 9")
    transform(world)
    put(world, "GET /a 31", "does not fit")

    rows = query(world, "fields @message, path, took, from | filter took > 30 or not ispresent(took) | sort took desc")
    by_text = query(world, 'filter path = "/a" | stats count() as n by method')
    (found,) = world.call("logs", "FilterLogEvents", logGroupName="g", filterPattern="31")["events"]

    assert [row["@message"] for row in rows] == ["GET /a 31", "does not fit", "GET /before 9"]
    assert rows[0] == {"@message": "GET /a 31", "path": "/a", "took": "31", "from": "s"}
    assert by_text == [{"method": "GET", "n": "1"}]
    assert found["message"] == "GET /a 31"


def test_metric_filter_reads_transformed_events_where_it_is_to(world: World) -> None:
    early = refused(
        world, "PutMetricFilter", logGroupName="g", filterName="x", filterPattern="", applyOnTransformedLogs=True,
        metricTransformations=[{"metricName": "M", "metricNamespace": "N", "metricValue": "1"}],
    )  # fmt: skip
    transform(world)
    made = {"metricName": "M", "metricNamespace": "N", "metricValue": "$.took"}
    world.call(
        "logs", "PutMetricFilter", logGroupName="g", filterName="f", filterPattern="{ $.took > 30 }",
        metricTransformations=[made], applyOnTransformedLogs=True,
    )  # fmt: skip
    filter_metric(world, "{ $.took > 30 }", "plain", metricName="Plain")

    put(world, "GET /a 31", "GET /b 30", "does not fit")

    assert early.code == "InvalidParameterException"
    assert points(world) == [(31.0, 1.0)]
    shown = world.call("logs", "DescribeMetricFilters", logGroupName="g")["metricFilters"]
    assert [(one["filterName"], one["applyOnTransformedLogs"]) for one in shown] == [("f", True), ("plain", False)]


def test_subscription_sends_transformed_events_where_it_is_to(world: World) -> None:
    arn, acting = stream(world)
    transform(world)
    world.call(
        "logs", "PutSubscriptionFilter", logGroupName="g", filterName="f", filterPattern='{ $.path = "/a" }',
        destinationArn=arn, roleArn=acting, applyOnTransformedLogs=True,
    )  # fmt: skip

    put(world, "GET /a 31", "GET /b 30")

    (got,) = sent(world)
    assert [event["message"] for event in got["logEvents"]] == [MADE]


def test_transformer_is_shown_replaced_and_deleted(world: World) -> None:
    transform(world)
    first = world.call("logs", "GetTransformer", logGroupIdentifier="g")
    world.advance(minutes=1)
    world.call("logs", "PutTransformer", logGroupIdentifier="g", transformerConfig=CONFIG[:1])
    second = world.call("logs", "GetTransformer", logGroupIdentifier=first["logGroupIdentifier"])
    world.call("logs", "DeleteTransformer", logGroupIdentifier="g")
    put(world, "GET /a 31")

    assert (first["transformerConfig"], second["transformerConfig"]) == (CONFIG, CONFIG[:1])
    assert second["lastModifiedTime"] - second["creationTime"] == 60_000
    assert refused(world, "GetTransformer", logGroupIdentifier="g").code == "ResourceNotFoundException"
    assert query(world, "filter ispresent(path)") == []


def test_group_that_is_made_again_has_no_transformer(world: World) -> None:
    transform(world)

    world.call("logs", "DeleteLogGroup", logGroupName="g")
    world.call("logs", "CreateLogGroup", logGroupName="g")

    assert refused(world, "GetTransformer", logGroupIdentifier="g").code == "ResourceNotFoundException"


def test_transformers_that_cannot_be_are_refused(world: World) -> None:
    world.call("logs", "CreateLogGroup", logGroupName="rare", logGroupClass="INFREQUENT_ACCESS")

    no_parser = refused(world, "PutTransformer", logGroupIdentifier="g", transformerConfig=CONFIG[1:])
    rare = refused(world, "PutTransformer", logGroupIdentifier="rare", transformerConfig=CONFIG)
    gone = refused(world, "PutTransformer", logGroupIdentifier="gone", transformerConfig=CONFIG)

    assert (no_parser.code, rare.code, gone.code) == (
        "InvalidParameterException", "InvalidOperationException", "ResourceNotFoundException"
    )  # fmt: skip
    assert "the first processor is a parser" in no_parser.message


def test_trying_a_transformer_shows_what_messages_become(world: World) -> None:
    found = world.call(
        "logs", "TestTransformer", transformerConfig=CONFIG[:2], logEventMessages=["GET /a 31", "does not fit"]
    )

    assert found["transformedLogs"] == [
        {"eventNumber": 1, "eventMessage": "GET /a 31",
         "transformedEventMessage": '{"method":"GET","path":"/a","took":31}'},
        {"eventNumber": 2, "eventMessage": "does not fit"},
    ]  # fmt: skip


def test_transformer_of_the_account_is_for_the_groups_that_have_none(world: World) -> None:
    policy(world, "TRANSFORMER_POLICY", CONFIG, selectionCriteria='LogGroupNamePrefix IN ["g"]')
    put(world, "GET /a 31")
    by_account = query(world, "filter ispresent(took) | fields took")
    world.call("logs", "PutTransformer", logGroupIdentifier="g", transformerConfig=[{"csv": {"delimiter": " "}}])
    world.advance(minutes=1)
    put(world, "GET /b 32")

    assert by_account == [{"took": "31"}]
    assert query(world, "filter ispresent(column_3) | fields column_3, took") == [{"column_3": "32"}]


def test_policies_of_accounts_that_cannot_be_are_refused(world: World) -> None:
    policy(world, "TRANSFORMER_POLICY", CONFIG, selectionCriteria='LogGroupNamePrefix IN ["/app"]')

    def wrong(kind: str, document: object, **params: object) -> ServiceError:
        return refused(
            world,
            "PutAccountPolicy",
            policyName="other",
            policyType=kind,
            policyDocument=json.dumps(document),
            **params,
        )

    overlap = wrong("TRANSFORMER_POLICY", CONFIG, selectionCriteria='LogGroupNamePrefix IN ["/app/shop"]')
    by_name = wrong("TRANSFORMER_POLICY", CONFIG, selectionCriteria='LogGroupName IN ["/x"]')
    no_list = wrong("TRANSFORMER_POLICY", {"parseJSON": {}})
    incomplete = wrong("TRANSFORMER_POLICY", [{"grok": {}}], selectionCriteria='LogGroupNamePrefix IN ["/x"]')
    no_target = wrong("SUBSCRIPTION_FILTER_POLICY", {"FilterPattern": ""})
    masked = wrong("DATA_PROTECTION_POLICY", {})

    found = {one.code for one in (overlap, by_name, no_list, incomplete, no_target, masked)}
    assert found == {"InvalidParameterException"}
    assert "overlap" in overlap.message
    assert "DATA_PROTECTION_POLICY" in masked.message


def test_subscription_of_the_account_gets_the_events_of_all_groups_but_those_left_out(world: World) -> None:
    arn, acting = stream(world)
    document = {"DestinationArn": arn, "RoleArn": acting, "FilterPattern": "ERROR", "Distribution": "Random"}
    policy(world, "SUBSCRIPTION_FILTER_POLICY", document, selectionCriteria='LogGroupName NOT IN ["quiet"]')
    world.call("logs", "CreateLogGroup", logGroupName="quiet")
    world.call("logs", "CreateLogStream", logGroupName="quiet", logStreamName="s")

    put(world, "ERROR loud", "fine")
    event = {"timestamp": world.now, "message": "ERROR quiet"}
    world.call("logs", "PutLogEvents", logGroupName="quiet", logStreamName="s", logEvents=[event])

    (got,) = sent(world)
    assert (got["logGroup"], got["subscriptionFilters"]) == ("g", ["p"])
    assert [event["message"] for event in got["logEvents"]] == ["ERROR loud"]
    second = refused(
        world, "PutAccountPolicy", policyName="q", policyType="SUBSCRIPTION_FILTER_POLICY",
        policyDocument=json.dumps(document),
    )  # fmt: skip
    assert second.code == "LimitExceededException"
    world.call("logs", "DeleteAccountPolicy", policyName="p", policyType="SUBSCRIPTION_FILTER_POLICY")
    put(world, "ERROR later")
    assert len(sent(world)) == 1
