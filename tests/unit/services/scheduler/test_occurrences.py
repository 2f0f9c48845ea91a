"""What our own surface tells of schedules, and firing them by hand."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.errors import ServiceError


def ask(desk: Any, operation: str, **params: object) -> Any:
    return desk.world.call("redrive", operation, **params)


def test_schedules_are_listed_in_pages_by_group_and_name(desk: Any) -> None:
    for name in ("c", "a", "b"):
        desk.create("rate(1 hour)", Name=name)

    first = ask(desk, "ListSchedules", limit=2)
    second = ask(desk, "ListSchedules", limit=2, after=first["after"])

    assert [one["name"] for one in first["schedules"]] == ["a", "b"]
    assert first["after"] == "default/b"
    assert ([one["name"] for one in second["schedules"]], second["after"]) == (["c"], None)
    assert ask(desk, "ListSchedules", region="eu-west-1") == {"schedules": [], "after": None}


def test_next_occurrences_are_five_unless_more_or_fewer_are_asked_for(desk: Any) -> None:
    arn = desk.create("rate(1 hour)")

    five = ask(desk, "GetOccurrences", schedule="nightly")
    two = ask(desk, "GetOccurrences", schedule=arn, count=2)

    assert len(five["next"]) == 5
    assert two["next"] == five["next"][:2]
    assert two["schedule"] == five["schedule"]
    assert two["schedule"]["arn"] == arn


@pytest.mark.parametrize(
    "written", ["nobody", "other/nightly", "arn:aws:nobody", "arn:aws:scheduler:eu-west-1:0:schedule/default/nightly"]
)
def test_schedule_that_is_not_there_is_refused(desk: Any, written: str) -> None:
    desk.create("rate(1 hour)")

    for operation in ("GetOccurrences", "ListMissedOccurrences", "TriggerSchedule"):
        with pytest.raises(ServiceError) as caught:
            ask(desk, operation, schedule=written)
        assert caught.value.code == "ValidationException"


def test_missed_occurrences_are_of_one_schedule_or_of_all(desk: Any) -> None:
    for name in ("a", "b"):
        desk.create("rate(1 hour)", Name=name, State="DISABLED")
    desk.world.advance(hours=3)

    of_one = ask(desk, "ListMissedOccurrences", schedule="a")
    of_all = ask(desk, "ListMissedOccurrences")
    page = ask(desk, "ListMissedOccurrences", limit=1)

    assert [row["name"] for row in of_one["missed"]] == ["a"]
    assert ([row["name"] for row in of_all["missed"]], of_all["after"]) == (["a", "b"], None)
    assert ([row["name"] for row in page["missed"]], page["after"]) == (["a"], "default/a")


def test_trigger_fires_now_beside_the_occurrences_of_the_expression(desk: Any) -> None:
    arn = desk.create("at(2025-06-01T00:00:00)", Target=desk.target(Input="hello"))

    fired = ask(desk, "TriggerSchedule", schedule="nightly")
    desk.world.settle()

    assert (fired["schedule"], fired["scheduled_time"]) == (arn, "2025-01-01T00:00:00Z")
    assert desk.bodies() == ["hello"]
    assert ask(desk, "GetRun", id=fired["id"])["execution_id"] == fired["execution_id"]
    assert [one["utc"] for one in ask(desk, "GetOccurrences", schedule="nightly")["next"]] == ["2025-06-01T00:00:00Z"]
