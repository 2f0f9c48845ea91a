"""RedriveExecution: what is kept, what runs again, and when it is refused."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.unit.services.stepfunctions.conftest import Machines, code_of, message_of


class Flaky:
    """A function that fails while `is_broken`, and counts its calls by input."""

    def __init__(self) -> None:
        self.is_broken = True
        self.calls: list[object] = []

    def __call__(self, event, context):
        self.calls.append(event)
        if self.is_broken and event in ("b", 2):
            raise RuntimeError("broken")
        return event


@pytest.fixture
def flaky() -> Flaky:
    return Flaky()


def test_only_what_has_not_succeeded_runs_again_and_the_history_goes_on(machines: Machines, flaky: Flaky) -> None:
    task = {"Type": "Task", "Resource": machines.function("f", flaky), "ResultPath": None}
    ran = machines.run({"Type": "Pass", "Result": "b"}, task)
    flaky.is_broken = False

    at = machines.sfn.redrive_execution(executionArn=ran.arn)["redriveDate"]
    machines.world.settle()

    again = machines.ran(ran.arn)
    assert (ran.status, ran.shown["redriveStatus"]) == ("FAILED", "REDRIVABLE")
    assert (again.status, again.output, again.shown["redriveCount"]) == ("SUCCEEDED", "b", 1)
    assert (again.shown["redriveDate"], again.failure) == (at, (None, None))
    assert again.links == (
        ran.links + " 9<8 ExecutionRedriven 10<9 LambdaFunctionScheduled 11<10 LambdaFunctionStarted "
        "12<11 LambdaFunctionSucceeded 13<12 TaskStateExited 14<13 ExecutionSucceeded"
    )
    assert again.details(9) == {"redriveCount": 1}


def test_iterations_that_have_ended_keep_their_results(machines: Machines, flaky: Flaky) -> None:
    inner = {"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": machines.function("f", flaky), "End": True}}}
    ran = machines.run({"Type": "Map", "MaxConcurrency": 1, "ItemProcessor": inner}, value=[1, 2, 3])
    flaky.is_broken = False

    machines.sfn.redrive_execution(executionArn=ran.arn)
    machines.world.settle()

    assert ran.status == "FAILED"
    assert machines.ran(ran.arn).output == [1, 2, 3]
    assert flaky.calls == [1, 2, 2, 3]


def test_branch_that_was_aborted_runs_again_with_its_own_input(machines: Machines, flaky: Flaky) -> None:
    waits = {
        "StartAt": "W",
        "States": {"W": {"Type": "Wait", "Seconds": 60, "Next": "P"}, "P": {"Type": "Pass", "End": True}},
    }
    fails = {"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": machines.function("f", flaky), "End": True}}}
    ran = machines.run({"Type": "Parallel", "Branches": [waits, fails]}, value="b", seconds=9)
    flaky.is_broken = False

    machines.sfn.redrive_execution(executionArn=ran.arn)
    machines.world.advance(seconds=60)

    again = machines.ran(ran.arn)
    assert (ran.status, again.status, again.output) == ("FAILED", "SUCCEEDED", ["b", "b"])
    assert [event["type"] for event in again.events].count("ParallelStateStarted") == 1


def test_stopped_execution_waits_again_and_a_timeout_counts_from_the_redrive(machines: Machines) -> None:
    arn = machines.start(machines.create({"Type": "Wait", "Seconds": 60}))
    machines.world.advance(seconds=30)
    stopped = machines.sfn.stop_execution(executionArn=arn, error="E", cause="c")["stopDate"]
    again = machines.sfn.stop_execution(executionArn=arn)["stopDate"]
    aborted = machines.ran(arn)

    machines.sfn.redrive_execution(executionArn=arn)
    machines.world.advance(seconds=59)
    before = machines.ran(arn).status
    machines.world.advance(seconds=1)

    assert stopped == again
    assert (aborted.status, aborted.failure) == ("ABORTED", ("E", "c"))
    assert aborted.links.endswith("3<0 ExecutionAborted")
    assert (before, machines.ran(arn).status) == ("RUNNING", "SUCCEEDED")


def test_retries_are_counted_anew(machines: Machines, flaky: Flaky) -> None:
    retry = [{"ErrorEquals": ["RuntimeError"], "MaxAttempts": 1}]
    ran = machines.run(
        {"Type": "Task", "Resource": machines.function("f", flaky), "Retry": retry}, value="b", seconds=9
    )

    machines.sfn.redrive_execution(executionArn=ran.arn)
    machines.world.advance(seconds=9)

    assert len(flaky.calls) == 4
    assert machines.ran(ran.arn).status == "FAILED"


def test_client_token_answers_again_for_fifteen_minutes(machines: Machines) -> None:
    ran = machines.run({"Type": "Fail", "Error": "E"})

    first = machines.sfn.redrive_execution(executionArn=ran.arn, clientToken="t")["redriveDate"]
    machines.world.advance(minutes=14)
    second = machines.sfn.redrive_execution(executionArn=ran.arn, clientToken="t")["redriveDate"]
    machines.world.advance(minutes=1)
    third = machines.sfn.redrive_execution(executionArn=ran.arn, clientToken="t")["redriveDate"]

    assert first == second < third
    assert machines.ran(ran.arn).shown["redriveCount"] == 2


@pytest.mark.parametrize(
    ("state", "days", "reason"),
    [
        ({"Type": "Succeed"}, 0, "Execution is SUCCEEDED and cannot be redriven"),
        ({"Type": "Wait", "Seconds": 9}, 0, "Execution is RUNNING and cannot be redriven"),
        ({"Type": "Fail"}, 15, "Execution redrivable period exceeded"),
    ],
)
def test_redrive_is_refused_with_its_reason(machines: Machines, state, days: float, reason: str) -> None:
    ran = machines.run(state)
    machines.world.advance(days=days)

    with pytest.raises(ClientError) as refused:
        machines.sfn.redrive_execution(executionArn=ran.arn)

    shown = machines.ran(ran.arn).shown
    assert (code_of(refused), message_of(refused)) == ("ExecutionNotRedrivable", reason)
    assert (shown["redriveStatus"], shown["redriveStatusReason"]) == ("NOT_REDRIVABLE", reason)
