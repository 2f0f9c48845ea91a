"""Tasks of Step Functions as triggers: Retry and Catch of a state, lost answers, redrives, and templates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from redrive.core.clock import HOUR_MS
from redrive.prove.judge.judge import Rule
from redrive.prove.play.faults import parse_history
from redrive.prove.play.performance import Performance
from redrive.prove.process.subject import GivenSubject, NamedSubject
from redrive.prove.proving import prove, replay
from redrive.prove.search.options import Options
from redrive.prove.stage.inputs import called_trigger, usual_call
from redrive.prove.stage.retriers import DEATHS, LOST, USUAL_RETRY, Awaiting, Retrier, task
from redrive.prove.stage.sources import messages_of
from redrive.prove.stage.stage import START, Stage
from redrive.prove.stage.state_machines import tasks_of
from redrive.prove.stage.trigger import Kind, Trigger
from tests.unit.prove.conftest import Prover
from tests.unit.prove.invoking import Answering, failed, play_out, stage_for

EVERYTHING = Retrier(("States.ALL",))


def awaiting(*retriers: Retrier, **more: Any) -> Awaiting:
    return Awaiting(tuple(retriers), **more)


def played(who: Awaiting, *answers: Any, redrives: int = 0) -> tuple[Answering, int]:
    """The runs of a task whose attempts end so, and how many executions have failed in the end."""
    invoker = Answering(*answers)
    stage = stage_for(invoker)
    usual_call(stage, ('{"id":"1"}',), Kind.TASK)
    messages = messages_of(stage, called_trigger("handler", 30, Kind.TASK, ('{"id":"1"}',), who, {}))
    messages.send(0)
    play_out(stage, messages)
    for _ in range(redrives):
        messages.redrive()
        play_out(stage, messages)
    return invoker, messages.look().dead


def test_default_retrier_waits_one_two_and_four_seconds() -> None:
    invoker, dead = played(awaiting(EVERYTHING), *[failed("Error")] * 4)

    assert invoker.at_s == [0, 1, 3, 7]
    assert dead == 1


def test_longest_delay_cuts_the_waits() -> None:
    retrier = Retrier.of({"ErrorEquals": ["States.ALL"], "IntervalSeconds": 3, "MaxDelaySeconds": 5, "BackoffRate": 2})

    invoker, _ = played(awaiting(retrier), *[failed("Error")] * 4)

    assert invoker.at_s == [0, 3, 8, 13]


def test_each_attempt_has_the_same_input_and_another_request_id() -> None:
    invoker, dead = played(awaiting(EVERYTHING), failed("Error"), failed("Error"))

    assert invoker.events == [{"id": "1"}] * 3
    assert len(set(invoker.request_ids)) == 3
    assert dead == 0


def test_error_of_the_function_is_its_type_and_only_a_retrier_that_names_it_retries() -> None:
    retrier = Retrier(("OutOfStock",), attempts_max=5)

    named, _ = played(awaiting(retrier), failed("OutOfStock"))
    other, dead = played(awaiting(retrier), failed("ValueError"))

    assert (len(named.runs), len(other.runs), dead) == (2, 1, 1)


def test_retriers_count_for_themselves_and_the_first_that_matches_decides() -> None:
    first, second = Retrier(("A",), attempts_max=1), Retrier(("States.ALL",), attempts_max=1)

    invoker, dead = played(awaiting(first, second), failed("A"), failed("B"), failed("A"))

    assert (len(invoker.runs), dead) == (3, 1)


def test_no_attempts_are_none() -> None:
    never = Retrier.of({"ErrorEquals": ["ValueError"], "MaxAttempts": 0})

    invoker, _ = played(awaiting(never, EVERYTHING), failed("ValueError"))

    assert len(invoker.runs) == 1


@pytest.mark.parametrize("name", ["Lambda.Unknown", "Sandbox.Timedout", "Runtime.ExitError", "States.TaskFailed"])
def test_run_that_died_has_each_of_the_names_that_aws_gives_it(name: str) -> None:
    invoker, _ = played(awaiting(Retrier((name,))), failed("Runtime.ExitError"))

    assert len(invoker.runs) == 2


def test_retry_of_the_console_takes_no_error_of_the_function() -> None:
    who = Awaiting(USUAL_RETRY)

    assert who.retry(frozenset({"ValueError"}), who.unused) is None
    assert who.retry(DEATHS, who.unused) is None
    assert who.retry(LOST, who.unused) == (1_000, (1,))


def test_task_failed_does_not_take_a_timeout_and_all_does() -> None:
    timeout = frozenset({"States.Timeout"})

    assert awaiting(Retrier(("States.TaskFailed",))).retry(timeout, (0,)) is None
    assert awaiting(EVERYTHING).retry(timeout, (0,)) is not None
    assert awaiting(EVERYTHING).retry(frozenset({"States.Runtime"}), (0,)) is None


def test_retry_overlaps_a_run_if_its_answer_can_be_lost_or_the_task_has_a_shorter_timeout() -> None:
    by_timeout = awaiting(Retrier(("States.Timeout",)), timeout_ms=10_000)

    assert Awaiting(USUAL_RETRY).may_overlap(30_000)
    assert by_timeout.may_overlap(30_000)
    assert not by_timeout.may_overlap(5_000)
    assert not awaiting(Retrier(("ValueError",))).may_overlap(30_000)


def test_redrive_runs_the_task_again_with_all_its_retries() -> None:
    invoker, dead = played(awaiting(Retrier(("Error",), attempts_max=1)), *[failed("Error")] * 3, redrives=1)

    assert invoker.at_s == [0, 1, 1, 2]
    assert dead == 0


def test_lost_answer_uses_up_a_retry_and_fails_the_state_without_one() -> None:
    def runs_after_lost_answers(who: Awaiting) -> tuple[int, int]:
        invoker = Answering()
        stage = stage_for(invoker)
        usual_call(stage, ("{}",), Kind.TASK)
        messages = messages_of(stage, called_trigger("handler", 30, Kind.TASK, ("{}",), who, {}))
        for _ in range(3):
            messages.send(0)
            play_out(stage, messages)
        return len(invoker.runs), messages.look().dead

    assert runs_after_lost_answers(awaiting(Retrier(("Lambda.SdkClientException",), attempts_max=1))) == (2, 1)
    assert runs_after_lost_answers(awaiting()) == (1, 1)
    assert runs_after_lost_answers(awaiting(is_repeated=True)) == (3, 0)


def test_answer_of_a_run_that_was_overtaken_by_its_retry_decides_nothing() -> None:
    """The connection is lost while the first run goes on; the retry is done, and then the first run fails."""
    invoker = Answering(failed("Error"))
    stage = stage_for(invoker)
    usual_call(stage, ("{}",), Kind.TASK)
    messages = messages_of(stage, called_trigger("handler", 30, Kind.TASK, ("{}",), awaiting(EVERYTHING), {}))

    def lose(_: object) -> None:
        if len(invoker.runs) == 1:
            messages.send(0)
            messages.settle()

    invoker.during = lose
    messages.send(0)
    play_out(stage, messages)

    assert (len(invoker.runs), messages.look().is_pending, messages.look().dead) == (2, False, 0)


def test_state_of_the_calls_is_saved_and_decides_whether_moments_are_alike() -> None:
    invoker = Answering(failed("Error"))
    stage = stage_for(invoker)
    usual_call(stage, ("{}",), Kind.TASK)
    messages = messages_of(stage, called_trigger("handler", 30, Kind.TASK, ("{}",), awaiting(EVERYTHING), {}))
    empty = stage.likeness()
    messages.send(0)
    moment, sent = messages.save(), stage.likeness()
    messages.turn()
    retrying = stage.likeness()
    messages.load(moment)

    assert len({empty, sent, retrying}) == 3
    assert stage.likeness() == sent
    assert messages.next_due() == START


def put(key: str) -> None:
    boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": key}})


def add(key: str) -> None:
    boto3.client("dynamodb").update_item(
        TableName="orders", Key={"id": {"S": key}}, UpdateExpression="ADD charges :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )  # fmt: skip


def test_handler_that_writes_under_a_key_of_its_input_is_proved(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        put(event["id"])
        put(event["id"] + "/done")

    verdict = proved(handler, trigger=Kind.TASK, faults=2)

    assert verdict.counterexample is None
    assert verdict.trigger is Kind.TASK
    assert "Lambda.TooManyRequestsException: 3 retries, after 1, 2 and 4 s" in verdict.assumptions["Retry"]


def test_request_id_is_no_key_because_a_lost_answer_runs_the_task_again(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        put(context.aws_request_id)

    history = parse_history(["deliver", "duplicate"])
    found = replay(GivenSubject(handler), history, Options(trigger=Kind.TASK))

    assert found is not None
    assert found.violation.rule.value == "repeated"
    assert any("Lambda.SdkClientException" in step.text for step in found.steps)
    assert found.steps[-1].at == "+1s"


def test_state_that_fails_is_redriven_and_repeats_what_was_done(proved: Prover) -> None:
    """The console's Retry takes no crash: the execution fails, and somebody redrives it."""

    def handler(event: Any, context: Any) -> None:
        add(event["id"])

    found = proved(handler, trigger=Kind.TASK).counterexample

    assert found is not None
    texts = [step.text for step in found.steps]
    assert any("the state fails" in text for text in texts)
    assert any("redrives the execution" in text for text in texts)


def test_retry_may_begin_while_the_run_goes_on() -> None:
    """Read, then write: both runs read before either has written."""

    def handler(event: Any, context: Any) -> None:
        client, key = boto3.client("dynamodb"), {"id": {"S": event["id"]}}
        if "Item" in client.get_item(TableName="seen", Key=key):
            return
        client.put_item(TableName="seen", Item=key)
        boto3.client("events").put_events(Entries=[{"Source": "a", "DetailType": "b", "Detail": "{}"}])

    history = parse_history(["deliver overlap dynamodb:PutItem seen #1"])
    found = replay(GivenSubject(handler), history, Options(trigger=Kind.TASK))

    assert found is not None
    assert found.violation.rule.value == "repeated"


def test_redrive_comes_within_fourteen_days() -> None:
    invoker = Answering()
    trigger: Trigger = usual_call(stage_for(invoker), ("{}",), Kind.TASK)

    assert trigger.retention_ms == 14 * 24 * HOUR_MS


DEFINITION = {
    "StartAt": "Both",
    "States": {
        "Both": {
            "Type": "Parallel",
            "Branches": [
                {
                    "StartAt": "Charge",
                    "States": {
                        "Charge": {
                            "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True,
                            "Parameters": {
                                "FunctionName": "${ChargeArn}",
                                "Payload": {"order.$": "$.order", "kind": "charge", "run.$": "$$.Execution.Id"},
                            },
                            "Retry": [{"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 2}],
                            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Charge"}],
                            "TimeoutSeconds": 10,
                        },
                    },
                },
            ],
            "Next": "Ship",
        },
        "Ship": {"Type": "Task", "Resource": "${ShipArn}", "End": True},
    },
}  # fmt: skip
NAMES = {"ChargeArn": {"Fn::GetAtt": ["Charge", "Arn"]}, "ShipArn": {"Fn::Sub": "${Ship.Arn}"}}


def machine(**properties: Any) -> dict[str, Any]:
    return {"Resources": {"Flow": {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}}}


def as_joined() -> dict[str, Any]:
    """As the CDK writes a definition: pieces of text around references."""
    before, after = json.dumps(DEFINITION).replace("${ShipArn}", "${Ship}").split("${ChargeArn}")
    return {"Fn::Join": ["", [before, {"Fn::GetAtt": ["Charge", "Arn"]}, after]]}


@pytest.mark.parametrize(
    "template",
    [
        machine(DefinitionString=json.dumps(DEFINITION), DefinitionSubstitutions=NAMES),
        machine(Definition=DEFINITION, DefinitionSubstitutions=NAMES),
        machine(DefinitionString=as_joined()),
        machine(DefinitionString={"Fn::Sub": [json.dumps(DEFINITION), NAMES]}),
    ],
    ids=["string", "object", "join", "sub"],
)
def test_tasks_of_a_template_are_found_however_their_functions_are_named(template: Any) -> None:
    charge, ship = tasks_of(template, {"Charge": "c", "Ship": "s", "Other": "o"})

    assert (charge.machine, charge.name, charge.function, ship.name, ship.function) == (
        "Flow", "Charge", "Charge", "Ship", "Ship"
    )  # fmt: skip
    assert charge.awaiting == Awaiting(
        (Retrier(("States.TaskFailed",), attempts_max=2),), (("States.ALL",),), timeout_ms=10_000
    )
    assert charge.payload is not None
    assert charge.payload["kind"] == "charge"
    assert (ship.awaiting, ship.payload) == (Awaiting(()), None)


def test_alias_of_a_function_is_the_function_and_an_express_workflow_may_run_twice() -> None:
    state = {"Type": "Task", "Resource": {"Ref": "ChargeAliaslive"}, "End": True}
    template = machine(Definition={"StartAt": "A", "States": {"A": state}}, StateMachineType="EXPRESS")

    (found,) = tasks_of(template, {"Charge": "charge"})

    assert found.function == "Charge"
    assert found.awaiting.is_repeated


@pytest.mark.parametrize("name", ["charge", "arn:aws:lambda:x:1:function:charge", "arn:x:1:function:charge:live"])
def test_function_may_be_named_by_its_own_name(name: str) -> None:
    state = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": name}}
    template = machine(Definition={"StartAt": "A", "States": {"A": state}})

    assert [one.function for one in tasks_of(template, {"Other": "ship", "Charge": "charge"})] == ["Charge"]


def test_what_is_no_definition_has_no_tasks() -> None:
    assert not list(tasks_of(machine(DefinitionString="{["), {"Charge": "c"}))
    assert not list(tasks_of(machine(DefinitionS3Location={"Bucket": "b"}), {"Charge": "c"}))


def test_numbers_that_a_definition_computes_are_the_defaults() -> None:
    retry = [{"ErrorEquals": ["A"], "MaxAttempts": "{% 5 %}"}]
    made = task({"Retry": retry, "TimeoutSeconds": "{% 1 %}"}, is_express=False)

    assert made == Awaiting((Retrier(("A",)),))


SAM = """
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: python3.11, CodeUri: .}}
Resources:
  Orders: {Type: AWS::Serverless::SimpleTable}
  Charge:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app_of_task.handler
      Environment: {Variables: {TABLE: !Ref Orders}}
      Policies: [{DynamoDBWritePolicy: {TableName: !Ref Orders}}]
  Seen: {Type: AWS::Serverless::SimpleTable, Properties: {TableName: stack-Seen}}
  Other: {Type: AWS::Serverless::Function, Properties: {Handler: app_of_task.other}}
  Flow:
    Type: AWS::Serverless::StateMachine
    Properties:
      Role: arn:aws:iam::000000000000:role/flow
      DefinitionUri: flow.asl.json
      DefinitionSubstitutions: {ChargeArn: !GetAtt Charge.Arn, ShipArn: "arn:aws:states:::aws-sdk:sqs:listQueues"}
"""
CODE = """
import os
import boto3

def handler(event, context):
    assert event["kind"] == "charge" and event["run"].startswith("arn:aws:states:")
    boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": %s}})

def other(event, context):
    boto3.client("dynamodb").put_item(TableName="stack-Seen", Item={"id": {"S": event["order"]}})
"""


def written(tmp_path: Path, key: str) -> Path:
    (tmp_path / "app_of_task.py").write_text(CODE % key)
    (tmp_path / "flow.asl.json").write_text(json.dumps(DEFINITION))
    (tmp_path / "template.yaml").write_text(SAM)
    return tmp_path / "template.yaml"


def test_function_that_a_state_machine_of_the_template_calls_is_proved_with_its_retry(tmp_path: Path) -> None:
    verdict = prove(None, Options(template=written(tmp_path, 'event["order"]["id"]'), faults=2))

    assert verdict.counterexample is None
    assert verdict.handler == "app_of_task:handler"
    assert verdict.assumptions["task"] == (
        "the state Charge of Flow: Retry of States.TaskFailed: 2 retries, after 1 and 2 s, a Catch"
    )
    assert json.loads(verdict.bodies[0])["order"] == {"id": "sample-id"}


def test_retry_of_the_template_finds_a_function_that_keys_by_its_request(tmp_path: Path) -> None:
    verdict = prove(None, Options(template=written(tmp_path, "context.aws_request_id"), faults=1))

    assert verdict.counterexample is not None
    assert verdict.counterexample.steps[3].at == "+1s"


def test_function_that_no_state_machine_calls_is_a_task_with_the_retry_of_the_console_if_it_is_named(
    tmp_path: Path,
) -> None:
    template = written(tmp_path, 'event["order"]["id"]')
    subject = NamedSubject("app_of_task", "other", tmp_path)

    verdict = prove(subject, Options(template=template, trigger=Kind.TASK, faults=1))

    assert verdict.counterexample is None
    assert "task" not in verdict.assumptions


def gives_up_at_the_third_attempt(event: Any, context: Any) -> Any:
    """Two attempts that died are one too many: the third answers that all is well."""
    client = boto3.client("dynamodb")
    counted = client.update_item(
        TableName="attempts", Key={"id": {"S": "1"}}, UpdateExpression="ADD attempts :by",
        ExpressionAttributeValues={":by": {"N": "1"}}, ReturnValues="UPDATED_NEW",
    )  # fmt: skip
    if int(counted["Attributes"]["attempts"]["N"]) <= 2:
        client.put_item(TableName="orders", Item={"id": {"S": "1"}})
        client.put_item(TableName="mails", Item={"id": {"S": "1"}})
    return {"statusCode": 200}


@pytest.mark.parametrize("kind", [Kind.TASK, Kind.API])
def test_pruned_search_and_thorough_search_of_awaited_calls_come_to_the_same(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thorough one asks the engine anew on each leg, and takes two moments for the same if all of them is."""

    def everything(performance: Performance) -> object:
        left = performance.save().messages[3]
        return object() if performance.running else (performance.stage.digest(), performance.journal.traces, repr(left))

    options = Options(faults=2, trigger=kind, ignored=("dynamodb:*:attempts",))
    subject = GivenSubject(gives_up_at_the_third_attempt)
    pruned = prove(subject, options)
    monkeypatch.setattr(Performance, "likeness", everything)
    monkeypatch.setattr(Stage, "mark", lambda *_, **__: None)

    thorough = prove(subject, options)

    assert pruned.counterexample is not None
    assert thorough.counterexample is not None
    assert pruned.counterexample.violation.rule is Rule.ALL
    assert pruned.counterexample.history == thorough.counterexample.history
    assert pruned.bounds.histories <= thorough.bounds.histories
