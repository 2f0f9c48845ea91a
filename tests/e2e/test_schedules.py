"""Schedules as a user watches and breaks them: the example of dead letters, and the commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.conftest import ROOT, ServerProcess

EXAMPLE = ROOT / "examples" / "scheduler-dead-letters" / "run.py"
Start = Callable[..., ServerProcess]


@pytest.fixture(scope="module")
def told(server: ServerProcess) -> str:
    """What the example prints; the server is as the example leaves it."""
    return tell(server)


def tell(server: ServerProcess) -> str:
    """Run the example against a server; answers what it prints."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=120, check=False, env=server.environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def facts(told: str) -> tuple[dict[str, str], dict[str, str]]:
    """The attributes and metrics of the example's two parts."""
    parts = [part.splitlines()[1:] for part in told.split("\n2. ")]
    first, second = ({line.split()[0]: line.split(maxsplit=1)[1] for line in part} for part in parts)
    return first, second


def run(server: ServerProcess, *arguments: str) -> Any:
    """The JSON that a command prints."""
    return json.loads(server.redrive(*arguments, "-o", "json"))


def test_missing_permission_is_dead_lettered_at_once(told: str) -> None:
    permanent, _ = facts(told)

    assert permanent["ERROR_CODE"] == "AccessDeniedException"
    assert "not authorized to perform: sqs:SendMessage" in permanent["ERROR_MESSAGE"]
    assert permanent["RETRY_ATTEMPTS"] == "0"
    assert "EXHAUSTED_RETRY_CONDITION" not in permanent
    assert permanent["InvocationAttemptCount"] == permanent["InvocationsSentToDeadLetterCount"] == "1"


def test_throttled_day_ends_in_a_letter_with_nine_attributes(told: str) -> None:
    _, exhausted = facts(told)

    assert len([name for name in exhausted if name.isupper()]) == 9
    assert exhausted["RETRY_ATTEMPTS"] == "185"
    assert exhausted["EXHAUSTED_RETRY_CONDITION"] == "MaximumRetryAttempts"
    assert exhausted["TargetErrorThrottledCount"] == exhausted["InvocationAttemptCount"] == "186"
    assert exhausted["InvocationDroppedCount"] == "1"


def test_attempts_can_be_looked_at_one_by_one(server: ServerProcess, told: str) -> None:
    (shown,) = run(server, "schedules", "show", "throttled/throttled")["runs"]

    assert shown["execution_id"] == facts(told)[1]["EXECUTION_ID"]
    assert shown["state"] == "dead-lettered"
    assert [attempt["attempt"] for attempt in shown["attempts"]] == list(range(1, 187))
    table = server.redrive("schedules", "show", "throttled/throttled")
    assert "dead-lettered" in table
    assert "185" in table


def test_schedule_that_is_triggered_after_the_fault_is_cleared_gets_through(server: ServerProcess, told: str) -> None:
    (fault,) = run(server, "fault", "list")
    server.redrive("fault", "clear", fault["id"])

    fired = run(server, "schedules", "trigger", "throttled/throttled")
    server.redrive("clock", "advance", "1s")

    latest, _ = run(server, "schedules", "show", "throttled/throttled")["runs"]
    assert latest["execution_id"] == fired["execution_id"]
    assert latest["state"] == "delivered"
    assert run(server, "fault", "list") == []


def test_fault_that_is_added_is_listed_until_it_is_cleared(server: ServerProcess, told: str) -> None:
    fault = server.redrive("fault", "add", "--target", "arn:nobody:*", "--error", "Throttling", "--rate", "0.5")

    (added,) = [one for one in run(server, "fault", "list") if one["target"] == "arn:nobody:*"]

    assert "Throttling" in fault
    assert "50% of calls" in server.redrive("fault", "list")
    assert "throttled" in server.redrive("schedules", "list")
    assert server.redrive("fault", "clear", added["id"]) == "1 cleared\n"
    assert added["id"] not in server.redrive("fault", "list")


def test_schedule_is_shown_in_its_zone_and_what_it_missed(server: ServerProcess, told: str) -> None:
    client = server.client("scheduler")
    made = client.get_schedule(Name="throttled", GroupName="throttled")
    settings: dict[str, Any] = {
        "Name": "off", "ScheduleExpression": "cron(0 * * * ? *)", "ScheduleExpressionTimezone": "Asia/Kolkata",
        "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": made["Target"],
    }  # fmt: skip
    client.create_schedule(**settings, State="DISABLED")
    server.redrive("clock", "advance", "3h")
    client.update_schedule(**settings)

    (gap,) = run(server, "schedules", "missed", "off")
    upcoming = run(server, "schedules", "next", "off", "-n", "2")

    assert (gap["count"], gap["why"]) == ("3", "the schedule was disabled")
    assert [firing["local"][-6:] for firing in upcoming] == ["+05:30", "+05:30"]
    assert "3" in server.redrive("schedules", "missed")


def test_retries_get_execution_ids_of_their_own_if_the_server_is_told_so(start: Start) -> None:
    server = start("--clock", "virtual", "--execution-id", "per-attempt")

    _, exhausted = facts(tell(server))

    (shown,) = run(server, "schedules", "show", "throttled/throttled")["runs"]
    assert shown["scheduled_time"] == exhausted["SCHEDULED_TIME"]
    assert shown["execution_id"] != exhausted["EXECUTION_ID"]
