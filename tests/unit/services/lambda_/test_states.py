"""A function's states: Pending after its creation, an update in progress, and the revision of each."""

from __future__ import annotations

import pytest

from redrive.delivery.operation import Wait
from redrive.services.lambda_.limits import PASSAGE_MS
from tests.unit.services.lambda_.functions import ARN, Rig, archive

CONFLICT = "ResourceConflictException"
CANNOT = "The operation cannot be performed at this time."
PENDING = (CONFLICT, f"{CANNOT} The function is currently in the following state: Pending")
IN_PROGRESS = (CONFLICT, f"{CANNOT} An update is in progress for resource: {ARN}worker")
UPDATES = [("UpdateFunctionCode", {"ZipFile": archive("a = 1")}), ("UpdateFunctionConfiguration", {"Timeout": 5})]


@pytest.mark.parametrize(("operation", "params"), UPDATES)
def test_update_answers_that_it_is_in_progress_and_ends_successful(
    rig: Rig, operation: str, params: dict[str, object]
) -> None:
    rig.create_function()
    rig.advance(1)

    answer = rig.call(operation, FunctionName="worker", **params)
    rig.advance(1)

    assert (answer["State"], answer["LastUpdateStatus"]) == ("Active", "InProgress")
    assert answer["LastUpdateStatusReason"] == "The function is being created."
    assert answer["LastUpdateStatusReasonCode"] == "Creating"
    found = rig.call("GetFunctionConfiguration", FunctionName="worker")
    assert (found["State"], found["LastUpdateStatus"]) == ("Active", "Successful")
    assert "LastUpdateStatusReason" not in found


@pytest.mark.parametrize(("operation", "params"), UPDATES)
def test_update_during_an_update_is_a_conflict(rig: Rig, operation: str, params: dict[str, object]) -> None:
    rig.create_function()
    rig.advance(1)
    rig.call("UpdateFunctionConfiguration", FunctionName="worker", Timeout=9)
    rig.advance((PASSAGE_MS - 1) / 1000)

    during = rig.refusal(operation, FunctionName="worker", **params)
    rig.advance(0.001)

    assert during == IN_PROGRESS
    assert rig.call(operation, FunctionName="worker", **params)["LastUpdateStatus"] == "InProgress"


@pytest.mark.parametrize(("operation", "params"), [*UPDATES, ("Invoke", {})])
def test_pending_function_is_neither_changed_nor_run(rig: Rig, operation: str, params: dict[str, object]) -> None:
    rig.create_function()
    rig.advance(0.001)

    assert rig.refusal(operation, FunctionName="worker", **params) == PENDING


def test_function_runs_while_an_update_is_in_progress(rig: Rig) -> None:
    rig.create_function()
    rig.advance(1)
    rig.call("UpdateFunctionConfiguration", FunctionName="worker", Timeout=9)
    rig.advance(0.001)

    assert rig.call("Invoke", FunctionName="worker")["StatusCode"] == 200


def test_event_of_a_pending_function_is_accepted(rig: Rig) -> None:
    """What is due at once, a schedule for instance, waits for nothing."""
    rig.create_function()
    rig.advance(0.001)

    assert rig.call("Invoke", FunctionName="worker", InvocationType="Event") == {"StatusCode": 202}


def test_time_that_stands_still_holds_nobody_up(rig: Rig) -> None:
    """In virtual time no waiter can wait: a creation and an update are over at the instant at which they began."""
    rig.create_function()

    rig.call("UpdateFunctionConfiguration", FunctionName="worker", Timeout=9)
    rig.call("UpdateFunctionCode", FunctionName="worker", ZipFile=archive("a = 1"))

    assert rig.call("GetFunction", FunctionName="worker")["Configuration"]["LastUpdateStatus"] == "Successful"
    assert rig.call("Invoke", FunctionName="worker")["StatusCode"] == 200


@pytest.mark.parametrize("operation", ["GetFunction", "GetFunctionConfiguration"])
def test_answer_that_shows_the_state_is_held_until_it_is_settled(rig: Rig, operation: str) -> None:
    """A client that waits for a function asks once."""
    rig.create_function()
    rig.advance(0.05)
    began_at = rig.clock.now() - 50

    answer = rig.store.run(
        lambda tx: rig.registry.begin(tx, rig.caller(), "lambda", operation, {"FunctionName": "worker"})
    )

    assert isinstance(answer, Wait)
    configuration = answer.result.get("Configuration", answer.result)
    assert (configuration["State"], answer.again_at) == ("Pending", began_at + PASSAGE_MS)


def test_each_passage_has_a_revision_of_its_own(rig: Rig) -> None:
    def settled() -> str:
        rig.advance(1)
        return str(rig.call("GetFunctionConfiguration", FunctionName="worker")["RevisionId"])

    created = rig.create_function()["RevisionId"]
    active = settled()
    updating = rig.call("UpdateFunctionConfiguration", FunctionName="worker", RevisionId=active, Timeout=9)
    updated = settled()
    rig.call("TagResource", Resource=f"{ARN}worker", Tags={"team": "a"})
    tagged = settled()
    rig.call("UntagResource", Resource=f"{ARN}worker", TagKeys=["team"])

    revisions = [created, active, updating["RevisionId"], updated, tagged, settled()]
    assert len(set(revisions)) == len(revisions)
    assert rig.call("ListFunctions")["Functions"][0]["RevisionId"] == revisions[-1]


def test_tags_leave_the_processes_of_a_function_alone(rig: Rig) -> None:
    rig.create_function()
    rig.call("Invoke", FunctionName="worker")

    rig.call("TagResource", Resource=f"{ARN}worker", Tags={"team": "a"})
    rig.call("Invoke", FunctionName="worker")

    first, second = rig.invoker.invocations
    assert first.revision == second.revision


def test_revision_of_a_passage_that_is_over_does_not_match(rig: Rig) -> None:
    created = rig.create_function()
    rig.advance(1)

    code, message = rig.refusal(
        "UpdateFunctionConfiguration", FunctionName="worker", Timeout=9, RevisionId=created["RevisionId"]
    )

    assert code == "PreconditionFailedException"
    assert message.startswith("The Revision Id provided does not match the latest Revision Id.")
