"""Tasks that call the services of the engine, as optimized integrations and as those of the SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.services.stepfunctions.conftest import Machines

SDK = "arn:aws:states:::aws-sdk"


def task(resource: str, **parameters: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": resource, "Parameters": parameters}


def test_objects_of_s3_are_written_as_json_and_read_as_text(machines: Machines) -> None:
    machines.world.client("s3").create_bucket(Bucket="box")
    put = {**task(f"{SDK}:s3:putObject", Bucket="box", Key="k", **{"Body.$": "$"}), "ResultPath": None}
    get = task(f"{SDK}:s3:getObject", Bucket="box", Key="k")
    big = task(f"{SDK}:s3:getObject", Bucket="box", Key="big")
    machines.world.client("s3").put_object(Bucket="box", Key="big", Body=b"x" * 300_000)

    ran = machines.run(put, get, value={"n": 1})
    refused = machines.run(big)
    missing = machines.run(task(f"{SDK}:s3:getObject", Bucket="box", Key="gone"))

    assert json.loads(ran.output["Body"]) == {"n": 1}
    assert refused.failure[0] == "States.DataLimitExceeded"
    assert missing.failure[0] == "S3.NoSuchKeyException"


def test_events_and_messages_may_be_objects(machines: Machines) -> None:
    topic = machines.world.client("sns").create_topic(Name="t")["TopicArn"]
    entry = {"Source": "shop", "DetailType": "t", "Detail": {"n": 1}}

    told = machines.run(task("arn:aws:states:::events:putEvents", Entries=[entry]))
    bad = machines.run(task("arn:aws:states:::events:putEvents", Entries=[{**entry, "Detail": "no json"}]))
    published = machines.run(task("arn:aws:states:::sns:publish", TopicArn=topic, Message={"n": 1}))
    gone = machines.run(task("arn:aws:states:::sns:publish", TopicArn=f"{topic}-gone", Message="x"))

    assert told.output["FailedEntryCount"] == 0
    assert bad.failure[0] == "EventBridge.FailedEntry"
    assert json.loads(bad.failure[1])["FailedEntryCount"] == 1
    assert "MessageId" in published.output
    assert gone.failure[0] == "SNS.NotFoundException"


def test_items_keep_the_names_of_their_attributes(machines: Machines) -> None:
    machines.world.client("dynamodb").create_table(
        TableName="orders", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )  # fmt: skip
    put = task("arn:aws:states:::dynamodb:putItem", TableName="orders", Item={"id": {"S": "1"}, "lower": {"N": "7"}})
    get = task("arn:aws:states:::dynamodb:getItem", TableName="orders", Key={"id": {"S": "1"}})

    ran = machines.run(put, get)

    assert ran.output["Item"] == {"id": {"S": "1"}, "lower": {"N": "7"}}


@pytest.mark.parametrize(
    ("resource", "parameters", "found"),
    [
        ("sfn:listStateMachines", {}, "StateMachines"), ("scheduler:listSchedules", {}, "Schedules"),
        ("cloudwatchlogs:describeLogGroups", {}, "LogGroups"), ("lambda:listFunctions", {}, "Functions"),
        ("secretsmanager:listSecrets", {}, "SecretList"), ("iam:listRoles", {}, "Roles"),
    ],
)  # fmt: skip
def test_answers_of_every_service_have_capital_names(
    machines: Machines, resource: str, parameters: dict[str, Any], found: str
) -> None:
    ran = machines.run(task(f"{SDK}:{resource}", **parameters))

    assert ran.status == "SUCCEEDED"
    assert isinstance(ran.output[found], list)
    assert "SdkHttpMetadata" not in ran.output


def test_service_that_is_not_served_fails_its_task_by_name(machines: Machines) -> None:
    ran = machines.run(task("arn:aws:states:::ecs:runTask.sync", Cluster="c"))

    assert ran.status == "FAILED"
    assert "redrive does not implement ecs RunTask" in ran.failure[1]
