"""What rules deliver: inputs, permissions, retries, dead letters, buses behind buses, log groups, metrics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.retry import Exhausted, Failed, FailureKind
from redrive.delivery.faults import Fault, add_fault
from redrive.services.events.model.failures import error_code

RULE = "arn:aws:events:us-east-1:000000000000:rule/r"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
NEWS = "arn:aws:sns:us-east-1:000000000000:news"
WORKFLOW = "arn:aws:glue:us-east-1:000000000000:workflow/w"


def test_hundred_rules_hit_by_one_event_are_a_hundred_deliveries_in_one_commit(bus_desk: Any) -> None:
    queue = bus_desk.queue("q")
    for number in range(100):
        bus_desk.rule(queue, name=f"r{number}")
    commits: list[object] = []
    entry = {"Source": "shop", "DetailType": "Order", "Detail": "{}"}

    bus_desk.world.store.on_commit(commits.append)
    bus_desk.events.put_events(Entries=[entry])
    during_the_call = len(commits)

    assert during_the_call == 1
    assert len(bus_desk.bodies()) == 100


def test_targets_get_what_they_ask_for(bus_desk: Any) -> None:
    """A constant, a part of the event with its quotes, a missing part, and a transformed event."""
    queue = bus_desk.queue("q")
    transformer = {
        "InputPathsMap": {"name": "$.detail.name", "type": "$.detail-type"},
        "InputTemplate": '{"name": <name>, "by": "<aws.events.rule-name>", "type": "<type>", "at": <aws.events.event.ingestion-time>}',  # noqa: E501
    }
    bus_desk.rule(
        {"Arn": queue, "Input": '{"a": 1}'}, {"Arn": queue, "InputPath": "$.detail.name"},
        {"Arn": queue, "InputPath": "$.detail.gone"}, {"Arn": queue, "InputTransformer": transformer},
        {"Arn": queue, "InputTransformer": {"InputTemplate": '"<aws.events.rule-arn>"'}},
    )  # fmt: skip

    bus_desk.put({"name": "baz"})

    assert sorted(bus_desk.bodies()) == sorted([
        '{"a": 1}', '"baz"', "null",
        '{"name": "baz", "by": "r", "type": "Order", "at": "2025-01-01T00:00:00Z"}', f'"{RULE}"',
    ])  # fmt: skip


def test_reserved_variables_hold_the_event(bus_desk: Any) -> None:
    queue = bus_desk.queue("q")
    whole = {"Arn": queue, "InputTransformer": {"InputTemplate": '{"e": <aws.events.event.json>}'}}
    head = {"Arn": queue, "InputTransformer": {"InputTemplate": "<aws.events.event>"}}
    bus_desk.rule(whole, head)

    event_id = bus_desk.put({"a": [1]})

    found = {next(iter(one)): one for one in bus_desk.received()}
    assert found["e"]["e"]["detail"] == {"a": [1]}
    assert found["id"] == {
        "id": event_id, "account": "000000000000", "detailType": "Order", "time": "2025-01-01T00:00:00Z",
        "source": "shop", "region": "us-east-1", "resources": [], "version": "0",
    }  # fmt: skip


def test_transformed_input_that_is_no_json_is_not_delivered(bus_desk: Any) -> None:
    transformer = {"InputPathsMap": {"list": "$.detail.list"}, "InputTemplate": '{"a": "<list>"}'}
    dead = bus_desk.queue("dead")
    bus_desk.rule(
        {"Arn": bus_desk.queue("q"), "InputTransformer": transformer, "DeadLetterConfig": {"Arn": dead}}
    )  # fmt: skip

    bus_desk.put({"list": ["x"]})

    _, attributes = bus_desk.letter()
    assert (attributes["ERROR_CODE"], attributes["RETRY_ATTEMPTS"]) == ("INVALID_JSON", "0")
    assert bus_desk.bodies() == []


def test_queue_that_refuses_is_reported_as_missing_in_the_dead_letter(bus_desk: Any) -> None:
    """Permanent failures go to the dead-letter queue at once. The letter's body is the event.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html
    """
    dead = bus_desk.queue("dead")
    closed = bus_desk.queue("q", principal={"Service": "sns.amazonaws.com"})
    bus_desk.rule({"Arn": closed, "Input": "1", "DeadLetterConfig": {"Arn": dead}})

    event_id = bus_desk.put({"a": 1})

    body, attributes = bus_desk.letter()
    assert json.loads(body)["id"] == event_id
    assert attributes == {
        "RULE_ARN": RULE, "TARGET_ARN": QUEUE, "ERROR_CODE": "NO_RESOURCE", "RETRY_ATTEMPTS": "0",
        "ERROR_MESSAGE": "The specified queue does not exist or you do not have access to it.",
    }  # fmt: skip


def test_policy_may_name_the_rule_alone(bus_desk: Any) -> None:
    url = bus_desk.world.call("sqs", "CreateQueue", QueueName="q")["QueueUrl"]
    statement = {
        "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": QUEUE, "Condition": {"ArnEquals": {"aws:SourceArn": RULE}},
    }  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    bus_desk.world.call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": policy})
    bus_desk.rule(QUEUE, name="r")
    bus_desk.rule(QUEUE, name="another")

    bus_desk.put()

    assert len(bus_desk.bodies()) == 1


def test_role_of_a_target_decides_in_place_of_the_policy(bus_desk: Any) -> None:
    bus_desk.world.call("sqs", "CreateQueue", QueueName="q")
    dead = bus_desk.queue("dead")
    bus_desk.rule(
        {"Arn": QUEUE, "RoleArn": bus_desk.role("may", "sqs:SendMessage")},
        {"Arn": QUEUE, "RoleArn": bus_desk.role("may-not"), "DeadLetterConfig": {"Arn": dead}},
    )

    bus_desk.put()

    assert len(bus_desk.bodies()) == 1
    assert bus_desk.letter()[1]["ERROR_CODE"] == "NO_RESOURCE"


def test_role_that_cannot_be_assumed_is_told(bus_desk: Any) -> None:
    dead = bus_desk.queue("dead")
    gone = "arn:aws:iam::000000000000:role/gone"
    bus_desk.rule({"Arn": QUEUE, "RoleArn": gone, "DeadLetterConfig": {"Arn": dead}})

    bus_desk.put()

    assert bus_desk.letter()[1]["ERROR_CODE"] == "FAILED_TO_ASSUME_ROLE"


def test_target_of_a_service_that_is_not_here_fails_with_this_reason(bus_desk: Any) -> None:
    dead = bus_desk.queue("dead")
    bus_desk.rule({"Arn": WORKFLOW, "RoleArn": bus_desk.role("r", "glue:*"), "DeadLetterConfig": {"Arn": dead}})

    bus_desk.put()

    _, attributes = bus_desk.letter()
    assert attributes["ERROR_MESSAGE"] == "redrive does not implement glue NotifyEvent."
    assert attributes["TARGET_ARN"] == WORKFLOW


@pytest.mark.parametrize(("policy", "condition", "retries"), [
    ({"MaximumRetryAttempts": 2}, "MaximumRetryAttempts", "2"),
    ({"MaximumEventAgeInSeconds": 60}, "MaximumEventAgeInSeconds", "5"),
    ({}, "MaximumRetryAttempts", "185"),
])  # fmt: skip
def test_failures_are_retried_until_the_policy_is_exhausted(
    policy: dict[str, int], condition: str, retries: str, bus_desk: Any
) -> None:
    """Without a policy: 185 retries within 24 hours. Waits double: 1 s, 2 s, 4 s … up to 8 min."""
    dead = bus_desk.queue("dead")
    bus_desk.rule({"Arn": bus_desk.queue("q"), "RetryPolicy": policy, "DeadLetterConfig": {"Arn": dead}})
    fault = Fault("f", QUEUE, "ServiceUnavailable")
    bus_desk.world.store.run(lambda tx: add_fault(tx, fault))

    bus_desk.put()
    bus_desk.world.advance(hours=25)

    _, attributes = bus_desk.letter()
    assert attributes["EXHAUSTED_RETRY_CONDITION"] == condition
    assert attributes["RETRY_ATTEMPTS"] == retries


def test_delivery_that_succeeds_later_is_one_message(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))
    fault = Fault("f", QUEUE, "ServiceUnavailable", times=3)
    bus_desk.world.store.run(lambda tx: add_fault(tx, fault))

    bus_desk.put()
    bus_desk.world.advance(minutes=2)

    assert len(bus_desk.bodies()) == 1
    assert bus_desk.counted("InvocationAttempts", RuleName="r") == 4
    assert bus_desk.counted("RetryInvocationAttempts", RuleName="r") == 3
    assert bus_desk.counted("Invocations", RuleName="r") == 1
    assert bus_desk.counted("FailedInvocations", RuleName="r") == 0


def test_metrics_count_per_rule_bus_source_and_account(bus_desk: Any) -> None:
    bus_desk.events.create_event_bus(Name="orders")
    queue, dead = bus_desk.queue("q"), bus_desk.queue("dead")
    bus_desk.rule(queue, {"Arn": NEWS, "DeadLetterConfig": {"Arn": dead}}, NEWS, bus="orders")

    bus_desk.put(EventBusName="orders")
    bus_desk.put(Source="other", EventBusName="orders")
    bus_desk.world.advance(minutes=2)

    rule = {"EventBusName": "orders", "RuleName": "r"}
    assert bus_desk.counted("MatchedEvents", EventBusName="orders") == 1
    assert bus_desk.counted("MatchedEvents", EventSourceName="shop") == 1
    assert bus_desk.counted("MatchedEvents", EventSourceName="other") == 0
    assert bus_desk.counted("TriggeredRules", **rule) == 1
    assert bus_desk.counted("InvocationsCreated") == 3
    assert bus_desk.counted("Invocations", **rule) == 3
    assert bus_desk.counted("SuccessfulInvocationAttempts", **rule) == 1
    assert bus_desk.counted("FailedInvocations", **rule) == 2
    assert bus_desk.counted("InvocationsSentToDlq", **rule) == 1
    assert bus_desk.counted("Invocations", RuleName="r") == 0


def test_dead_letter_that_cannot_be_written_is_lost_and_counted(bus_desk: Any) -> None:
    bus_desk.rule({"Arn": NEWS, "DeadLetterConfig": {"Arn": QUEUE}})
    bus_desk.world.call("sqs", "CreateQueue", QueueName="q")

    bus_desk.put()
    bus_desk.world.advance(minutes=2)

    (attempt,) = bus_desk.world.store.run(lambda tx: tx.attempts.of_source(RULE))
    assert bus_desk.counted("InvocationsFailedToBeSentToDlq", RuleName="r") == 1
    assert "the dead letter to" in attempt.why


def test_fifo_queue_gets_the_group_of_the_target(bus_desk: Any) -> None:
    """The queue must deduplicate by content; otherwise the event cannot be sent."""
    dead = bus_desk.queue("dead")
    good = bus_desk.queue("q.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    bad = bus_desk.queue("p.fifo", FifoQueue="true")
    bus_desk.rule(
        {"Arn": good, "SqsParameters": {"MessageGroupId": "g"}},
        {"Arn": bad, "SqsParameters": {"MessageGroupId": "g"}, "DeadLetterConfig": {"Arn": dead}},
    )

    bus_desk.put()

    (message,) = bus_desk.take("q.fifo")
    assert message["Attributes"]["MessageGroupId"] == "g"
    assert bus_desk.letter()[1]["ERROR_CODE"] == "INVALID_PARAMETER"


def test_disabled_rules_and_other_events_reach_nobody(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))
    bus_desk.put(Source="other")
    bus_desk.events.disable_rule(Name="r")
    bus_desk.put()
    bus_desk.events.enable_rule(Name="r")
    event_id = bus_desk.put()

    assert [event["id"] for event in bus_desk.received()] == [event_id]


def test_changed_rules_match_from_the_next_event_on(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))
    bus_desk.put({"n": 1})
    bus_desk.rule(name="r", pattern={"source": ["shop"], "detail": {"n": [3]}})
    bus_desk.put({"n": 2})
    bus_desk.put({"n": 3})
    bus_desk.events.remove_targets(Rule="r", Ids=["1"])
    bus_desk.events.delete_rule(Name="r")
    bus_desk.put({"n": 3})

    assert [event["detail"]["n"] for event in bus_desk.received()] == [1, 3]


def test_delivery_under_way_keeps_its_target_when_the_rule_is_gone(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))
    bus_desk.events.put_events(Entries=[{"Source": "shop", "DetailType": "Order", "Detail": "{}"}])
    bus_desk.events.remove_targets(Rule="r", Ids=["1"])
    bus_desk.events.delete_rule(Name="r")

    bus_desk.world.settle()

    assert len(bus_desk.bodies()) == 1


def test_bus_sends_an_event_to_another_bus_once(bus_desk: Any) -> None:
    """The event keeps its id. A second hop ends in the dead-letter queue.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-bus-to-bus.html
    """
    dead = bus_desk.queue("dead")
    for name in ("second", "third"):
        bus_desk.events.create_event_bus(Name=name)
    buses = "arn:aws:events:us-east-1:000000000000:event-bus"
    bus_desk.rule(f"{buses}/second")
    bus_desk.rule(bus_desk.queue("q"), {"Arn": f"{buses}/third", "DeadLetterConfig": {"Arn": dead}}, bus="second")
    bus_desk.rule(bus_desk.queue("never"), bus="third")

    event_id = bus_desk.put()
    bus_desk.world.advance(minutes=2)

    assert [event["id"] for event in bus_desk.received()] == [event_id]
    assert bus_desk.bodies("never") == []
    assert bus_desk.letter()[1]["ERROR_CODE"] == "THIRD_ACCOUNT_HOP_DETECTED"
    assert bus_desk.counted("DeadLetterInvocations", EventBusName="second", RuleName="r") == 1


def test_bus_of_another_account_asks_its_policy(bus_desk: Any) -> None:
    """Within a region the event keeps its id and its account; another region gives it a new id."""
    world = bus_desk.world
    dead, role = bus_desk.queue("dead"), bus_desk.role("forwards", "events:PutEvents")
    theirs = world.client("events", account="111111111111")
    theirs.put_permission(Action="events:PutEvents", Principal="000000000000", StatementId="s")
    theirs.put_rule(Name="t", EventPattern='{"source":["shop"]}')
    theirs.put_targets(Rule="t", Targets=[{"Id": "1", "Arn": "arn:aws:sqs:us-east-1:111111111111:q"}])
    policy = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:*", "Resource": "*"}
    text = json.dumps({"Version": "2012-10-17", "Statement": [policy]})
    queue = world.client("sqs", account="111111111111")
    url = queue.create_queue(QueueName="q", Attributes={"Policy": text})["QueueUrl"]
    bus_desk.rule(
        {"Arn": "arn:aws:events:us-east-1:111111111111:event-bus/default", "RoleArn": role},
        {"Arn": "arn:aws:events:us-east-1:222222222222:event-bus/default", "RoleArn": role,
         "DeadLetterConfig": {"Arn": dead}},
    )  # fmt: skip

    event_id = bus_desk.put()

    (message,) = queue.receive_message(QueueUrl=url)["Messages"]
    event = json.loads(message["Body"])
    assert (event["id"], event["account"]) == (event_id, "000000000000")
    assert bus_desk.letter()[1]["ERROR_CODE"] == "NO_PERMISSIONS"


def test_event_gets_a_new_id_in_another_region(bus_desk: Any) -> None:
    role = bus_desk.role("forwards", "events:PutEvents")
    there = bus_desk.world.client("events", region="eu-west-1")
    there.put_rule(Name="t", EventPattern='{"source":["shop"]}')
    there.put_targets(Rule="t", Targets=[{"Id": "1", "Arn": "arn:aws:logs:eu-west-1:000000000000:log-group:/aws/events/t"}])  # fmt: skip  # noqa: E501
    logs = bus_desk.world.client("logs", region="eu-west-1")
    logs.create_log_group(logGroupName="/aws/events/t")
    allowed = {
        "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Resource": "*",
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
    }  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    logs.put_resource_policy(policyName="p", policyDocument=policy)
    bus_desk.rule({"Arn": "arn:aws:events:eu-west-1:000000000000:event-bus/default", "RoleArn": role})

    event_id = bus_desk.put()

    (line,) = logs.filter_log_events(logGroupName="/aws/events/t")["events"]
    event = json.loads(line["message"])
    assert event["region"] == "us-east-1"
    assert event["id"] != event_id


def test_log_group_without_a_policy_refuses(bus_desk: Any) -> None:
    dead = bus_desk.queue("dead")
    bus_desk.world.call("logs", "CreateLogGroup", logGroupName="/aws/events/t")
    group = "arn:aws:logs:us-east-1:000000000000:log-group:/aws/events/t"
    bus_desk.rule({"Arn": group, "DeadLetterConfig": {"Arn": dead}})

    bus_desk.put()

    assert bus_desk.letter()[1]["ERROR_CODE"] == "NO_PERMISSIONS"


def test_all_deliveries_of_an_event_are_one_execution(bus_desk: Any) -> None:
    queue = bus_desk.queue("q")
    bus_desk.rule(queue, queue)

    event_id = bus_desk.put()

    runs = bus_desk.world.call("redrive", "ListRuns", source=RULE)["runs"]
    assert [run["execution_id"] for run in runs] == [event_id, event_id]


@pytest.mark.parametrize(("failed", "code"), [
    (Failed("ThrottlingException", "", FailureKind.THROTTLED), "THROTTLING"),
    (Failed("ServiceException", "", FailureKind.TRANSIENT), "INTERNAL_ERROR"),
    (Failed("ResourceNotFoundException", "", FailureKind.PERMANENT), "NO_RESOURCE"),
    (Failed("AccessDeniedException", "", FailureKind.PERMANENT), "NO_PERMISSIONS"),
    (Failed("AccessDeniedException", "perform: sts:AssumeRole on", FailureKind.PERMANENT), "FAILED_TO_ASSUME_ROLE"),
    (Failed("InvalidParameterValueException", "", FailureKind.PERMANENT), "INVALID_PARAMETER"),
    (Failed("Http500", "", FailureKind.TRANSIENT), "ERROR_FROM_TARGET"),
    (Failed("OverLimit", "", FailureKind.THROTTLED), "RESOURCE_LIMIT_EXCEEDED"),
    (Failed(Exhausted.AGE.value, "", FailureKind.TRANSIENT), "INTERNAL_ERROR"),
])  # fmt: skip
def test_failures_have_the_codes_of_eventbridge(failed: Failed, code: str) -> None:
    assert error_code(failed, FUNCTION) == code
