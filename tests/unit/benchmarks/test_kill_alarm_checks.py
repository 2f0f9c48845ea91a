"""The checks of the kill run with alarms find each planted defect, and find nothing in a history without one."""

from __future__ import annotations

import pytest

from benchmarks.kill import alarm_checks as checks
from benchmarks.kill.alarm_checks import Change

RIGHT = [Change("a", "1", "INSUFFICIENT_DATA", "OK"), Change("a", "2", "OK", "ALARM"), Change("a", "3", "ALARM", "OK")]


def test_history_in_which_states_follow_from_each_other_is_right() -> None:
    assert list(checks.chained(reversed(RIGHT))) == []
    assert list(checks.told("topic", RIGHT, RIGHT[::-1])) == []
    assert list(checks.seen({"a": 3})) == []


@pytest.mark.parametrize("history", [[RIGHT[0], RIGHT[2]], [*RIGHT, Change("a", "4", "OK", "OK")]])
def test_change_that_is_missing_or_that_changes_nothing_is_found(history: list[Change]) -> None:
    assert len(list(checks.chained(history))) == 1


@pytest.mark.parametrize("heard", [RIGHT[1:], [*RIGHT, RIGHT[0]], [*RIGHT, Change("b", "1", "OK", "ALARM")]])
def test_change_that_is_not_told_or_told_twice_or_made_up_is_found(heard: list[Change]) -> None:
    assert len(list(checks.told("topic", RIGHT, heard))) == 1


def test_log_events_that_are_lost_or_counted_wrongly_are_found() -> None:
    stored = ["FAILED 1", "fine 2", "FAILED 3"]

    assert list(checks.counted(stored, ["FAILED 1"], 2)) == []
    assert len(list(checks.counted(stored, ["FAILED 4"], 2))) == 1
    assert len(list(checks.counted(stored, [], 3))) == 1


def test_alarm_that_never_changed_is_told() -> None:
    assert len(list(checks.seen({"a": 1, "b": 0}))) == 1
