"""Runs as our own surface lists and shows them."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.clock import format_instant, parse_instant
from redrive.store.tables.attempts import RunState
from redrive.wire.model.files import Models
from tests.unit.services.redrive.conftest import OTHER, Office

DAY_1, DAY_2, DAY_3 = (f"2025-01-0{day}T00:00:00Z" for day in (1, 2, 3))


@pytest.fixture
def fired(office: Office) -> str:
    """The ARN of a schedule that has fired three times, on three days."""
    arn = office.schedule()
    office.world.advance(days=2)
    return arn


def times(office: Office, **filters: Any) -> list[str]:
    return [run["scheduled_time"] for run in office.call("ListRuns", **filters)["runs"]]


def test_delivered_run_is_shown_with_its_attempt_and_scheduled_time(office: Office, fired: str) -> None:
    run = office.call("ListRuns", limit=1)["runs"][0]

    (attempt,) = run.pop("attempts")
    execution = run["execution_id"]
    assert run == {
        "id": f"{fired}@{DAY_3}#{execution}", "kind": "scheduler", "source": fired,
        "target": "arn:aws:sqs:us-east-1:000000000000:orders", "execution_id": execution, "cause": None,
        "scheduled_time": DAY_3, "state": "delivered", "began": DAY_3, "ended": DAY_3, "notes": [],
    }  # fmt: skip
    message = attempt.pop("led_to")
    assert message
    assert attempt == {
        "attempt": 1, "at": DAY_3, "state": "delivered", "error": None, "message": None, "verdict": "delivered",
        "log_stream": None, "next": None,
    }  # fmt: skip


def test_run_that_is_tried_again_says_when_and_has_no_end(office: Office) -> None:
    office.call("AddFault", target="*:orders", error="ThrottlingException", rate=1.0)
    office.schedule()
    office.world.settle()

    (run,) = office.call("ListRuns", state="retrying")["runs"]

    (attempt,) = run["attempts"]
    assert (run["state"], run["ended"]) == ("retrying", None)
    assert (attempt["error"], attempt["verdict"]) == ("ThrottlingException", "retry")
    assert parse_instant(attempt["next"]) > parse_instant(attempt["at"])


def test_pages_go_on_where_the_one_before_ended_the_latest_first(office: Office, fired: str) -> None:
    first = office.call("ListRuns", limit=2)
    second = office.call("ListRuns", limit=2, after=first["after"])

    assert [run["scheduled_time"] for run in first["runs"]] == [DAY_3, DAY_2]
    assert ([run["scheduled_time"] for run in second["runs"]], second["after"]) == ([DAY_1], None)


def test_runs_are_found_by_time_target_and_execution(office: Office, fired: str) -> None:
    (middle,) = office.call("ListRuns", since=DAY_2, until=DAY_2)["runs"]

    assert middle["scheduled_time"] == DAY_2
    assert times(office, since=DAY_2) == [DAY_3, DAY_2]
    assert times(office, until=DAY_1) == [DAY_1]
    assert times(office, execution=middle["execution_id"]) == [DAY_2]
    assert times(office, target=middle["target"]) == [DAY_3, DAY_2, DAY_1]
    assert times(office, target="arn:aws:sqs:us-east-1:000000000000:others") == []


def test_list_is_of_one_region_and_account_unless_a_source_is_named(office: Office) -> None:
    arn = office.schedule(region="eu-west-1")
    office.world.settle()

    assert times(office) == []
    assert times(office, region="eu-west-1") == [DAY_1]
    assert times(office, region="eu-west-1", account=OTHER) == []
    assert times(office, source=arn) == [DAY_1]
    assert times(office, source=arn, region="us-east-1") == []


def test_each_state_may_be_asked_for_and_its_blank_written_either_way(office: Office, fired: str) -> None:
    for state in RunState:
        found = times(office, state=state.value)

        assert found == times(office, state=state.word)
        assert bool(found) == (state is RunState.DELIVERED)


def test_states_of_the_model_are_those_that_runs_have() -> None:
    enum = Models().service("redrive").shapes["RunState"].constraints.enum

    assert set(enum) == {state.value for state in RunState} | {state.word for state in RunState}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"state": "nowhere"}, "at 'state' failed"),
        ({"limit": 0}, "at 'limit' failed"),
        ({"limit": 1_001}, "at 'limit' failed"),
        ({"since": "yesterday"}, "'yesterday' is no point in time for since."),
        ({"until": "99999-01-01"}, "is no point in time for until."),
        ({"after": "the beginning"}, "No list of runs goes on after 'the beginning'."),
    ],
)
def test_question_that_cannot_be_answered_is_refused(params: dict[str, Any], said: str, office: Office) -> None:
    refused = office.refusal("ListRuns", **params)

    assert refused.code == "ValidationException"
    assert said in refused.message


def test_run_is_shown_by_its_delivery_its_execution_and_its_message_with_one_timeline(
    office: Office, fired: str
) -> None:  # fmt: skip
    (listed,) = office.call("ListRuns", until=DAY_1)["runs"]

    shown = office.call("GetRun", id=listed["id"])

    assert {name: shown[name] for name in listed} == listed
    assert [(event["event"], event["at"], event["kind"]) for event in shown["timeline"]] == [
        ("began", DAY_1, "scheduler"), ("attempted", DAY_1, "scheduler"),
    ]  # fmt: skip
    assert shown["timeline"][1]["led_to"] == listed["attempts"][0]["led_to"]
    assert "code" not in shown["timeline"][1]
    assert office.call("GetRun", id=listed["execution_id"]) == shown
    assert office.call("GetRun", id=listed["attempts"][0]["led_to"]) == shown


def test_event_before_a_retry_says_when_that_is(office: Office) -> None:
    office.call("AddFault", target="*:orders", error="ThrottlingException", rate=1.0)
    office.schedule()
    office.world.settle()
    (run,) = office.call("ListRuns")["runs"]

    _, attempted = office.call("GetRun", id=run["id"])["timeline"]

    assert (attempted["code"], attempted["next"]) == ("ThrottlingException", run["attempts"][0]["next"])


def test_run_of_which_nothing_is_known_is_missing(office: Office) -> None:
    refused = office.refusal("GetRun", id="nothing")

    assert refused.code == "ResourceNotFoundException"
    assert "redrive runs list" in str(refused.members["next"])


def test_run_is_forgotten_after_fourteen_days(office: Office, fired: str) -> None:
    office.world.client("scheduler").delete_schedule(Name="nightly")
    (first,) = office.call("ListRuns", until=DAY_1)["runs"]

    office.world.advance(days=16)

    assert office.refusal("GetRun", id=first["id"]).code == "ResourceNotFoundException"
    assert format_instant(office.world.now) > DAY_3


def letters_of(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {
        "plan": "plan.json", "queue": "arn:aws:sqs:us-east-1:000000000000:dead",
        "to": "arn:aws:sqs:us-east-1:000000000000:orders",
        "letters": [{"message_id": letter, "sent_as": sent_as} for letter, sent_as in pairs],
    }  # fmt: skip


def test_timeline_goes_on_with_the_letter_that_was_sent_again(office: Office, fired: str) -> None:
    """By the ids of the execution and of each message; and with the next redrive, if that one fails, too."""
    run = office.call("ListRuns", limit=1)["runs"][0]
    letter = run["attempts"][0]["led_to"]

    assert office.call("RecordRedrives", **letters_of((letter, "m-2")))["recorded"] == 1
    assert office.call("RecordRedrives", **letters_of(("m-2", "m-3")))["recorded"] == 1

    for named in (run["execution_id"], letter, "m-2", "m-3"):
        told = office.call("GetRun", id=named)
        moves = [one for one in told["timeline"] if one["event"] == "moved"]
        assert told["execution_id"] == run["execution_id"]
        assert [(one["kind"], one["plan"], one["why"], one["led_to"]) for one in moves] == [
            ("redrive", "plan.json", letter, "m-2"), ("redrive", "plan.json", "m-2", "m-3")
        ]  # fmt: skip


def test_redrive_that_is_recorded_twice_is_told_once(office: Office) -> None:
    """A run that was killed records again what it has sent and not deleted."""
    told = letters_of(("m-1", "m-2"), ("m-1-too", "m-3"))

    counts = [office.call("RecordRedrives", **told)["recorded"] for _ in range(2)]

    assert counts == [2, 0]
    assert len(office.call("GetRun", id="m-2")["timeline"]) == 1


def test_letter_of_an_unknown_execution_begins_one_under_the_id_of_its_work(office: Office) -> None:
    told = letters_of(("m-1", "m-2"))
    told["letters"][0]["work_id"] = "r-1"

    office.call("RecordRedrives", **told)

    assert office.call("GetRun", id="m-2")["execution_id"] == "r-1"
