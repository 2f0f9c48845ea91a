"""`redrive status` and `redrive reset`: one page on a server, and its end."""

from __future__ import annotations

import json

from redrive.cli.endpoint import ask
from tests.unit.cli.conftest import Terminal
from tests.unit.cli.test_queues import ARN, queue, role


def nightly(terminal: Terminal, target: str) -> None:
    terminal.client("scheduler").create_schedule(
        Name="nightly", ScheduleExpression="rate(6 hours)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": target, "RoleArn": role(terminal, "scheduler")},
    )  # fmt: skip


def test_status_shows_what_is_due_and_what_failed_lately(terminal: Terminal) -> None:
    nightly(terminal, f"{ARN}:gone")
    terminal.advance(6 * 3600)

    told = terminal.json("status")

    assert told["clock"]["kind"] == "virtual"
    assert [(one["name"], one["what"]) for one in told["due"]] == [("nightly", "rate(6 hours)")]
    assert {one["source"] for one in told["failed"]} == {"schedule/default/nightly"}
    assert told["failed"][0]["error"].startswith("AccessDenied")


def test_what_failed_long_ago_is_not_shown(terminal: Terminal) -> None:
    nightly(terminal, f"{ARN}:gone")
    terminal.advance(3600)
    terminal.client("scheduler").delete_schedule(Name="nightly")
    terminal.advance(25 * 3600)

    assert terminal.json("status")["failed"] == []


def test_reset_forgets_everything_once_it_is_confirmed(terminal: Terminal) -> None:
    queue(terminal, "orders")

    unasked = terminal.run("reset", typed="y\n")
    kept = terminal.client("sqs").list_queues()["QueueUrls"]
    terminal.json("reset", "--yes")

    assert unasked.exit_code == 4
    assert "redrive reset --yes" in unasked.stderr
    assert len(kept) == 1
    assert "QueueUrls" not in terminal.client("sqs").list_queues()


def test_what_was_given_up_lately_is_shown_however_long_it_was_tried(terminal: Terminal) -> None:
    """Tried for a day: it began longer ago than what is shown reaches back."""
    queue(terminal, "orders")
    fault = {"target": f"{ARN}:orders", "error": "ThrottlingException", "rate": 1}
    ask(terminal.endpoint_url, "faults", fault)
    make_allowed(terminal)
    terminal.advance(26 * 3600)

    failed = terminal.json("status")["failed"]

    assert [one["error"] for one in failed] == ["ThrottlingException"]


def make_allowed(terminal: Terminal) -> None:
    """A schedule that fires once, at once, under a role that may send."""
    arn = role(terminal, "scheduler")
    allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    terminal.client("iam").put_role_policy(RoleName="scheduler", PolicyName="send", PolicyDocument=document)
    terminal.client("scheduler").create_schedule(
        Name="once", ScheduleExpression="rate(365 days)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": f"{ARN}:orders", "RoleArn": arn},
    )  # fmt: skip
