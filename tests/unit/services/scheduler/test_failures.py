"""What fails: dead letters, recorded attempts, roles that may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.retry import Exhausted, Failed, FailureKind
from redrive.core.scope import Scope
from redrive.delivery.faults import Fault, add_fault
from redrive.delivery.sources.letters import letter_bytes
from redrive.delivery.sources.targets import Request
from redrive.delivery.worker import ONE
from redrive.services.scheduler.model.executions import Execution, retry_policy
from redrive.services.scheduler.model.failures import letter_of
from redrive.services.scheduler.source import SchedulerSource
from redrive.store.tables.deliveries import INSIDE, Delivery

SCOPE = Scope("000000000000", "us-east-1")
SCHEDULE = "arn:aws:scheduler:us-east-1:000000000000:schedule"
BUILD = "arn:aws:codebuild:us-east-1:000000000000:project/p"
NEWS = "arn:aws:sns:us-east-1:000000000000:news"
SDK = "arn:aws:scheduler:::aws-sdk"
GONE = "arn:aws:sqs:us-east-1:000000000000:gone"


def test_missing_queue_is_dead_lettered_at_once_with_nine_attributes_less_the_condition(desk: Any) -> None:
    """A permanent failure is not retried, and its dead letter has no EXHAUSTED_RETRY_CONDITION.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
    """
    target = desk.target(GONE, Input="<aws.scheduler.execution-id>", DeadLetterConfig={"Arn": desk.dead})
    arn = desk.create("at(2025-01-01T01:00:00)", Target=target)

    desk.world.advance(hours=1)

    body, attributes = desk.letter()
    assert json.loads(body) == {
        "QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/gone", "MessageBody": attributes["EXECUTION_ID"],
    }  # fmt: skip
    assert attributes.pop("ERROR_MESSAGE")
    assert attributes.pop("EXECUTION_ID")
    assert attributes == {
        "ERROR_CODE": "AWS.SimpleQueueService.NonExistentQueue",
        "IS_PAYLOAD_TRUNCATED": "false",
        "RETRY_ATTEMPTS": "0",
        "SCHEDULED_TIME": "2025-01-01T01:00:00Z",
        "SCHEDULE_ARN": arn,
        "TARGET_ARN": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage",
    }


def test_each_attempt_is_recorded_with_what_became_of_it(desk: Any) -> None:
    good = desk.create("rate(1 day)", Name="good")
    bad = desk.create("rate(1 day)", Name="bad", Target=desk.target(GONE, DeadLetterConfig={"Arn": desk.dead}))
    dropped = desk.create("rate(1 day)", Name="dropped", Target=desk.target(GONE))

    desk.world.settle()

    records = {arn: desk.attempts(arn) for arn in (good, bad, dropped)}
    assert [(one.attempt, one.code, one.verdict) for one in records[good]] == [(1, "", "delivered")]
    assert [(one.attempt, one.code, one.verdict) for one in records[bad]] == [
        (1, "AWS.SimpleQueueService.NonExistentQueue", f"dead-lettered to {desk.dead}")
    ]
    assert [one.verdict for one in records[dropped]] == ["dropped: no dead-letter queue"]


def test_role_without_permission_is_a_permanent_failure_and_loses_the_letter_too(desk: Any) -> None:
    """The dead letter is written under the execution role: without sqs:SendMessage there is none."""
    target = desk.target(RoleArn=desk.make_role("weak"), DeadLetterConfig={"Arn": desk.dead})
    arn = desk.create("rate(1 day)", Target=target)

    desk.world.settle()

    (record,) = desk.attempts(arn)
    assert record.code.startswith("AccessDenied")
    assert record.verdict.startswith(f"dropped: the dead letter to {desk.dead} failed with AccessDenied")
    assert desk.take("dead") == []
    assert desk.bodies() == []


def test_role_that_is_deleted_later_is_a_permanent_failure(desk: Any) -> None:
    role = desk.make_role("brief")
    arn = desk.create("at(2025-01-01T01:00:00)", Target=desk.target(RoleArn=role))

    desk.world.call("iam", "DeleteRole", RoleName="brief")
    desk.world.advance(hours=1)

    (record,) = desk.attempts(arn)
    assert record.code.startswith("AccessDenied")
    assert desk.world.engine.next_due(ONE, upkeep=False) is None


def test_missing_dead_letter_queue_is_recorded_and_breaks_nothing(desk: Any) -> None:
    arn = desk.create("rate(1 minute)", Target=desk.target(GONE, DeadLetterConfig={"Arn": f"{GONE}-too"}))

    desk.world.advance(minutes=1)

    records = desk.attempts(arn)
    assert len(records) == 2
    assert all("failed with QueueDoesNotExist" in record.verdict for record in records)


def test_target_of_a_service_that_is_not_here_fails_by_name(desk: Any) -> None:
    may_start = desk.make_role("starts", "sqs:SendMessage", "codebuild:StartBuild")
    target = {"Arn": BUILD, "RoleArn": may_start, "Input": "hello", "DeadLetterConfig": {"Arn": desk.dead}}
    desk.create("rate(1 day)", Target=target)

    desk.world.settle()

    body, attributes = desk.letter()
    assert json.loads(body) == {"ProjectName": "p"}
    assert attributes["ERROR_CODE"] == "UnknownOperationException"
    assert "codebuild StartBuild" in attributes["ERROR_MESSAGE"]


@pytest.mark.parametrize(
    ("arn", "input", "code", "action"),
    [
        (NEWS, "hello", "AuthorizationError", f"sns:Publish on resource: {NEWS}"),
        (f"{SDK}:athena:startQueryExecution", '{"QueryString": "x"}', "AccessDeniedException",
         "athena:StartQueryExecution"),
        (f"{SDK}:ec2:stopInstances", '{"InstanceIds": ["i-1"]}', "UnauthorizedOperation", "ec2:StopInstances"),
        (f"{SDK}:lambda:deleteLayerVersion", '{"LayerName": "a", "VersionNumber": 1}', "AccessDeniedException",
         "lambda:DeleteLayerVersion"),
    ],
)  # fmt: skip
def test_role_without_permission_is_refused_before_a_service_that_is_not_here(
    desk: Any, arn: str, input: str, code: str, action: str
) -> None:
    """Permissions come first, as on AWS: what is not implemented is told to roles that may call it."""
    desk.create("rate(1 day)", Target=desk.target(arn, Input=input, DeadLetterConfig={"Arn": desk.dead}))

    desk.world.settle()

    _, attributes = desk.letter()
    assert attributes["ERROR_CODE"] == code
    assert attributes["RETRY_ATTEMPTS"] == "0"
    assert (
        f"assumed-role/runs/{attributes['EXECUTION_ID']} is not authorized to perform: {action}"
        in (attributes["ERROR_MESSAGE"])
    )


def test_letter_longer_than_the_queue_takes_is_cut(desk: Any) -> None:
    dead = desk.queue("small", MaximumMessageSize="1024")
    desk.create("rate(1 day)", Target=desk.target(GONE, Input="ä" * 1000, DeadLetterConfig={"Arn": dead}))

    desk.world.settle()

    (message,) = desk.take("small")
    assert message["MessageAttributes"]["IS_PAYLOAD_TRUNCATED"]["StringValue"] == "true"
    assert message["Body"].startswith('{"QueueUrl":')
    assert 1022 <= letter_bytes(message["Body"], message["MessageAttributes"]) <= 1024


def test_failed_last_occurrence_completes_the_schedule(desk: Any) -> None:
    desk.create("at(2025-01-01T01:00:00)", ActionAfterCompletion="DELETE", Target=desk.target(GONE))

    desk.world.advance(hours=1)

    assert desk.names() == []


def test_exhausted_retries_are_named_in_the_letter() -> None:
    execution = Execution("arn", SCOPE, "id", 0, {})
    failed = Failed("ThrottlingException", "", FailureKind.THROTTLED)

    letter = letter_of(execution, Request("sqs", "sendMessage", {}), failed, exhausted=Exhausted.ATTEMPTS, retries=185)

    values = {name: value["StringValue"] for name, value in letter.attributes.items()}
    assert len(values) == 9
    assert values["EXHAUSTED_RETRY_CONDITION"] == "MaximumRetryAttempts"
    assert values["RETRY_ATTEMPTS"] == "185"
    assert values["ERROR_MESSAGE"] == "ThrottlingException"


def test_retries_count_up_the_attempt_and_keep_the_execution_id(desk: Any) -> None:
    """All attempts at one occurrence share its execution id; only `<aws.scheduler.attempt-number>` changes."""
    text = "<aws.scheduler.execution-id> <aws.scheduler.attempt-number> <aws.scheduler.scheduled-time>"
    target = desk.target(Input=text)
    execution = Execution(f"{SCHEDULE}/default/nightly", SCOPE, "0194", 1_735_689_600_000, target)
    promise = Delivery(
        execution.delivery_id, SCOPE, "scheduler", execution.schedule_arn, target["Arn"], execution.document,
        retry_policy(target), INSIDE, due_at=0, first_at=0,
    )  # fmt: skip

    source = SchedulerSource()
    calls = [
        desk.world.store.run(lambda tx, n=number: source.render(tx, promise._replace(attempts=n))) for number in (1, 2)
    ]

    assert [call.params()["MessageBody"] for call in calls] == [
        "0194 1 2025-01-01T00:00:00Z", "0194 2 2025-01-01T00:00:00Z",
    ]  # fmt: skip
    assert {call.caller.role_arn for call in calls} == {desk.role}


def test_attempt_that_will_be_retried_is_recorded_with_its_next_time(desk: Any) -> None:
    fault = Fault("", desk.orders, "ThrottlingException", "Rate exceeded", times=1)
    desk.world.store.run(lambda tx: add_fault(tx, fault))
    arn = desk.create("rate(1 day)")

    desk.world.settle()

    (record,) = desk.attempts(arn)
    assert (record.attempt, record.code, record.message) == (1, "ThrottlingException", "Rate exceeded")
    assert record.verdict == "retry"
    assert record.next_at == desk.world.engine.next_due(ONE, upkeep=False)


def test_universal_target_calls_its_api_with_its_input(desk: Any) -> None:
    params = {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/orders", "MessageBody": "hello"}
    arn = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"
    desk.create("rate(1 day)", Target=desk.target(arn, Input=json.dumps(params)))

    desk.world.settle()

    assert desk.bodies() == ["hello"]


def test_failed_universal_target_is_dead_lettered_with_its_parameters(desk: Any) -> None:
    params = {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/gone", "MessageBody": "hello"}
    arn = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"
    target = desk.target(arn, Input=json.dumps(params), DeadLetterConfig={"Arn": desk.dead})
    desk.create("rate(1 day)", Target=target)

    desk.world.settle()

    body, attributes = desk.letter()
    assert json.loads(body) == params
    assert attributes["TARGET_ARN"] == arn
