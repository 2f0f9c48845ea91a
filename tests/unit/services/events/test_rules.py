"""Rules and targets: what PutRule and PutTargets take, keep and refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.limits import Limits
from redrive.engine.settings import Settings

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:m"
ROLE = "arn:aws:iam::000000000000:role/r"
INVALID = "ValidationException"


def test_rule_is_replaced_as_a_whole_and_keeps_targets_and_tags(bus_desk: Any) -> None:
    arn = bus_desk.rule(QUEUE, Description="first", Tags=[{"Key": "a", "Value": "1"}])

    bus_desk.events.put_rule(Name="r", EventPattern='{"source":["other"]}', Tags=[{"Key": "a", "Value": "2"}])

    shown = bus_desk.events.describe_rule(Name="r")
    assert {key: shown.get(key) for key in ("Arn", "EventPattern", "Description", "State", "CreatedBy")} == {
        "Arn": "arn:aws:events:us-east-1:000000000000:rule/r", "EventPattern": '{"source":["other"]}',
        "Description": None, "State": "ENABLED", "CreatedBy": "000000000000",
    }  # fmt: skip
    assert [one["Arn"] for one in bus_desk.events.list_targets_by_rule(Rule="r")["Targets"]] == [QUEUE]
    assert bus_desk.events.list_tags_for_resource(ResourceARN=arn)["Tags"] == [{"Key": "a", "Value": "1"}]


def test_rule_of_another_bus_names_the_bus_in_its_arn(bus_desk: Any) -> None:
    bus_desk.events.create_event_bus(Name="orders")

    assert bus_desk.rule(bus="orders") == "arn:aws:events:us-east-1:000000000000:rule/orders/r"


@pytest.mark.parametrize(("params", "code", "message"), [
    ({}, INVALID, "Parameter(s) EventPattern or ScheduleExpression must be specified."),
    ({"ScheduleExpression": "rate(1 hours)"}, INVALID, "Parameter ScheduleExpression is not valid."),
    ({"ScheduleExpression": "rate(5 hour)"}, INVALID, "Parameter ScheduleExpression is not valid."),
    ({"ScheduleExpression": "rate(0 minutes)"}, INVALID, "Parameter ScheduleExpression is not valid."),
    ({"ScheduleExpression": "at(2025-01-01T00:00:00)"}, INVALID, "Parameter ScheduleExpression is not valid."),
    ({"ScheduleExpression": "cron(0 12 * * *)"}, INVALID, "Parameter ScheduleExpression is not valid."),
    ({"EventPattern": "{}", "EventBusName": "gone"}, "ResourceNotFoundException", "Event bus gone does not exist."),
])  # fmt: skip
def test_wrong_rule_is_refused(params: dict[str, str], code: str, message: str, bus_desk: Any, refusal: Any) -> None:
    assert refusal(bus_desk.events.put_rule, Name="r", **params) == (code, message)


@pytest.mark.parametrize("expression", ["rate(1 minute)", "rate(90 days)", "cron(0/5 8-17 ? * MON-FRI *)"])
def test_schedule_that_aws_takes_is_taken(expression: str, bus_desk: Any) -> None:
    assert bus_desk.rule(ScheduleExpression=expression).endswith(":rule/r")


def test_schedule_is_for_the_default_bus_alone(bus_desk: Any, refusal: Any) -> None:
    bus_desk.events.create_event_bus(Name="orders")

    found = refusal(bus_desk.events.put_rule, Name="r", ScheduleExpression="rate(1 day)", EventBusName="orders")

    assert found == (INVALID, "ScheduleExpression is supported only on the default event bus.")


def test_invalid_pattern_is_refused_with_its_own_code(bus_desk: Any, refusal: Any) -> None:
    code, message = refusal(bus_desk.events.put_rule, Name="r", EventPattern='{"source": "shop"}')

    assert code == "InvalidEventPatternException"
    assert message.startswith('Event pattern is not valid. Reason: "source" must be an object or an array')


@pytest.mark.parametrize(("characters", "is_over"), [(2_048, False), (2_049, True)])
def test_pattern_has_a_quota_of_characters(characters: int, is_over: bool, bus_desk: Any, refusal: Any) -> None:
    pattern = '{"source":["' + "x" * (characters - 15) + '"]}'
    assert len(pattern) == characters

    if is_over:
        assert refusal(bus_desk.events.put_rule, Name="r", EventPattern=pattern)[0] == "LimitExceededException"
    else:
        assert bus_desk.events.put_rule(Name="r", EventPattern=pattern)["RuleArn"]


def test_bus_has_three_hundred_rules_while_quotas_apply(new_bus_desk: Any, bus_desk: Any, refusal: Any) -> None:
    relaxed = new_bus_desk(settings=Settings(limits=Limits.RELAXED))
    for desk in (bus_desk, relaxed):
        for number in range(300):
            desk.world.call("events", "PutRule", Name=f"r{number}", EventPattern='{"source":["a"]}')

    code, message = refusal(bus_desk.events.put_rule, Name="more", EventPattern='{"source":["a"]}')
    relaxed.rule(name="more")

    assert (code, message) == (
        "LimitExceededException", "The requested resource exceeds the maximum number allowed.",
    )  # fmt: skip
    bus_desk.events.put_rule(Name="r299", EventPattern='{"source":["b"]}')
    relaxed.world.close()


def test_missing_rules_are_told_apart_from_missing_buses(bus_desk: Any, refusal: Any) -> None:
    assert refusal(bus_desk.events.describe_rule, Name="gone") == (
        "ResourceNotFoundException", "Rule gone does not exist on EventBus default.",
    )  # fmt: skip
    assert refusal(bus_desk.events.list_targets_by_rule, Rule="r", EventBusName="none") == (
        "ResourceNotFoundException", "Event bus none does not exist.",
    )  # fmt: skip
    assert bus_desk.events.delete_rule(Name="gone")


def test_rule_with_targets_cannot_be_deleted(bus_desk: Any, refusal: Any) -> None:
    bus_desk.rule(QUEUE)

    assert refusal(bus_desk.events.delete_rule, Name="r") == (INVALID, "Rule can't be deleted since it has targets.")
    bus_desk.events.remove_targets(Rule="r", Ids=["1"])
    bus_desk.events.delete_rule(Name="r")
    assert bus_desk.events.list_rules()["Rules"] == []


def test_rules_are_listed_in_pages_by_prefix(bus_desk: Any, refusal: Any) -> None:
    for name in ("b2", "a", "b1", "b3"):
        bus_desk.rule(name=name)

    first = bus_desk.events.list_rules(NamePrefix="b", Limit=2)
    second = bus_desk.events.list_rules(NamePrefix="b", Limit=2, NextToken=first["NextToken"])

    assert [rule["Name"] for rule in (*first["Rules"], *second["Rules"])] == ["b1", "b2", "b3"]
    assert "NextToken" not in second
    assert refusal(bus_desk.events.list_rules, NextToken=first["NextToken"])[0] == INVALID


def test_rules_are_found_by_their_target(bus_desk: Any) -> None:
    bus_desk.rule(QUEUE, QUEUE, name="a")
    bus_desk.rule(name="b")
    bus_desk.rule(QUEUE, name="c")

    assert bus_desk.events.list_rule_names_by_target(TargetArn=QUEUE)["RuleNames"] == ["a", "c"]


def test_target_with_a_known_id_replaces_the_first(bus_desk: Any) -> None:
    bus_desk.rule(QUEUE)

    bus_desk.events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": QUEUE, "Input": "1"}])

    assert bus_desk.events.list_targets_by_rule(Rule="r")["Targets"] == [{"Id": "1", "Arn": QUEUE, "Input": "1"}]


def test_rule_has_five_targets(bus_desk: Any, refusal: Any) -> None:
    bus_desk.rule(*[QUEUE] * 5)

    assert refusal(bus_desk.events.put_targets, Rule="r", Targets=[{"Id": "6", "Arn": QUEUE}]) == (
        "LimitExceededException", "The requested resource exceeds the maximum number allowed.",
    )  # fmt: skip


def test_removing_an_unknown_target_fails_for_this_entry_alone(bus_desk: Any) -> None:
    bus_desk.rule(QUEUE)

    answer = bus_desk.events.remove_targets(Rule="r", Ids=["1", "2"])

    assert answer["FailedEntryCount"] == 1
    assert answer["FailedEntries"][0]["TargetId"] == "2"
    assert bus_desk.events.list_targets_by_rule(Rule="r")["Targets"] == []


TRANSFORMER = {"InputPathsMap": {"a": "$.detail"}, "InputTemplate": "<a>"}


@pytest.mark.parametrize(("target", "message"), [
    ({"Arn": "queue"}, "Parameter queue is not valid. Reason: Provided Arn is not in correct format."),
    ({"Arn": MACHINE}, f"RoleArn is required for target {MACHINE}."),
    ({"Arn": "arn:aws:events:eu-west-1:000000000000:event-bus/b"},
     "RoleArn is required for target arn:aws:events:eu-west-1:000000000000:event-bus/b."),
    ({"Arn": QUEUE, "Input": "1", "InputPath": "$.a"},
     "Only one of Input, InputPath, or InputTransformer must be provided for target 1."),
    ({"Arn": QUEUE, "InputPath": "$", "InputTransformer": TRANSFORMER},
     "Only one of Input, InputPath, or InputTransformer must be provided for target 1."),
    ({"Arn": QUEUE, "Input": "{"}, "JSON syntax error in input for target 1."),
    ({"Arn": QUEUE, "InputTransformer": {"InputTemplate": "<notdefinedkey>"}},
     "InputTemplate for target 1 contains invalid placeholder notdefinedkey."),
    ({"Arn": QUEUE, "InputTransformer": {"InputPathsMap": {"a": "$.id"}, "InputTemplate": '{<a>: 1}'}},
     "InputTemplate for target 1 contains a placeholder as the key of an object."),
    ({"Arn": QUEUE, "InputTransformer": {"InputPathsMap": {"AWSx": "$.id"}, "InputTemplate": "1"}},
     "InputPathsMap for target 1 contains the reserved key AWSx."),
    ({"Arn": QUEUE + ".fifo"}, "Parameter(s) SqsParameters must be specified for target: 1."),
    ({"Arn": "arn:aws:ecs:us-east-1:000000000000:cluster/c", "RoleArn": ROLE},
     "Parameter(s) EcsParameters must be specified for target: 1."),
])  # fmt: skip
def test_wrong_target_is_refused(target: dict[str, Any], message: str, bus_desk: Any, refusal: Any) -> None:
    bus_desk.rule()

    assert refusal(bus_desk.events.put_targets, Rule="r", Targets=[{"Id": "1", **target}]) == (INVALID, message)
    assert bus_desk.events.list_targets_by_rule(Rule="r")["Targets"] == []


@pytest.mark.parametrize("target", [
    {"DeadLetterConfig": {"Arn": QUEUE + ".fifo"}}, {"DeadLetterConfig": {"Arn": "arn:aws:sns:us-east-1:1:t"}},
    {"InputPath": "detail"}, {"RetryPolicy": {"MaximumRetryAttempts": 186}},
    {"RetryPolicy": {"MaximumEventAgeInSeconds": 86_401}},
])  # fmt: skip
def test_impossible_settings_of_a_target_are_refused(target: dict[str, Any], bus_desk: Any, refusal: Any) -> None:
    bus_desk.rule()

    code, _ = refusal(bus_desk.events.put_targets, Rule="r", Targets=[{"Id": "1", "Arn": QUEUE, **target}])

    assert code == INVALID


def test_passing_a_role_needs_permission(bus_desk: Any, refusal: Any) -> None:
    bus_desk.rule()
    world = bus_desk.world
    statement = {"Effect": "Allow", "Action": "events:*", "Resource": "*"}
    world.call("iam", "CreateUser", UserName="u")
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.call("iam", "PutUserPolicy", UserName="u", PolicyName="p", PolicyDocument=policy)
    key = world.call("iam", "CreateAccessKey", UserName="u")["AccessKey"]
    theirs = world.client("events", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])

    code, message = refusal(theirs.put_targets, Rule="r", Targets=[{"Id": "1", "Arn": MACHINE, "RoleArn": ROLE}])

    assert code == "AccessDeniedException"
    assert "iam:PassRole" in message


@pytest.mark.parametrize(("pattern", "event", "result"), [
    ('{"source":["a"]}', {"source": "a"}, True), ('{"source":["a"]}', {"source": "b"}, False),
])  # fmt: skip
def test_pattern_is_tried_on_an_event(pattern: str, event: Any, result: bool, bus_desk: Any) -> None:
    answer = bus_desk.events.test_event_pattern(EventPattern=pattern, Event=json.dumps(event))

    assert answer["Result"] is result


@pytest.mark.parametrize("event", ["text", "[]", "{", '"{}"', "1"])
def test_pattern_is_tried_on_objects_alone(event: str, bus_desk: Any, refusal: Any) -> None:
    found = refusal(bus_desk.events.test_event_pattern, EventPattern='{"source":["a"]}', Event=event)

    assert found == (INVALID, "Parameter Event is not valid.")


def test_partner_sources_are_none_and_global_endpoints_are_refused_by_name(bus_desk: Any, refusal: Any) -> None:
    events = bus_desk.events

    assert events.list_event_sources()["EventSources"] == []
    assert events.list_partner_event_sources(NamePrefix="aws.partner/x/")["PartnerEventSources"] == []
    assert events.list_endpoints()["Endpoints"] == []
    for call, params in (
        (events.describe_event_source, {"Name": "aws.partner/x/y"}), (events.describe_endpoint, {"Name": "e"}),
        (events.list_partner_event_source_accounts, {"EventSourceName": "aws.partner/x/y"}),
    ):  # fmt: skip
        assert refusal(call, **params)[0] == "ResourceNotFoundException"
    code, message = refusal(events.put_partner_events, Entries=[{"Source": "aws.partner/x/y"}])
    assert (code, message) == (
        "OperationDisabledException", "redrive does not implement publishing as a partner of EventBridge.",
    )  # fmt: skip
