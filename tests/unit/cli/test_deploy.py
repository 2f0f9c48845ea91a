"""What `redrive deploy` tells of a stack that failed, and of one that was made."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.cli.deployment import Failure, first_failure, print_stack


def event(logical_id: str, status: str, reason: str = "") -> dict[str, Any]:
    return {"LogicalResourceId": logical_id, "ResourceStatus": status, "ResourceStatusReason": reason}


def test_resource_that_failed_first_is_named_not_those_that_were_cancelled_or_failed_before() -> None:
    events = [
        event("s", "CREATE_IN_PROGRESS", "User Initiated"),
        event("Old", "CREATE_FAILED", "an earlier operation"),
        event("s", "UPDATE_IN_PROGRESS", "User Initiated"),
        event("Queue", "UPDATE_COMPLETE"),
        event("Table", "UPDATE_FAILED", "the reason"),
        event("Role", "UPDATE_FAILED", "Resource update cancelled"),
        event("s", "UPDATE_ROLLBACK_IN_PROGRESS", "The following resource(s) failed"),
    ]

    assert first_failure(events[::-1], "s") == Failure("Table", "the reason")


def test_stack_whose_template_failed_is_named_itself() -> None:
    events = [
        event("s", "CREATE_IN_PROGRESS", "User Initiated"),
        event("s", "ROLLBACK_IN_PROGRESS", "Transform failed"),
    ]

    assert first_failure(events[::-1], "s") == Failure("s", "Transform failed")


def test_nothing_failed_where_all_was_made() -> None:
    assert first_failure([event("s", "CREATE_COMPLETE"), event("s", "CREATE_IN_PROGRESS", "User")], "s") is None


def test_values_stand_whole_on_their_lines_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    long = "https://" + "x" * 300
    outputs = [{"OutputKey": "Url", "OutputValue": long}, {"OutputKey": "QueueName", "OutputValue": "q"}]

    print_stack({"StackName": "s", "StackStatus": "CREATE_COMPLETE", "Outputs": outputs}, "table")

    assert capsys.readouterr().out == f"s: CREATE_COMPLETE\nUrl        {long}\nQueueName  q\n"


def test_stack_without_outputsprint_stacks_no_empty_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_stack({"StackName": "s", "StackStatus": "CREATE_COMPLETE"}, "table")

    assert capsys.readouterr().out == "s: CREATE_COMPLETE\n"
