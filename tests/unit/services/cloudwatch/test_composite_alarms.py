"""Composite alarms: their rules, and the examples of suppression from AWS's page, in virtual time.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Create_Composite_Alarm.html
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.services.cloudwatch.alarmed import ARN, Tower

QUIET = {"TreatMissingData": "ignore"}


@pytest.fixture
def watched(tower: Tower) -> Tower:
    """Two alarms that stay as they are set, and a topic."""
    tower.open_topic()
    for name in ("a", "b", "s"):
        tower.alarm(name, **QUIET)
        tower.set_state("OK", name)
    return tower


def test_composite_follows_its_children_and_tells_which_one_moved_it(watched: Tower) -> None:
    watched.composite("c", "ALARM(a) OR ALARM(b)", AlarmActions=[watched.topic], OKActions=[watched.topic])
    watched.world.settle()
    created = watched.shown("c")
    watched.advance_to(1)
    watched.set_state("ALARM", "a")
    watched.advance_to(2)
    moved = watched.shown("c")
    watched.set_state("ALARM", "b")
    watched.advance_to(3)

    assert watched.shown("c") == moved, "a second child in ALARM changes nothing"
    watched.set_state("OK", "a")
    watched.set_state("OK", "b")
    watched.world.settle()

    assert watched.timeline("c") == [(0, "OK"), (1, "ALARM"), (3, "OK")]
    assert created["StateReason"] == f"{ARN}c was created and its alarm rule evaluates to OK"
    assert moved["StateReason"] == (f"{ARN}a transitioned to ALARM at Wednesday 01 January, 2025 00:01:00 UTC")
    assert moved["StateReasonData"] == (
        '{"triggeringAlarms":[{"arn":"' + ARN + 'a","state":{"value":"ALARM",'
        '"timestamp":"2025-01-01T00:01:00.000+0000"}}]}'
    )
    told = watched.heard()
    assert [one["NewStateValue"] for one in told] == ["OK", "ALARM", "OK"]
    assert "Trigger" not in told[1]
    assert (told[1]["AlarmRule"], told[1]["TriggeringChildren"]) == (
        "ALARM(a) OR ALARM(b)",
        [{"Arn": f"{ARN}a", "State": {"Value": "ALARM", "Timestamp": "2025-01-01T00:01:00.000+0000"}}],
    )


def test_alarms_above_see_no_state_that_is_still_to_be_evaluated(watched: Tower) -> None:
    """`top` would be in ALARM for a moment if it were evaluated before `low`."""
    watched.composite("low", "ALARM(a)")
    watched.composite("top", "ALARM(a) AND NOT ALARM(low)")
    watched.composite("over", 'OK(top) AND ALARM("low")')
    watched.world.settle()

    watched.set_state("ALARM", "a")
    watched.world.settle()

    assert [watched.state(name) for name in ("low", "top", "over")] == ["ALARM", "OK", "ALARM"]
    assert watched.timeline("top") == [(0, "OK")]


def test_children_that_change_together_are_seen_together(tower: Tower) -> None:
    """Both alarms are evaluated at the same instant; the rule that neither alone would keep is never met."""
    tower.alarm("a")
    tower.alarm("b", ComparisonOperator="LessThanOrEqualToThreshold")
    tower.composite("c", "(ALARM(a) AND ALARM(b)) OR (OK(a) AND OK(b))")
    tower.publish({0: 5, 1: 0, 2: 5, 3: 0})

    tower.advance_to(5)

    assert len(tower.timeline("a")) == 4
    assert tower.timeline("c") == [(0, "OK")]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("ALARM(a", "AlarmRule was not valid: ')' is missing at character 8."),
        ("ALARM(gone)", "AlarmRule was not valid: the alarm gone does not exist."),
        ("ALARM(arn:aws:cloudwatch:eu-west-1:000000000000:alarm:a)", ("AlarmRule was not valid: the alarm "
         "arn:aws:cloudwatch:eu-west-1:000000000000:alarm:a does not exist.")),
        ("ALARM(c)", "AlarmRule was not valid: c would depend on itself by c."),
        (" OR ".join(f"ALARM(x{number})" for number in range(101)), "AlarmRule must not have more than 100 alarms."),
    ],
)  # fmt: skip
def test_rule_that_no_alarm_can_have_is_refused(watched: Tower, refusal: Any, rule: str, message: str) -> None:
    assert refusal(watched.composite, "c", rule) == ("ValidationError", message)


def test_rule_that_leads_back_to_its_alarm_is_refused(watched: Tower, refusal: Any) -> None:
    watched.composite("one", "ALARM(a)")
    watched.composite("two", "ALARM(one)")

    answer = refusal(watched.composite, "one", f"ALARM(a) OR ALARM({ARN}two)")

    assert answer == ("ValidationError", f"AlarmRule was not valid: one would depend on itself by {ARN}two.")


def test_alarm_under_a_composite_is_deleted_only_with_it(watched: Tower, refusal: Any) -> None:
    watched.composite("c", "ALARM(a)")
    watched.composite("d", "ALARM(b)")

    answer = refusal(watched.client.delete_alarms, AlarmNames=["a"])
    both = refusal(watched.client.delete_alarms, AlarmNames=["c", "d"])
    watched.client.delete_alarms(AlarmNames=["a", "c"])

    text = "Cannot delete a as there are composite alarm(s) depending on it."
    assert answer == ("ValidationError", text)
    assert both[0] == "ValidationError"
    left = watched.client.describe_alarms(AlarmTypes=["MetricAlarm", "CompositeAlarm"])
    assert [one["AlarmName"] for one in left["MetricAlarms"] + left["CompositeAlarms"]] == ["b", "s", "d"]


def test_update_of_the_rule_changes_which_alarms_count(watched: Tower) -> None:
    watched.composite("c", "ALARM(a)")
    watched.composite("c", "ALARM(b)")
    watched.set_state("ALARM", "a")
    watched.world.settle()
    before = watched.state("c")
    watched.set_state("ALARM", "b")
    watched.world.settle()

    assert (before, watched.state("c")) == ("OK", "ALARM")
    watched.client.delete_alarms(AlarmNames=["a"])


# The examples of the page: a time unit is a minute, WaitPeriod is 2, ExtensionPeriod 3. Each says when which alarm
# changes, and when the composite alarm acts.
EXAMPLES = {
    "1: not suppressed after WaitPeriod": ([(2, "a", "ALARM")], [(4, "ALARM")]),
    "2: suppressed by alarm before WaitPeriod expires": ([(2, "a", "ALARM"), (3, "s", "ALARM")], []),
    "3: transition in WaitPeriod": ([(2, "a", "ALARM"), (3, "a", "OK")], [(5, "OK")]),
    "4: suppressor is already in ALARM": ([(1, "s", "ALARM"), (2, "a", "ALARM")], []),
    "5: not suppressed after ExtensionPeriod": (
        [(2, "a", "ALARM"), (3, "s", "ALARM"), (6, "s", "OK")], [(9, "ALARM")],
    ),
    "6: transition in ExtensionPeriod": (
        [(2, "a", "ALARM"), (3, "s", "ALARM"), (6, "s", "OK"), (7, "a", "OK")], [(9, "OK")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES)
def test_alarm_acts_when_the_example_of_the_page_says(watched: Tower, example: str) -> None:
    steps, acts = EXAMPLES[example]
    watched.composite(
        "c", "ALARM(a)", AlarmActions=[watched.topic], OKActions=[watched.topic], ActionsSuppressor="s",
        ActionsSuppressorWaitPeriod=120, ActionsSuppressorExtensionPeriod=180,
    )  # fmt: skip
    watched.advance_to(0)
    watched.world.settle()
    begun = watched.start
    watched.world.advance(minutes=10)  # The wait that follows creation is over.
    watched.heard()
    origin = watched.world.now
    for at, name, state in steps:
        watched.world.advance_to(origin + at * 60_000)
        watched.set_state(state, name)
    watched.world.advance_to(origin + 20 * 60_000)

    told = [
        (minutes - (origin - begun) / 60_000, summary)
        for minutes, summary in watched.changes("c", kind="Action")
        if summary.startswith("Successfully") and minutes >= (origin - begun) / 60_000
    ]
    assert [at for at, _ in told] == [at for at, _ in acts]
    assert [one["NewStateValue"] for one in watched.heard()] == [value for _, value in acts]


def test_suppression_is_shown_while_it_lasts(watched: Tower) -> None:
    watched.composite(
        "c", "ALARM(a)", ActionsSuppressor=f"{ARN}s", ActionsSuppressorWaitPeriod=60,
        ActionsSuppressorExtensionPeriod=60,
    )  # fmt: skip
    shown: list[Any] = []

    def look() -> None:
        watched.world.settle()
        shown.append(watched.shown("c").get("ActionsSuppressedBy"))

    look()
    watched.set_state("ALARM", "s")
    look()
    watched.set_state("OK", "s")
    look()
    watched.advance_to(1)
    look()

    assert shown == ["WaitPeriod", "Alarm", "ExtensionPeriod", None]


def test_suppressor_needs_its_periods_and_has_to_exist(watched: Tower, refusal: Any) -> None:
    text = "The parameter ActionsSuppressorExtensionPeriod is required with ActionsSuppressor."
    half = refusal(watched.composite, "c", "TRUE", ActionsSuppressor="s", ActionsSuppressorWaitPeriod=1)
    periods = {"ActionsSuppressorWaitPeriod": 1, "ActionsSuppressorExtensionPeriod": 1}
    gone = refusal(watched.composite, "c", "TRUE", ActionsSuppressor="gone", **periods)

    assert half == ("ValidationError", text)
    assert gone == ("ValidationError", "ActionsSuppressor was not valid: the alarm gone does not exist.")
