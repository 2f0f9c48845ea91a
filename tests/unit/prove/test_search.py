"""Each kind of fault finds the handler that it is there to find."""

from __future__ import annotations

import json
import os
import random
import secrets
import socket
import time
import uuid
from typing import Any

import boto3
import pytest

from redrive.core.errors import UserError
from redrive.handler import clock
from redrive.prove.judge.judge import Rule
from tests.unit.prove.conftest import Prover

URL = "https://sqs.us-east-1.amazonaws.com/000000000000/mails"


def execution_of(event: Any) -> str:
    return str(json.loads(event["Records"][0]["body"])["context"]["execution_id"])


def claim(execution_id: str, **more: Any) -> bool:
    dynamodb = boto3.client("dynamodb")
    item = {"execution_id": {"S": execution_id}, "status": {"S": "done"}} | more
    try:
        dynamodb.put_item(
            TableName="executions", Item=item, ConditionExpression="attribute_not_exists(execution_id)"
        )  # fmt: skip
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False
    return True


def send() -> None:
    boto3.client("sqs").send_message(QueueUrl=URL, MessageBody="done")


def history_of(verdict: Any) -> list[str]:
    return [str(leg) for leg in verdict.counterexample.history]


def test_handler_that_sends_for_each_delivery_repeats_itself(proved: Prover) -> None:
    verdict = proved(lambda *_: send())

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE
    assert verdict.effects == {"message to mails": 1}


def test_effect_under_the_key_itself_is_never_repeated_or_lost(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        item = {"execution_id": {"S": execution_of(event)}}
        boto3.client("dynamodb").put_item(TableName="reports", Item=item)

    assert proved(handler, faults=2).counterexample is None


def test_record_that_expires_before_a_late_duplicate_is_found(proved: Prover) -> None:
    """A ledger that forgets after a day runs a message again that comes after three."""

    def handler(event: Any, context: Any) -> None:
        if claim(execution_of(event), ttl={"N": str(int(time.time()) + 86_400)}):
            boto3.client("sns").publish(TopicArn="arn:aws:sns:us-east-1:000000000000:t", Message="done")

    verdict = proved(handler)

    assert verdict.counterexample is not None
    assert verdict.assumptions == {"table executions": "key execution_id, items expire by ttl"}


def test_table_and_index_that_a_handler_queries_are_made_to_fit(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        client = boto3.client("dynamodb")
        client.put_item(TableName="reports", Item={"execution_id": {"S": execution_of(event)}, "city": {"S": "oslo"}})
        for condition, index in (("city = :c", {"IndexName": "by-city"}), ("execution_id = :c", {})):
            client.query(
                TableName="reports", KeyConditionExpression=condition, ExpressionAttributeValues={":c": {"S": "oslo"}},
                **index,
            )  # fmt: skip

    verdict = proved(handler)

    assert verdict.counterexample is None
    assert verdict.assumptions == {"table reports": "key execution_id, index by-city on city"}


def test_read_before_write_is_found_by_an_overlapping_delivery(proved: Prover) -> None:
    """The work comes last, so that no crash repeats it: only a second delivery between the read and the write does."""

    def handler(event: Any, context: Any) -> None:
        table = boto3.resource("dynamodb").Table("executions")
        execution_id = execution_of(event)
        if "Item" not in table.get_item(Key={"execution_id": execution_id}):
            boto3.client("sqs").send_message(QueueUrl=f"{URL}.fifo", MessageBody="x", MessageGroupId="g",
                MessageDeduplicationId=os.urandom(8).hex())  # fmt: skip
            table.put_item(Item={"execution_id": execution_id})

    verdict = proved(handler, faults=1)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE


def test_lost_answer_of_a_claim_loses_the_work(proved: Prover) -> None:
    """The client asks again by itself, its own first write refuses it, and the handler takes that for a duplicate."""

    def handler(event: Any, context: Any) -> None:
        execution_id = execution_of(event)
        if claim(execution_id):
            item = {"execution_id": {"S": execution_id}}
            boto3.client("dynamodb").put_item(TableName="reports", Item=item)

    verdict = proved(handler)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ALL


def test_sleep_past_the_timeout_ends_the_run_in_virtual_time(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        clock.sleep(31)

    with pytest.raises(UserError, match="timed out"):
        proved(handler)


def test_handler_that_fails_by_itself_is_refused_with_its_error(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        raise KeyError("order")

    with pytest.raises(UserError, match="KeyError: 'order'"):
        proved(handler)


def test_handler_without_effects_is_refused(proved: Prover) -> None:
    with pytest.raises(UserError, match="changes nothing"):
        proved(lambda *_: None)


def test_no_connection_leaves_the_process(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        socket.create_connection(("payments.example.com", 5432))

    with pytest.raises(UserError, match=r"payments\.example\.com"):
        proved(handler)


def test_address_is_refused_as_a_name_is(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        with socket.socket() as connection:
            connection.connect(("192.0.2.1", 443))

    with pytest.raises(UserError, match=r"192\.0\.2\.1"):
        proved(handler)


def test_client_made_before_the_proof_is_answered_too(proved: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its endpoint, and though it has no credentials of its own."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = boto3.session.Session().client("sqs", region_name="eu-west-1", endpoint_url="https://sqs.example.com")

    def handler(event: Any, context: Any) -> None:
        client.send_message(QueueUrl=URL, MessageBody="done")

    verdict = proved(handler)

    assert verdict.counterexample is not None
    assert verdict.effects == {"message to mails": 1}


def test_reading_from_a_service_that_is_not_here_is_answered_from_its_shape_and_told(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        body = boto3.client("s3").get_object(Bucket="b", Key="k")["Body"].read()
        instance = boto3.client("ec2").describe_instances()["Reservations"][0]["Instances"][0]["InstanceId"]
        boto3.client("sqs").send_message(QueueUrl="https://sqs/q", MessageBody=f"{body!r} {instance}")

    verdict = proved(handler, faults=0)

    assert verdict.assumptions["answer of s3 GetObject on b"].startswith("made up")
    assert "answer of ec2 DescribeInstances" in verdict.assumptions


@pytest.mark.parametrize(
    ("service", "call", "params", "told"),
    [
        ("ssm", "get_parameter", {"Name": "/app/url"}, "ssm GetParameter on /app/url"),
        ("ssm", "get_parameters", {"Names": ["/app/url", "/app/key"]}, "ssm GetParameters"),
        ("ssm", "get_parameters_by_path", {"Path": "/app"}, "ssm GetParametersByPath"),
        ("ssm", "list_commands", {}, "ssm ListCommands"),
        ("secretsmanager", "get_secret_value", {"SecretId": "app"}, "secretsmanager GetSecretValue"),
        (
            "secretsmanager", "get_secret_value",
            {"SecretId": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app-AbCdEf"},
            "secretsmanager GetSecretValue",
        ),
        ("kms", "decrypt", {"CiphertextBlob": b"of another account"}, "kms Decrypt"),
        ("kms", "encrypt", {"KeyId": "alias/app", "Plaintext": b"x"}, "kms Encrypt"),
        ("kms", "generate_data_key", {"KeyId": "alias/app", "KeySpec": "AES_256"}, "kms GenerateDataKey"),
        ("ecr", "describe_images", {"repositoryName": "app"}, "ecr DescribeImages"),
    ],
)  # fmt: skip
def test_reading_what_nobody_has_made_is_answered_from_its_shape_and_told(
    proved: Prover, service: str, call: str, params: dict[str, Any], told: str
) -> None:
    """The handler continues in all histories, and in the one that is shown; its own work is found."""

    def handler(event: Any, context: Any) -> None:
        answer = getattr(boto3.client(service), call)(**params)
        names = [one["Name"] for one in answer.get("Parameters", ())]
        assert names == params.get("Names", names), names
        assert len(answer) > 1, "more than metadata"
        send()

    verdict = proved(handler)

    assert verdict.counterexample is not None
    assert verdict.effects == {"message to mails": 1}
    assert verdict.assumptions[f"answer of {told}"].startswith("made up")


def test_parameter_that_the_handler_has_made_is_read_from_the_engine(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        ssm = boto3.client("ssm")
        ssm.put_parameter(Name="/app/url", Value="https://example.com", Type="SecureString", Overwrite=True)
        assert ssm.get_parameter(Name="/app/url", WithDecryption=True)["Parameter"]["Value"] == "https://example.com"
        assert ssm.get_parameters(Names=["/app/url"])["InvalidParameters"] == []

    verdict = proved(handler, faults=0)

    assert verdict.counterexample is None
    assert not [name for name in verdict.assumptions if name.startswith("answer of")]


def test_object_written_twice_is_one_object(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        boto3.client("s3").put_object(Bucket="reports", Key=execution_of(event), Body=b"report")

    verdict = proved(handler)

    assert verdict.counterexample is None
    assert verdict.effects == {"PutObject on reports": 1}


def test_ignored_calls_are_no_effects(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        item = {"execution_id": {"S": execution_of(event)}}
        boto3.client("dynamodb").put_item(TableName="reports", Item=item)
        send()

    assert proved(handler).counterexample is not None
    assert proved(handler, ignored=("sqs:SendMessage:mai*",)).counterexample is None


def test_invariant_of_the_user_is_held_against_the_end_of_each_history(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        boto3.client("dynamodb").put_item(
            TableName="reports",
            Item={"execution_id": {"S": execution_of(event)}, "message": {"S": event["Records"][0]["messageId"]},
                  "at": {"N": str(time.time())}},
        )  # fmt: skip

    def written_at_once(world: Any) -> None:
        (item,) = world.client("dynamodb").scan(TableName="reports")["Items"]
        assert float(item["at"]["N"]) < 1_735_689_601, "the report is late"

    verdict = proved(handler, invariants=(written_at_once,))

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.sentence == "written_at_once does not hold: the report is late"


def test_result_that_a_repetition_does_not_return_is_found_if_asked_for(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> dict[str, bool]:
        is_new = claim(execution_of(event), report={"S": "x"})
        return {"new": is_new}

    assert proved(handler).counterexample is None
    verdict = proved(handler, stable_results=True)
    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.STABLE


def test_record_that_stays_running_is_stuck_even_if_the_work_is_done(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        dynamodb = boto3.client("dynamodb")
        execution_id = execution_of(event)
        is_new = claim(execution_id, status={"S": "RUNNING"})
        dynamodb.put_item(TableName="reports", Item={"execution_id": {"S": execution_id}})
        if is_new:
            dynamodb.put_item(
                TableName="executions", Item={"execution_id": {"S": execution_id}, "status": {"S": "SUCCESS"}}
            )  # fmt: skip

    verdict = proved(handler)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.UNSTUCK
    assert "says RUNNING for ever" in verdict.counterexample.violation.sentence


def test_messages_of_a_batch_are_proved_together(proved: Prover) -> None:
    """A handler that fails the whole batch for one message repeats the others."""

    def handler(event: Any, context: Any) -> None:
        for record in event["Records"]:
            boto3.client("sqs").send_message(QueueUrl=URL, MessageBody=record["body"])

    verdict = proved(handler, bodies=("first", "second"))

    assert verdict.effects == {"message to mails": 2}
    assert verdict.counterexample is not None


def test_randomness_of_the_handler_follows_from_the_seed(proved: Prover) -> None:
    drawn: list[list[str]] = []

    def handler(event: Any, context: Any) -> None:
        drawn.append([str(uuid.uuid4()), secrets.token_hex(8), str(random.random()), os.urandom(4).hex()])
        send()

    proved(handler, faults=0)
    first = drawn.copy()
    drawn.clear()
    proved(handler, faults=0)

    assert drawn == first
    assert len({*first[0]}) == 4
