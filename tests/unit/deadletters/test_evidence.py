"""Letters without an error get the one that the log of their function tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.deadletters import evidence
from redrive.deadletters.causes import Class, judge
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.evidence import Certainty, Logs
from redrive.deadletters.letter import Letter
from redrive.deadletters.log_lines import read_line
from redrive.testing.world import World

ID = "01234567-89ab-cdef-0123-456789abcdef"
TRACEBACK = "Traceback (most recent call last):"
TIMED_OUT = "Task timed out after 3.00 seconds"
KILLED = "Runtime exited with error: signal: killed"
OTHER = "76543210-89ab-cdef-0123-456789abcdef"

TEMPLATE = """
Resources:
  Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: dead}}
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: orders
      VisibilityTimeout: 30
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 2}
  Role:
    Type: AWS::IAM::Role
    Properties:
      RoleName: worker
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: sts:AssumeRole}]
      Policies:
        - PolicyName: all
          PolicyDocument: {Version: '2012-10-17', Statement: [{Effect: Allow, Action: '*', Resource: '*'}]}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      FunctionName: orders
      Runtime: python3.12
      Handler: index.handler
      Role: !GetAtt Role.Arn
      Timeout: 5
      Code:
        ZipFile: |
          import json
          def handler(event, context):
              for record in event["Records"]:
                  body = json.loads(record["body"])
                  if body.get("names"):
                      print("record", record["messageId"])
                  if body.get("prints"):
                      for line in ["Traceback (most recent call last):", "  File", "RuntimeError: printed"]:
                          print(line)
                      return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
                  raise {"KeyError": KeyError, "TypeError": TypeError}[body["error"]]("order")
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !Ref Function
      EventSourceArn: !GetAtt Orders.Arn
      BatchSize: 1
      FunctionResponseTypes: [ReportBatchItemFailures]
"""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A function that fails, and writes its log."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    world = World(seed=1)
    world.deploy(TEMPLATE)
    yield world
    world.close()


def dead(world: World, *bodies: Any) -> list[Letter]:
    """The letters of messages with these bodies, after the function has failed with each."""
    sqs = world.client("sqs")
    orders, queue = (sqs.get_queue_url(QueueName=name)["QueueUrl"] for name in ("orders", "dead"))
    for body in bodies:
        sqs.send_message(QueueUrl=orders, MessageBody=json.dumps(body))
    world.advance(minutes=5)
    told = sqs.receive_message(
        QueueUrl=queue, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"]
    )
    letters = [read_letter(message) for message in told["Messages"]]
    assert len(letters) == len(bodies)
    return sorted(letters, key=lambda letter: letter.body)


def logs(world: World) -> Logs:
    return Logs(world.client, world.clock.now, tuple)


def test_error_of_a_message_is_found_by_its_id(world: World) -> None:
    letters = dead(world, {"error": "KeyError", "names": True}, {"error": "TypeError", "names": True})

    found = [logs(world).refined(letter) for letter in letters]

    assert [(letter.failure.code, letter.failure.condition) for letter, _ in found] == [
        ("KeyError", "maxReceiveCount"), ("TypeError", "maxReceiveCount")
    ]  # fmt: skip
    assert [proof.certainty for _, proof in found if proof] == [Certainty.BY_ID, Certainty.BY_ID]
    assert [judge(letter.failure, letter.origin).kind for letter, _ in found] == [Class.POISON, Class.CODE]
    assert "index.py" in found[0][0].failure.trace[0]


def test_only_error_of_the_hour_is_the_error_of_a_message_that_no_log_names(world: World) -> None:
    (letter,) = dead(world, {"error": "KeyError"})

    refined, proof = logs(world).refined(letter)

    assert refined.failure.code == "KeyError"
    assert proof is not None
    assert (proof.certainty, proof.log_group) == (Certainty.BY_TIME, "/aws/lambda/orders")


def test_several_errors_of_the_hour_prove_nothing(world: World) -> None:
    letters = dead(world, {"error": "KeyError"}, {"error": "TypeError"})

    assert [logs(world).refined(letter) for letter in letters] == [(letter, None) for letter in letters]


def test_logs_are_read_once_for_all_letters_of_an_hour(world: World) -> None:
    letters = dead(world, *({"error": "KeyError"} for _ in range(5)))
    asked: list[str] = []

    def client(service: str) -> Any:
        asked.append(service)
        return world.client(service)

    found = Logs(client, world.clock.now, tuple)
    assert all(found.evidence(letter) for letter in letters)

    assert asked.count("logs") == 2


def test_traceback_that_is_written_line_by_line_is_put_together(world: World) -> None:
    (letter,) = dead(world, {"error": "KeyError", "names": True, "prints": True})

    refined, _ = logs(world).refined(letter)

    assert (refined.failure.code, refined.failure.message) == ("RuntimeError", "printed")


def test_log_that_is_too_long_is_read_in_part_and_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "EVENTS_MAX", 1)
    (letter,) = dead(world, {"error": "KeyError"})
    found = logs(world)

    found.evidence(letter)

    assert "the rest was not read" in found.refused["/aws/lambda/orders"]


def test_log_group_that_does_not_exist_is_told_and_is_no_evidence(world: World) -> None:
    (letter,) = dead(world, {"error": "KeyError"})
    world.client("logs").delete_log_group(logGroupName="/aws/lambda/orders")
    found = logs(world)

    assert found.refined(letter) == (letter, None)
    assert list(found.refused) == ["/aws/lambda/orders"]


@pytest.mark.parametrize(
    ("message", "code", "text"),
    [
        (f"[ERROR] KeyError: 'a'\n{TRACEBACK}\n\xa0\xa0File \"a.py\", line 1", "KeyError", "'a'"),
        ("[ERROR] app.Refused", "app.Refused", ""),
        (f"went wrong\n{TRACEBACK}\n  File \"a.py\", line 1\nValueError: no", "ValueError", "no"),
        (
            f"2026-01-01T00:00:00.000Z\t{ID}\tERROR\tInvoke Error \t" + '{"errorType":"Error","errorMessage":"no"}',
            "Error", "no",
        ),
        (f"2026-01-01T00:00:00.000Z {ID} Task timed out after 3.00 seconds", "Sandbox.Timedout", TIMED_OUT),
        (f"RequestId: {ID} Error: {KILLED}", "Runtime.ExitError", KILLED),
        (f'{{"errorType": "KeyError", "errorMessage": "no", "requestId": "{ID}"}}', "KeyError", "no"),
        (
            f'{{"exception_name": "KeyError", "exception": "{TRACEBACK}\\n  File\\nKeyError: no"}}',
            "KeyError", "no",
        ),
        (
            f'{{"type": "platform.report", "record": {{"requestId": "{ID}", "status": "timeout"}}}}',
            "Sandbox.Timedout", "Task timed out",
        ),
    ],
)  # fmt: skip
def test_line_that_tells_an_error(message: str, code: str, text: str) -> None:
    failure = read_line(message).failure

    assert failure is not None
    assert (failure.code, failure.message) == (code, text)


@pytest.mark.parametrize(
    "message", ["hello", '{"level": "INFO", "message": "done"}', f"END RequestId: {ID}", "", "{", "[]"]
)
def test_line_that_tells_no_error(message: str) -> None:
    assert read_line(message).failure is None


@pytest.mark.parametrize(
    "message",
    [
        f"START RequestId: {ID} Version: $LATEST", f"[INFO]\t2026-01-01T00:00:00.000Z\t{ID}\trecord {OTHER}",
        f"2026-01-01T00:00:00.000Z\t{ID}\tINFO\t{OTHER}", f'{{"function_request_id": "{ID}", "message": "{OTHER}"}}',
    ],
)  # fmt: skip
def test_line_names_its_request_and_other_ids(message: str) -> None:
    line = read_line(message)

    assert line.request_id == ID
    assert line.ids == (frozenset() if line.starts else {OTHER})


@given(st.text() | st.from_regex(r"\{.*Traceback \(most recent call last\):.*\}") | st.from_regex(r"\[ERROR\] .*"))
def test_no_line_breaks_the_reader(message: str) -> None:
    read_line(message)
