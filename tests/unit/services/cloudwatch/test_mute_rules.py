"""Alarm mute rules: in their windows, alarms change their states and do not act.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutAlarmMuteRule.html
"""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.clock import parse_instant
from redrive.core.errors import ServiceError
from redrive.services.cloudwatch.model.mute_rule import MuteRule, duration_ms, plain_expression
from tests.unit.services.cloudwatch.alarmed import Tower


def _mute(tower: Tower, expression: str, duration: str, name: str = "r", **more: Any) -> None:
    schedule = {"Expression": expression, "Duration": duration, **more.pop("Schedule", {})}
    tower.client.put_alarm_mute_rule(
        Name=name, Rule={"Schedule": schedule}, MuteTargets={"AlarmNames": ["a"]}, **more
    )  # fmt: skip


@pytest.fixture
def muted(tower: Tower) -> Tower:
    """An alarm that tells a topic, and stays as it is set."""
    topic = tower.open_topic()
    tower.alarm(AlarmActions=[topic], OKActions=[topic], TreatMissingData="ignore")
    tower.set_state("OK")
    tower.world.settle()
    tower.heard()
    return tower


def test_muted_alarm_changes_its_state_and_acts_at_the_end(muted: Tower) -> None:
    _mute(muted, "at(2025-01-01T00:10)", "PT10M")
    status = [muted.client.get_alarm_mute_rule(AlarmMuteRuleName="r")["Status"]]
    muted.advance_to(10)
    muted.set_state("ALARM")
    muted.advance_to(19.9)
    silent = muted.heard()
    status.append(muted.client.get_alarm_mute_rule(AlarmMuteRuleName="r")["Status"])
    muted.advance_to(20)
    (told,) = muted.heard()
    status.append(muted.client.get_alarm_mute_rule(AlarmMuteRuleName="r")["Status"])

    assert (silent, muted.timeline()[-1]) == ([], (10, "ALARM"))
    assert (told["NewStateValue"], told["OldStateValue"], told["ActionExecutedAfterMuteWindow"]) == (
        "ALARM", "OK", True,
    )  # fmt: skip
    assert status == ["SCHEDULED", "ACTIVE", "EXPIRED"]
    assert "Actions not executed: muted by the alarm mute rule r" in [s for _, s in muted.changes(kind="Action")]


def test_alarm_that_is_back_where_it_was_tells_nothing(muted: Tower) -> None:
    _mute(muted, "cron(0 2 * * *)", "PT1H")
    muted.advance_to(125)
    muted.set_state("ALARM")
    muted.advance_to(130)
    muted.set_state("OK")

    muted.advance_to(300)

    assert muted.heard() == []
    summary = muted.client.list_alarm_mute_rules(AlarmName="a")["AlarmMuteRuleSummaries"][0]
    assert (summary["Status"], summary["MuteType"]) == ("SCHEDULED", "RECURRING")


def test_deleted_rule_lets_its_alarms_act_at_once(muted: Tower) -> None:
    _mute(muted, "cron(0 0 * * *)", "P1D")
    _mute(muted, "cron(0 0 * * *)", "P1D", "second")
    muted.advance_to(5)
    muted.set_state("ALARM")

    muted.client.delete_alarm_mute_rule(AlarmMuteRuleName="r")
    muted.world.settle()
    between = muted.heard()
    muted.client.delete_alarm_mute_rule(AlarmMuteRuleName="second")
    muted.client.delete_alarm_mute_rule(AlarmMuteRuleName="second")
    muted.world.settle()

    assert (between, len(muted.heard())) == ([], 1)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"expression": "rate(5 minutes)"}, "It must be cron(Minutes Hours Day-of-month Month Day-of-week)"),
        ({"expression": "cron(0 0 * *)"}, "It must be cron("),
        ({"expression": "cron(0 0 1 * MON)"}, "restricts both days of the month and days of the week"),
        ({"expression": "cron(61 0 * * *)"}, "is invalid"),
        ({"duration": "1 hour"}, "The duration 1 hour is not a valid ISO 8601 duration."),
        ({"duration": "PT30S"}, "between 1 minute (PT1M) and 15 days (P15D)"),
        ({"duration": "P16D"}, "between 1 minute (PT1M) and 15 days (P15D)"),
        ({"Schedule": {"Timezone": "Moon/Crater"}}, "The timezone Moon/Crater is invalid."),
    ],
)
def test_schedule_that_is_none_is_refused(muted: Tower, refusal: Any, change: dict[str, Any], part: str) -> None:
    given = {"expression": "cron(0 2 * * *)", "duration": "PT1H", **change}

    code, message = refusal(_mute, muted, **given)

    assert (code, part in message) == ("ValidationError", True), message


def test_rule_names_alarms_that_exist(tower: Tower, refusal: Any) -> None:
    assert refusal(_mute, tower, "cron(0 2 * * *)", "PT1H") == ("ValidationError", "The alarm a does not exist.")
    gone = refusal(tower.client.get_alarm_mute_rule, AlarmMuteRuleName="r")
    assert gone[0] == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("expression", "duration", "zone", "inside", "outside"),
    [
        ("cron(0 18 * * FRI)", "P2DT12H", "UTC", ["2025-01-03T18:00:00Z", "2025-01-06T05:59:59Z"],
         ["2025-01-03T17:59:59Z", "2025-01-06T06:00:00Z"]),
        ("cron(0 0 * * 0)", "PT1H", "UTC", ["2025-01-05T00:30:00Z"], ["2025-01-06T00:30:00Z"]),
        ("cron(0 2 * * *)", "PT1H", "America/New_York", ["2025-01-01T07:30:00Z"], ["2025-01-01T02:30:00Z"]),
        ("cron(0,30 * * * *)", "PT45M", "UTC", ["2025-01-01T00:29:00Z", "2025-01-01T01:10:00Z"], []),
        ("at(2025-01-01T10:00)", "PT1M", "Asia/Tokyo", ["2025-01-01T01:00:30Z"], ["2025-01-01T01:01:00Z"]),
    ],
)  # fmt: skip
def test_rule_mutes_inside_of_its_windows_and_not_outside(
    expression: str, duration: str, zone: str, inside: list[str], outside: list[str]
) -> None:
    rule = MuteRule("r", {"Expression": expression, "Duration": duration, "Timezone": zone}, 0)

    assert [rule.window_at(parse_instant(at)) is not None for at in inside] == [True] * len(inside)
    assert [rule.window_at(parse_instant(at)) is not None for at in outside] == [False] * len(outside)


def test_start_and_expiry_bound_the_windows() -> None:
    schedule = {"Expression": "cron(0 * * * *)", "Duration": "PT30M"}
    start, end = parse_instant("2025-01-01T02:00:00Z"), parse_instant("2025-01-01T03:10:00Z")
    rule = MuteRule("r", schedule, 0, start_at=start, expires_at=end)

    assert rule.window_at(parse_instant("2025-01-01T01:10:00Z")) is None
    assert rule.window_at(start) == (start, start + 1_800_000)
    assert rule.next_end(parse_instant("2025-01-01T02:40:00Z")) == end
    assert (rule.status(start - 1), rule.status(end)) == ("SCHEDULED", "EXPIRED")


def test_durations_and_expressions_are_those_of_iso_and_of_cron() -> None:
    assert duration_ms("P2DT12H") == 60 * 3_600_000
    assert plain_expression({"Expression": "cron(0 2 * * 0-6)"}) == "cron(0 2 ? * 1-7 *)"
    for text in ("P", "PT", "P1W", "T1H"):
        with pytest.raises(ServiceError):
            duration_ms(text)
