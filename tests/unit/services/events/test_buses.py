"""Buses, their policies, and tags of buses and rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

DEFAULT_ARN = "arn:aws:events:us-east-1:000000000000:event-bus/default"
MISSING = ("ResourceNotFoundException", "Event bus gone does not exist.")


def test_default_bus_is_there_in_each_account_and_region(bus_desk: Any) -> None:
    elsewhere = bus_desk.world.client("events", account="111111111111", region="eu-west-1")

    (here,), (there,) = (client.list_event_buses()["EventBuses"] for client in (bus_desk.events, elsewhere))

    assert (here["Name"], here["Arn"]) == ("default", DEFAULT_ARN)
    assert there["Arn"] == "arn:aws:events:eu-west-1:111111111111:event-bus/default"


def test_bus_is_described_as_it_was_created_and_changed(bus_desk: Any) -> None:
    dead = {"Arn": "arn:aws:sqs:us-east-1:000000000000:dead"}
    bus_desk.events.create_event_bus(
        Name="orders", Description="old", KmsKeyIdentifier="alias/k", DeadLetterConfig=dead,
        LogConfig={"Level": "ERROR", "IncludeDetail": "FULL"},
    )  # fmt: skip

    bus_desk.events.update_event_bus(Name="orders", Description="new")

    shown = bus_desk.events.describe_event_bus(Name="orders")
    assert {key: shown[key] for key in ("Description", "KmsKeyIdentifier", "DeadLetterConfig", "LogConfig")} == {
        "Description": "new", "KmsKeyIdentifier": "alias/k", "DeadLetterConfig": dead,
        "LogConfig": {"Level": "ERROR", "IncludeDetail": "FULL"},
    }  # fmt: skip


def test_buses_that_cannot_be_are_refused(bus_desk: Any, refusal: Any) -> None:
    events = bus_desk.events
    events.create_event_bus(Name="orders")
    bus_desk.rule(bus="orders")

    exists = "ResourceAlreadyExistsException"
    assert refusal(events.create_event_bus, Name="orders") == (exists, "Event bus orders already exists.")
    assert refusal(events.create_event_bus, Name="default")[0] == exists
    assert refusal(events.create_event_bus, Name="a/b")[0] == "ValidationException"
    assert refusal(events.describe_event_bus, Name="gone") == MISSING
    assert refusal(events.delete_event_bus, Name="gone") == MISSING
    assert refusal(events.delete_event_bus, Name="default") == (
        "ValidationException", "Cannot delete event bus default.",
    )  # fmt: skip
    assert refusal(events.delete_event_bus, Name="orders")[0] == "ValidationException"


def test_account_has_a_hundred_buses(bus_desk: Any, refusal: Any) -> None:
    for number in range(100):
        bus_desk.world.call("events", "CreateEventBus", Name=f"b{number}")

    assert refusal(bus_desk.events.create_event_bus, Name="more")[0] == "LimitExceededException"


def test_buses_are_listed_in_pages_by_prefix(bus_desk: Any) -> None:
    for name in ("b2", "a", "b1", "b3"):
        bus_desk.events.create_event_bus(Name=name)

    first = bus_desk.events.list_event_buses(NamePrefix="b", Limit=2)
    second = bus_desk.events.list_event_buses(NamePrefix="b", Limit=2, NextToken=first["NextToken"])

    assert [bus["Name"] for bus in (*first["EventBuses"], *second["EventBuses"])] == ["b1", "b2", "b3"]


def test_new_bus_of_an_old_name_knows_no_old_rules(bus_desk: Any) -> None:
    bus_desk.events.create_event_bus(Name="orders")
    bus_desk.rule(bus_desk.queue("q"), bus="orders")
    bus_desk.events.remove_targets(Rule="r", Ids=["1"], EventBusName="orders")
    bus_desk.events.delete_rule(Name="r", EventBusName="orders")
    bus_desk.events.delete_event_bus(Name="orders")
    bus_desk.events.create_event_bus(Name="orders")

    bus_desk.put(EventBusName="orders")

    assert bus_desk.bodies() == []


def test_statements_of_a_policy_are_added_replaced_and_removed(bus_desk: Any, refusal: Any) -> None:
    events = bus_desk.events
    condition = {"Type": "StringEquals", "Key": "aws:PrincipalOrgID", "Value": "o-1"}
    events.put_permission(Action="events:PutEvents", Principal="111111111111", StatementId="a")
    events.put_permission(Action="events:PutEvents", Principal="222222222222", StatementId="a")
    events.put_permission(Action="events:PutEvents", Principal="*", StatementId="b", Condition=condition)

    assert json.loads(events.describe_event_bus()["Policy"]) == {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "a", "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::222222222222:root"},
             "Action": "events:PutEvents", "Resource": DEFAULT_ARN},
            {"Sid": "b", "Effect": "Allow", "Principal": "*", "Action": "events:PutEvents", "Resource": DEFAULT_ARN,
             "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}},
        ],
    }  # fmt: skip
    assert refusal(events.remove_permission, StatementId="c") == (
        "ResourceNotFoundException", "Statement with the provided id does not exist.",
    )  # fmt: skip
    events.remove_permission(StatementId="a")
    events.remove_permission(StatementId="b")
    assert "Policy" not in events.describe_event_bus()
    assert refusal(events.remove_permission, StatementId="a") == (
        "ResourceNotFoundException", "EventBus does not have a policy.",
    )  # fmt: skip


def test_policy_decides_who_of_another_account_puts_events(bus_desk: Any, refusal: Any) -> None:
    theirs = bus_desk.world.client("events", account="111111111111")
    entry = {"Source": "shop", "DetailType": "Order", "Detail": "{}", "EventBusName": DEFAULT_ARN}
    bus_desk.rule(bus_desk.queue("q"))

    code, _ = refusal(theirs.put_events, Entries=[entry])
    bus_desk.events.put_permission(Action="events:PutEvents", Principal="111111111111", StatementId="a")
    theirs.put_events(Entries=[entry])
    bus_desk.world.settle()

    assert code == "AccessDeniedException"
    assert [event["account"] for event in bus_desk.received()] == ["111111111111"]


@pytest.mark.parametrize(("params", "code"), [
    ({"Policy": "{"}, "ValidationException"),
    ({"Policy": json.dumps({"Version": "2012-10-17", "Statement": [], "Id": "x" * 10_300})},
     "PolicyLengthExceededException"),
    ({"StatementId": "a"}, "ValidationException"),
    ({"Policy": "{}", "StatementId": "a"}, "ValidationException"),
    ({"Action": "events:PutEvents", "Principal": "*", "StatementId": "a", "EventBusName": "gone"}, MISSING[0]),
])  # fmt: skip
def test_wrong_permission_is_refused(params: dict[str, str], code: str, bus_desk: Any, refusal: Any) -> None:
    assert refusal(bus_desk.events.put_permission, **params)[0] == code


def test_buses_and_rules_have_tags(bus_desk: Any, refusal: Any) -> None:
    events = bus_desk.events
    events.create_event_bus(Name="orders", Tags=[{"Key": "a", "Value": "1"}])
    rule = bus_desk.rule(bus="orders")
    for arn in (rule, rule.replace("rule/orders/r", "event-bus/orders"), DEFAULT_ARN):
        events.tag_resource(ResourceARN=arn, Tags=[{"Key": "b", "Value": "2"}, {"Key": "a", "Value": "3"}])
        events.untag_resource(ResourceARN=arn, TagKeys=["b"])

        assert events.list_tags_for_resource(ResourceARN=arn)["Tags"] == [{"Key": "a", "Value": "3"}]
    assert refusal(events.list_tags_for_resource, ResourceARN=rule + "x") == (
        "ResourceNotFoundException", "Rule rx does not exist on EventBus orders.",
    )  # fmt: skip
    assert refusal(events.tag_resource, ResourceARN="x", Tags=[])[0] == "ValidationException"
