"""`redrive dlq check`: a table of gates, and an exit code for scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from redrive.handler.ledger import Fresh
from redrive.handler.ledgers.dynamodb import DynamoDBLedger
from tests.unit.cli.conftest import Terminal

FAILING = """
Resources:
  Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: dead-jobs}}
  Jobs:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: jobs
      VisibilityTimeout: 30
      RedrivePolicy: {deadLetterTargetArn: {Fn::GetAtt: [Dead, Arn]}, maxReceiveCount: 2}
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: sts:AssumeRole}]
      Policies:
        - PolicyName: all
          PolicyDocument: {Version: '2012-10-17', Statement: [{Effect: Allow, Action: '*', Resource: '*'}]}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      FunctionName: jobs
      Runtime: python3.12
      Handler: index.handler
      Role: {Fn::GetAtt: [Role, Arn]}
      Timeout: 5
      Code: {ZipFile: "def handler(event, context): raise KeyError('order')"}
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {FunctionName: {Ref: Function}, EventSourceArn: {Fn::GetAtt: [Jobs, Arn]}}
"""
ARN = "arn:aws:sqs:us-east-1:000000000000"


@pytest.fixture
def dead(terminal: Terminal) -> str:
    """A queue with three messages that a redrive policy has moved: orders 0, 1 and 2."""
    sqs = terminal.client("sqs")
    url = str(sqs.create_queue(QueueName="dead")["QueueUrl"])
    policy = json.dumps({"deadLetterTargetArn": f"{ARN}:dead", "maxReceiveCount": 1})
    orders = sqs.create_queue(QueueName="orders", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "1"})
    for number in range(3):
        sqs.send_message(QueueUrl=orders["QueueUrl"], MessageBody=json.dumps({"order": f"o-{number}"}))
    for _ in range(2):
        sqs.receive_message(QueueUrl=orders["QueueUrl"], MaxNumberOfMessages=10)
        terminal.advance(2)
    return url


@pytest.fixture
def ledger(terminal: Terminal) -> DynamoDBLedger:
    """Order 0 is done."""
    dynamodb = terminal.client("dynamodb")
    dynamodb.create_table(
        TableName="executions", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "execution_id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "execution_id", "AttributeType": "S"}],
    )  # fmt: skip
    terminal.advance(60)
    ledger = DynamoDBLedger("executions", client=dynamodb)
    done = ledger.begin("o-0")
    assert isinstance(done, Fresh)
    ledger.finish(done.token, "done")
    return ledger


def visible(terminal: Terminal, url: str) -> int:
    names = ["ApproximateNumberOfMessages"]
    told = terminal.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return int(told[names[0]])


def answers(told: Any) -> Any:
    (group,) = told["groups"]
    return group["answers"]


def test_letters_whose_work_is_done_are_skipped_and_the_others_go(
    terminal: Terminal, dead: str, ledger: DynamoDBLedger
) -> None:
    told = terminal.json("dlq", "check", "dead", "--ledger", "executions", "--key", "body.order")

    assert (told["letters"], answers(told)) == (3, {"go": 2, "skip": 1})
    assert visible(terminal, dead) == 3


def test_letter_that_has_to_wait_makes_the_exit_code_4(terminal: Terminal, dead: str, ledger: DynamoDBLedger) -> None:
    ledger.begin("o-1", lease_s=10**9, keep_s=2 * 10**9)

    done = terminal.run("dlq", "check", "dead", "--ledger", "executions", "--key", "body.order")

    assert done.exit_code == 4
    told = json.loads(done.stdout)
    assert answers(told) == {"go": 1, "skip": 1, "wait": 1}
    (held,) = [one for one in told["groups"][0]["findings"] if one["answer"] == "wait"]
    assert held["until"]
    assert held["letters"] == len(held["samples"]) == 1


def test_source_queue_that_is_gone_refuses_every_letter(terminal: Terminal, dead: str) -> None:
    sqs = terminal.client("sqs")
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="orders")["QueueUrl"])

    done = terminal.run("dlq", "check", "dead")

    assert done.exit_code == 4
    assert answers(json.loads(done.stdout)) == {"refuse": 3}


def test_parser_of_the_project_is_asked(
    terminal: Terminal, dead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders_parser.py").write_text("def parse(text):\n    assert 'o-2' not in text, 'too many'\n", "utf-8")
    monkeypatch.chdir(tmp_path)

    done = terminal.run("dlq", "check", "dead", "--parse", "orders_parser:parse")

    assert done.exit_code == 4
    assert answers(json.loads(done.stdout)) == {"caution": 2, "refuse": 1}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--key", "id"], "--key needs a ledger"),
        (["--powertools", "t"], "--powertools needs --name"),
        (["--powertools", "t", "--name", "n", "--ledger", "t"], "are two ledgers"),
        (["--parse", "nowhere:parse"], "There is no parser nowhere:parse"),
        (["--parse", "json"], "There is no parser json"),
        (["--ledger", "t", "--key", "["], "is not JMESPath"),
        (["--key-memory", "charge=soon"], "is not a duration"),
    ],
)
def test_options_that_do_not_fit_are_told(terminal: Terminal, dead: str, options: list[str], said: str) -> None:
    done = terminal.run("dlq", "check", "dead", *options)

    assert done.exit_code == 2
    assert said in done.stderr


def test_ledger_that_does_not_exist_is_told(terminal: Terminal, dead: str) -> None:
    done = terminal.run("dlq", "check", "dead", "--ledger", "nowhere")

    assert done.exit_code == 1
    assert "ResourceNotFoundException" in done.stderr
    assert visible(terminal, dead) == 3


def test_logs_are_asked_for_letters_without_an_error_and_what_they_told_is_said(terminal: Terminal, dead: str) -> None:
    triage = terminal.run("dlq", "triage", "dead", "--logs")
    checked = terminal.run("dlq", "check", "dead", "--logs")
    (letter, *_) = terminal.json("dlq", "show", "dead", "--logs")["letters"]
    one = terminal.json("dlq", "show", "dead", letter["message_id"], "--logs")

    said = "3 letters hold no error; the logs have the error of 0."
    assert said in triage.stderr
    assert said in checked.stderr
    assert (one["work"], "evidence" in one) == (letter["work"], False)


def test_error_in_the_log_of_the_function_of_the_queue_becomes_the_cause(terminal: Terminal) -> None:
    terminal.deploy(yaml.safe_load(FAILING), "failing")
    sqs = terminal.client("sqs")
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName="jobs")["QueueUrl"], MessageBody="job")
    for _ in range(5):
        terminal.advance(60)

    (group,) = terminal.json("dlq", "triage", "dead-jobs", "--logs")["groups"]
    (letter,) = terminal.json("dlq", "show", "dead-jobs")["letters"]
    shown = terminal.json("dlq", "show", "dead-jobs", letter["message_id"], "--logs")

    assert (group["code"], group["class"]) == ("KeyError", "poison")
    assert shown["failure"]["message"] == "'order'"
    assert shown["evidence"]["log_group"] == "/aws/lambda/jobs"


def planned(terminal: Terminal, folder: Path, **changes: object) -> Path:
    """A plan that redrives all letters."""
    file = folder / "plan.json"
    terminal.json("dlq", "plan", "dead", "--to-file", str(file))
    plan = json.loads(file.read_text("utf-8"))
    plan["canary"] = {"letters": 1, "watch_s": 0}
    for group in plan["groups"]:
        group.update({"action": "redrive"} | changes)
    file.write_text(json.dumps(plan), "utf-8")
    return file


def test_run_of_a_plan_leaves_what_a_gate_knows_to_be_done(
    terminal: Terminal, dead: str, ledger: DynamoDBLedger, tmp_path: Path
) -> None:
    plan = planned(terminal, tmp_path)

    done = terminal.run("dlq", "redrive", str(plan), "--ledger", "executions", "--key", "body.order")

    told = json.loads(done.stdout)
    assert (done.exit_code, told["sent"], told["gated"]) == (4, 2, 1)
    assert visible(terminal, dead) == 1


def test_run_of_a_plan_asks_whether_the_destination_exists(terminal: Terminal, dead: str, tmp_path: Path) -> None:
    sqs = terminal.client("sqs")
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="orders")["QueueUrl"])

    done = terminal.run("dlq", "redrive", str(planned(terminal, tmp_path)))

    told = json.loads(done.stdout)
    assert (done.exit_code, told["sent"], told["gated"]) == (4, 0, 3)
    assert visible(terminal, dead) == 3


def test_run_of_a_plan_asks_about_the_destination_of_the_plan(terminal: Terminal, dead: str, tmp_path: Path) -> None:
    sqs = terminal.client("sqs")
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="orders")["QueueUrl"])
    aside = sqs.create_queue(QueueName="aside")["QueueUrl"]

    told = terminal.json("dlq", "redrive", str(planned(terminal, tmp_path, to=f"queue:{aside}")))

    assert (told["sent"], visible(terminal, aside)) == (3, 3)


def test_letters_whose_work_is_done_are_discarded_with_an_export_if_the_user_says_so(
    terminal: Terminal, dead: str, ledger: DynamoDBLedger, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    terminal.json("dlq", "plan", "dead", "--to-file", str(plan), "--redrive", "1", "--key", "orders=body.order")

    told = terminal.json("dlq", "redrive", str(plan), "--ledger", "executions", "--discard-done")

    exported = (tmp_path / "plan.json.discarded.jsonl").read_text("utf-8").splitlines()
    assert (told["sent"], told["discarded"], told["gated"]) == (2, 1, 0)
    assert told["discards"] == [{"letters": 1, "reason": "ledger: it has succeeded: a redrive would do nothing"}]
    assert [json.loads(line)["work"]["text"] for line in exported] == ['{"order": "o-0"}']


def test_option_counts_more_than_the_key_in_the_plan(
    terminal: Terminal, dead: str, ledger: DynamoDBLedger, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    terminal.json("dlq", "plan", "dead", "--to-file", str(plan), "--redrive", "1", "--key", "body.nothing")

    told = terminal.run("dlq", "redrive", str(plan), "--ledger", "executions", "--key", "orders=body.order")

    assert (told.exit_code, json.loads(told.stdout)["gated"]) == (4, 1)
