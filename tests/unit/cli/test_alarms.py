"""`redrive alarms` and `redrive metrics`: what they read, and the charts that they draw."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.cli.charts import chart, number, scaled, sparkline
from tests.unit.cli.conftest import Terminal


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([0, 1, 2, 4, 8], "▁▁▂▄█"),
        ([1, None, 8], "▁ █"),
        ([-4, 0, 4], "▁▄█"),
        ([0, 0], "▁▁"),
        ([], ""),
    ],
)
def test_values_become_a_line_of_blocks(values: list[float | None], line: str) -> None:
    assert sparkline(values) == line


def test_chart_has_its_scale_at_the_left_and_the_largest_value_of_shared_columns() -> None:
    assert chart([1, 2, 3, 4], height=2, width=2) == [" █", "██"]
    assert scaled([10.0, 0.0], height=2) == ["10 │█ ", " 0 │█▁"]
    assert scaled([None]) == ["no data"]
    assert (number(0.25), number(1.5e7), number(3)) == ("0.25", "1.5e+07", "3")


def _published(terminal: Terminal) -> Any:
    """Eight minutes of values, the last two of them missing."""
    cloudwatch = terminal.client("cloudwatch")
    alarm = {"Namespace": "App", "MetricName": "m", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 2,
             "Threshold": 5, "ComparisonOperator": "GreaterThanThreshold", "TreatMissingData": "notBreaching",
             "Dimensions": [{"Name": "d", "Value": "v"}]}  # fmt: skip
    cloudwatch.put_metric_alarm(AlarmName="a", **alarm)
    for value in (1, 9, 9, 9, 1, 9, None, None):
        if value is not None:
            datum = {"MetricName": "m", "Value": value, "Dimensions": alarm["Dimensions"]}
            cloudwatch.put_metric_data(Namespace="App", MetricData=[datum])
        terminal.advance(60)
    return cloudwatch


def test_alarm_is_listed_shown_and_tested_against_its_history(terminal: Terminal) -> None:
    cloudwatch = _published(terminal)
    cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule="ALARM(a)")
    terminal.advance(60)

    listed = {one["name"]: one for one in terminal.json("alarms", "list")["alarms"]}
    shown = terminal.json("alarms", "show", "a")
    tested = terminal.json("alarms", "test", "a", "--since", "9m")
    once = terminal.json("alarms", "test", "a", "--since", "9m", "--periods", "1")
    never = terminal.json("alarms", "test", "a", "--since", "9m", "--threshold", "10")

    assert listed["a"]["condition"] == "Sum of App m (d=v) > 5 in 2 of 2 periods of 60 s"
    assert listed["both"]["condition"] == "ALARM(a)"
    assert [point["is_breaching"] for point in shown["points"]] == [True, False, False, False]
    assert [change["summary"] for change in shown["history"]][-1] == 'Alarm "a" created'
    real = [change["summary"].rpartition(" to ")[2] for change in shown["history"] if change["type"] == "StateUpdate"]
    assert [change["state"] for change in tested["changes"]] == [*reversed(real)], "as it really was"
    assert tested["fired"] == real.count("ALARM")
    assert (once["fired"] > tested["fired"], never["fired"]) == (True, 0)


def test_unknown_and_composite_alarms_are_told_apart(terminal: Terminal) -> None:
    terminal.client("cloudwatch").put_composite_alarm(AlarmName="c", AlarmRule="TRUE")

    gone, composite = terminal.run("alarms", "show", "gone"), terminal.run("alarms", "test", "c")

    assert (gone.exit_code, composite.exit_code) == (2, 2)
    assert "There is no alarm gone" in gone.stderr
    assert "composite alarm" in composite.stderr


def test_metrics_are_listed_drawn_and_put_on_a_dashboard(terminal: Terminal) -> None:
    cloudwatch = _published(terminal)
    widgets = [
        {"type": "text", "properties": {"markdown": "# Hi"}},
        {"type": "alarm", "properties": {"alarms": ["arn:aws:cloudwatch:us-east-1:000000000000:alarm:a"]}},
        {"type": "metric", "properties": {"region": "us-east-1", "title": "both", "stat": "Sum", "period": 60,
         "metrics": [["App", "m", "d", "v", {"id": "x", "label": "one"}], ["...", {"stat": "Maximum"}],
                     [{"expression": "x * 2", "label": "twice"}]]}},
    ]  # fmt: skip
    cloudwatch.put_dashboard(DashboardName="d", DashboardBody=json.dumps({"widgets": widgets}))

    (listed,) = terminal.json("metrics", "list", "App")["metrics"]
    (series,) = terminal.json("metrics", "get", "App", "m", "-d", "d=v", "--stat", "Sum", "--since", "1h")["series"]
    drawn = terminal.json("metrics", "dashboard", "d", "--since", "1h")["widgets"]

    assert listed == {"namespace": "App", "name": "m", "dimensions": {"d": "v"}}
    assert [point["value"] for point in series["points"]] == [1, 9, 9, 9, 1, 9]
    assert (drawn[0]["text"], drawn[1]["alarms"]) == ("# Hi", {"a": "OK"})
    sums = {line["label"]: sum(point["value"] for point in line["points"]) for line in drawn[2]["lines"]}
    assert sums == {"one": 38, "m": 38, "twice": 76}
    assert terminal.json("metrics", "dashboard") == {"dashboards": ["d"]}
    assert terminal.run("metrics", "dashboard", "gone").exit_code == 2
