"""A queue that a rule fills with the events of failed executions: told, checked, and redriven where they failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redrive.deadletters import Action, Answer, DeadLetterQueue, Letter, Origin, decided
from redrive.deadletters.causes import Class
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.letter import name_of
from redrive.deadletters.sources import find_sources
from redrive.testing.world import World
from tests.unit.deadletters.killing import packed

ACCOUNT = "us-east-1:000000000000"
TASK = {
    "StartAt": "first", "States": {
        "first": {"Type": "Task", "Resource": f"arn:aws:lambda:{ACCOUNT}:function:first", "Next": "second"},
        "second": {"Type": "Task", "Resource": f"arn:aws:lambda:{ACCOUNT}:function:second", "End": True},
    },
}  # fmt: skip
CHOICE = {
    "StartAt": "choose",
    "States": {"choose": {"Type": "Choice", "Choices": [
        {"Variable": "$.n", "NumericEquals": 1, "Next": "end"}
    ]}, "end": {"Type": "Succeed"}},
}  # fmt: skip
SINCE = {"detail-type": ["Step Functions Execution Status Change"], "detail": {"status": ["FAILED", "TIMED_OUT"]}}


class Session:
    """A session of boto3 whose clients reach a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def client(self, service: str, endpoint_url: None = None, config: Any = None) -> Any:
        return self._world.client(service, config=config)


class Office:
    """Machines whose failures come to the queue `failed`."""

    def __init__(self) -> None:
        self.world = World(seed=1)
        self.done: list[str] = []
        self.is_broken = True
        self.error: type[Exception] = KeyError
        services = ["states.amazonaws.com", "lambda.amazonaws.com"]
        trust = {"Effect": "Allow", "Principal": {"Service": services}, "Action": "sts:AssumeRole"}
        iam = self.world.client("iam")
        self.role = iam.create_role(RoleName="all", AssumeRolePolicyDocument=_policy(trust))["Role"]["Arn"]
        allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        iam.put_role_policy(RoleName="all", PolicyName="all", PolicyDocument=_policy(allowed))
        for name in ("first", "second"):
            self._function(name)
        queue = f"arn:aws:sqs:{ACCOUNT}:failed"
        sends = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": queue}
        self.world.client("sqs").create_queue(QueueName="failed", Attributes={"Policy": _policy(sends)})
        events = self.world.client("events")
        events.put_rule(Name="failures", EventPattern=json.dumps(SINCE))
        events.put_targets(Rule="failures", Targets=[{"Id": "1", "Arn": queue}])
        self.states = self.world.client("stepfunctions")
        self.queue = DeadLetterQueue("failed", session=Session(self.world), now=self.world.clock.now, wait=self._wait)

    def _function(self, name: str) -> None:
        def work(event: Any, _: object) -> Any:
            self.done.append(name)
            if name == "second" and self.is_broken:
                raise self.error("order")
            return event

        self.world.functions.register(name, work)
        self.world.client("lambda").create_function(
            FunctionName=name, Runtime="python3.12", Handler="index.handler", Code={"ZipFile": packed()}, Role=self.role
        )

    def _wait(self, seconds: float) -> None:
        if seconds:
            self.world.advance(seconds=seconds)

    def fail(self, definition: Any, **value: object) -> str:
        """The ARN of an execution that has failed."""
        machine = self.states.create_state_machine(name="m", definition=json.dumps(definition), roleArn=self.role)
        started = self.states.start_execution(
            stateMachineArn=machine["stateMachineArn"], name="e", input=json.dumps(value)
        )
        self.world.advance(seconds=10)
        return str(started["executionArn"])

    def status(self, arn: str) -> str:
        return str(self.states.describe_execution(executionArn=arn)["status"])

    def checked(self) -> tuple[Letter, dict[str, Any]]:
        """The only letter, and what the gates say of it."""
        ((letter, findings),) = self.queue.check()
        return letter, {one.gate: one for one in findings} | {"all": decided(findings)}


def _policy(statement: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture
def office() -> Iterator[Office]:
    one = Office()
    yield one
    one.world.close()


def test_event_of_a_failed_execution_is_a_letter_with_the_error_of_its_task(office: Office) -> None:
    arn = office.fail(TASK, order=1)

    (letter,) = office.queue.letters()

    assert (letter.origin, name_of(letter.source_arn), letter.work.id) == (Origin.EXECUTION, "m", arn)
    assert (letter.failure.code, letter.failure.condition) == ("KeyError", "FAILED")
    assert json.loads(letter.work.text) == {"order": 1}


def test_event_of_an_execution_that_has_not_failed_is_no_letter_of_it(office: Office) -> None:
    office.is_broken = False
    every = {"detail-type": SINCE["detail-type"]}
    office.world.client("events").put_rule(Name="failures", EventPattern=json.dumps(every))
    office.fail(TASK, order=1)

    assert {one.origin for one in office.queue.letters()} == {Origin.UNKNOWN}


def test_queue_is_told_to_have_the_executions_of_the_rule(office: Office) -> None:
    found = find_sources(office.world.client, {}).of(f"arn:aws:sqs:{ACCOUNT}:failed")

    assert [(one["kind"], one["name"]) for one in found] == [("executions of rule", "failures")]


def test_triage_proposes_to_let_the_execution_go_on(office: Office) -> None:
    office.fail(TASK, order=1)

    (group,) = office.queue.triage().groups

    assert group.judgement.kind is Class.POISON
    assert "RedriveExecution" in group.judgement.advice


def test_failure_of_the_definition_is_not_redriven_but_started_anew(office: Office) -> None:
    office.fail(CHOICE, n=2)

    (group,) = office.queue.triage().groups

    assert (group.cause.code, group.judgement.kind) == ("States.NoChoiceMatched", Class.DEFINITION)
    assert "`to` stateMachine:ARN" in group.judgement.advice
    assert "RedriveExecution" not in group.judgement.advice
    _, findings = office.checked()
    assert (findings["execution"].answer, "ledger" in findings) == (Answer.CAUTION, False)


def test_check_says_until_when_an_execution_can_be_redriven(office: Office) -> None:
    office.fail(TASK, order=1)

    letter, findings = office.checked()

    told = findings["execution"]
    assert (told.answer, told.reason) == (Answer.GO, "it goes on at the step that failed")
    assert letter.sent_at is not None
    assert told.until == pytest.approx(letter.sent_at + 14 * 86_400_000, abs=1_000)


def test_execution_that_ended_more_than_14_days_ago_is_refused_with_what_to_do(office: Office) -> None:
    office.world.client("sqs").set_queue_attributes(
        QueueUrl=office.queue.url, Attributes={"MessageRetentionPeriod": "1209600"}
    )
    office.fail(TASK, order=1)
    body = next(office.queue.letters()).body
    office.world.advance(days=14, minutes=1)
    office.world.client("sqs").send_message(QueueUrl=office.queue.url, MessageBody=body)

    _, findings = office.checked()

    assert findings["all"] is Answer.REFUSE
    assert "period exceeded" in findings["execution"].reason
    assert "`to` stateMachine:ARN" in findings["execution"].reason


def test_execution_that_somebody_has_redriven_is_skipped(office: Office) -> None:
    arn = office.fail(TASK, order=1)
    office.is_broken = False
    office.states.redrive_execution(executionArn=arn)
    office.world.settle()

    _, findings = office.checked()

    assert findings["execution"].answer is Answer.SKIP


def test_execution_goes_on_at_the_step_that_failed_and_keeps_what_was_done(office: Office, tmp_path: Path) -> None:
    arn = office.fail(TASK, order=1)
    office.is_broken = False

    account = office.queue.run(_redriving(office), tmp_path / "j")
    office.world.settle()

    assert (account.sent, account.deleted) == (1, 1)
    assert office.status(arn) == "SUCCEEDED"
    assert office.done == ["first", "second", "second"]


def test_recovery_of_a_program_lets_executions_go_on_whose_errors_pass(office: Office, tmp_path: Path) -> None:
    office.error = TimeoutError
    arn = office.fail(TASK, order=1)
    office.is_broken = False
    began_at = office.world.now

    stages = office.queue.recover(tmp_path / "recovery")
    again = office.queue.recover(tmp_path / "recovery")

    assert [(one["stage"], one["sent"]) for one in stages] == [(1, 1)]
    assert (office.status(arn), again) == ("SUCCEEDED", [])
    assert office.world.now - began_at >= 360_000


def test_execution_that_fails_again_comes_back_and_is_not_taken_for_a_new_one(office: Office, tmp_path: Path) -> None:
    office.fail(TASK, order=1)
    plan = _redriving(office)
    office.queue.run(plan, tmp_path / "j")
    office.world.advance(seconds=10)

    again = office.queue.run(plan, tmp_path / "j")

    assert (again.sent, again.came_back) == (0, 1)
    assert office.done == ["first", "second", "second"]


def test_another_execution_starts_from_the_beginning_if_the_plan_says_so(office: Office, tmp_path: Path) -> None:
    arn = office.fail(TASK, order=1)
    office.is_broken = False
    machine = Destination(To.STATE_MACHINE, f"arn:aws:states:{ACCOUNT}:stateMachine:m")

    office.queue.run(_redriving(office, to=machine), tmp_path / "j")
    office.world.settle()

    assert office.status(arn) == "FAILED"
    assert office.done == ["first", "second", "first", "second"]


def test_input_that_is_too_large_for_the_event_is_asked_of_the_failed_execution(office: Office, tmp_path: Path) -> None:
    """EventBridge leaves it out: a redrive needs none, and another execution gets it."""
    office.fail(TASK, order=1)
    sqs = office.world.client("sqs")
    (message,) = sqs.receive_message(QueueUrl=office.queue.url)["Messages"]
    event = json.loads(message["Body"])
    event["detail"] |= {"input": None, "inputDetails": {"included": False}}
    sqs.delete_message(QueueUrl=office.queue.url, ReceiptHandle=message["ReceiptHandle"])
    sqs.send_message(QueueUrl=office.queue.url, MessageBody=json.dumps(event))
    office.is_broken = False
    machine = Destination(To.STATE_MACHINE, f"arn:aws:states:{ACCOUNT}:stateMachine:m")

    account = office.queue.run(_redriving(office, to=machine), tmp_path / "j")

    newest = office.states.list_executions(stateMachineArn=machine.name)["executions"][0]["executionArn"]
    told = office.states.describe_execution(executionArn=newest)
    assert (account.sent, json.loads(told["input"])) == (1, {"order": 1})


def test_edited_letter_of_an_execution_stays_since_a_redrive_keeps_the_input(office: Office, tmp_path: Path) -> None:
    office.fail(TASK, order=1)

    account = office.queue.run(
        _redriving(office, patch=({"op": "add", "path": "/a", "value": 1},)), tmp_path / "j"
    )  # fmt: skip

    assert account.sent == 0
    assert "RedriveExecution keeps the input" in next(iter(account.stays))


def _redriving(office: Office, **members: Any) -> Any:
    plan = office.queue.plan()
    rules = tuple(replace(rule, action=Action.REDRIVE, **members) for rule in plan.rules)
    return replace(plan, rules=rules, canary=replace(plan.canary, letters=0))
