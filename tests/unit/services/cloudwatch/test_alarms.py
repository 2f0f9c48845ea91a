"""Metric alarms: what is accepted and refused, how they are listed, and when they are evaluated.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.services.cloudwatch.model.numbers import number_text
from tests.unit.services.cloudwatch.alarmed import ARN, Tower, asked, math

TOPIC = "arn:aws:sns:us-east-1:000000000000:gone"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"MetricName": None}, "Exactly one of the parameters MetricName and Metrics must be specified."),
        ({"Metrics": math("m1", "m1")}, "Exactly one of the parameters MetricName and Metrics must be specified."),
        ({"Period": None}, "The parameter Period is required with MetricName."),
        ({"Period": 15}, "The parameter Period must be 10, 20, 30 or a multiple of 60."),
        ({"Period": 5}, "The parameter Period must be 10, 20, 30 or a multiple of 60."),
        ({"EvaluationPeriods": 1441},
         "Metrics cannot be checked across more than a day (EvaluationPeriods * Period must be <= 86400)."),
        ({"EvaluationPeriods": 169, "Period": 3600},
         "Metrics cannot be checked across more than seven days (EvaluationPeriods * Period must be <= 604800)."),
        ({"DatapointsToAlarm": 2},
         "The parameter DatapointsToAlarm must be less than or equal to EvaluationPeriods."),
        ({"ExtendedStatistic": "p90"},
         "Exactly one of the parameters Statistic and ExtendedStatistic must be specified."),
        ({"Statistic": None, "ExtendedStatistic": "p101"},
         "The value p101 for parameter ExtendedStatistic is not a valid statistic."),
        ({"TreatMissingData": "maybe"}, ("Option maybe is not supported. Supported options for parameter "
         "TreatMissingData are breaching, notBreaching, ignore, missing.")),
        ({"Threshold": float("nan")}, "The value NaN for parameter Threshold is invalid."),
        ({"AlarmActions": ["nobody"]}, "Invalid arn syntax: nobody"),
        ({"Threshold": None},
         "The parameters ComparisonOperator and Threshold are required for an alarm with a static threshold."),
        ({"ThresholdMetricId": "t"}, ("redrive has no alarms on anomaly detection models (ThresholdMetricId); "
         "see docs/semantics/cloudwatch.md.")),
        ({"EvaluationWindow": {"WallClockWindow": {}}},
         "redrive has no wall clock windows of alarms; see docs/semantics/cloudwatch.md."),
    ],
)  # fmt: skip
def test_alarm_that_breaks_a_rule_is_refused_and_changes_nothing(
    tower: Tower, refusal: Any, change: dict[str, Any], message: str
) -> None:
    params = {key: value for key, value in asked(**change).items() if value is not None}

    assert refusal(tower.client.put_metric_alarm, **params) == ("ValidationError", message)
    assert tower.client.describe_alarms()["MetricAlarms"] == []


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (math("ANOMALY_DETECTION_BAND(m1)", "m1"),
         "redrive has no anomaly detection; see docs/semantics/cloudwatch.md."),
        (math("m1 + m9", "m1"), "Error in expression 'e': Undefined variable m9"),
        (math("[m1, m2]", "m1", "m2"), "The expression of an alarm must return a single time series."),
        (math("m1", "m1", ReturnData=False), "At least one query must have ReturnData set to true."),
        (math("SELECT AVG(x) FROM y"), "redrive has no Metrics Insights; see docs/semantics/cloudwatch.md."),
    ],
)  # fmt: skip
def test_metric_math_that_no_alarm_can_watch_is_refused(
    tower: Tower, refusal: Any, metrics: Any, message: str
) -> None:  # fmt: skip
    params = {"AlarmName": "a", "Metrics": metrics, "EvaluationPeriods": 1, "Threshold": 1}

    answer = refusal(tower.client.put_metric_alarm, ComparisonOperator="LessThanThreshold", **params)

    assert answer == ("ValidationError", message)


def test_new_alarm_is_unchecked_and_evaluated_at_once(tower: Tower) -> None:
    tower.alarm(AlarmDescription="too many", Tags=[{"Key": "team", "Value": "x"}])

    shown = tower.shown()
    tower.world.settle()

    assert (shown["StateValue"], shown["StateReason"]) == ("INSUFFICIENT_DATA", "Unchecked: Initial alarm creation")
    assert (shown["AlarmArn"], shown["AlarmDescription"]) == (f"{ARN}a", "too many")
    assert (shown["OKActions"], shown["Dimensions"], shown["ActionsEnabled"]) == ([], [], True)
    assert tower.client.list_tags_for_resource(ResourceARN=f"{ARN}a")["Tags"] == [{"Key": "team", "Value": "x"}]
    assert tower.changes(kind="ConfigurationUpdate") == [(0, 'Alarm "a" created')]


def test_update_replaces_the_configuration_and_keeps_state_and_tags(tower: Tower) -> None:
    tower.alarm(AlarmDescription="first", Tags=[{"Key": "k", "Value": "v"}])
    tower.publish({0: 5})
    tower.advance_to(1)

    tower.alarm(Threshold=9, Tags=[{"Key": "other", "Value": "v"}])
    before = tower.shown()
    tower.world.settle()

    assert (before["StateValue"], "AlarmDescription" in before) == ("ALARM", False)
    assert tower.timeline() == [(1, "ALARM"), (1, "OK")]
    assert tower.client.list_tags_for_resource(ResourceARN=f"{ARN}a")["Tags"] == [{"Key": "k", "Value": "v"}]


def test_reasons_tell_what_was_counted(tower: Tower) -> None:
    tower.alarm("two", EvaluationPeriods=3, DatapointsToAlarm=2, Unit="Count")
    tower.alarm("none", TreatMissingData="breaching", EvaluationPeriods=2, MetricName="silent")
    tower.alarm("late", EvaluationPeriods=2, TreatMissingData="breaching")
    for minute, value in enumerate([5, 1.5, 0]):
        datum = {"MetricName": "m", "Value": value, "Unit": "Count", "Timestamp": tower.start / 1000 + 60 * minute}
        tower.client.put_metric_data(Namespace="App", MetricData=[datum])

    tower.advance_to(3)
    reasons = {name: tower.shown(name)["StateReason"] for name in ("two", "none", "late")}

    assert reasons["two"] == (
        "Threshold Crossed: 2 out of the last 2 datapoints [1.5 (01/01/25 00:01:00), 5.0 (01/01/25 00:00:00)] "
        "were greater than the threshold (1.0) (minimum 2 datapoints for OK -> ALARM transition)."
    )
    assert reasons["none"] == (
        "Threshold Crossed: no datapoints were received for 2 periods and 2 missing datapoints were treated as "
        "[Breaching]."
    )
    assert reasons["late"].startswith("Threshold Crossed: 1 out of the last 2 datapoints [0.0 (01/01/25 00:02:00)] ")
    assert tower.shown("two")["StateReasonData"] == (
        '{"version":"1.0","queryDate":"2025-01-01T00:02:00.000+0000","startDate":"2025-01-01T00:00:00.000+0000",'
        '"unit":"Count","statistic":"Sum","period":60,"recentDatapoints":[5.0,1.5],"threshold":1.0,'
        '"evaluatedDatapoints":[{"timestamp":"2025-01-01T00:01:00.000+0000","sampleCount":1.0,"value":1.5},'
        '{"timestamp":"2025-01-01T00:00:00.000+0000","sampleCount":1.0,"value":5.0}]}'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(50, "50.0"), (0.1, "0.1"), (0, "0.0"), (1e7, "1.0E7"), (12345678.5, "1.23456785E7"), (-0.0005, "-5.0E-4"),
     (9999999, "9999999.0"), (0.001, "0.001"), (1.5e300, "1.5E300")],
)  # fmt: skip
def test_numbers_in_reasons_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert number_text(value) == text


def test_set_state_lasts_until_the_next_evaluation(tower: Tower, refusal: Any) -> None:
    tower.alarm(TreatMissingData="notBreaching")
    tower.advance_to(1.5)

    tower.set_state("ALARM")
    held = tower.state()
    tower.advance_to(5)

    assert (held, tower.timeline()) == ("ALARM", [(0, "OK"), (1.5, "ALARM"), (2, "OK")])
    code, message = refusal(tower.client.set_alarm_state, AlarmName="b", StateValue="OK", StateReason="x")
    assert (code, message) == ("ResourceNotFound", "")
    code, _ = refusal(
        tower.client.set_alarm_state, AlarmName="a", StateValue="OK", StateReason="x", StateReasonData="{"
    )
    assert code == "InvalidFormat"


@pytest.mark.parametrize(
    ("period", "end", "state"),
    [(10, 10, "ALARM"), (20, 20, "ALARM"), (30, 30, "ALARM"), (60, 60, "ALARM"), (60, 50, "INSUFFICIENT_DATA")],
)
def test_short_periods_are_evaluated_every_ten_seconds(tower: Tower, period: int, end: int, state: str) -> None:
    tower.alarm(Period=period)
    tower.world.settle()
    datum = {"MetricName": "m", "Value": 5, "StorageResolution": 1, "Timestamp": tower.start / 1000 + 3}
    tower.client.put_metric_data(Namespace="App", MetricData=[datum])

    tower.world.advance(seconds=end)

    assert tower.state() == state


def test_long_periods_slide_by_the_minute(tower: Tower) -> None:
    """Five minutes: at the end of minute 8, the minutes 3 to 8 are one period.

    After the last data point, that period is evaluated again when all newer ones are missing, as the page notes.
    """
    tower.alarm(Period=300, Threshold=10)
    tower.publish({3: 4.0, 7: 7.0})

    tower.advance_to(30)

    begin = [(4, "OK"), (8, "ALARM"), (9, "OK"), (13, "ALARM"), (14, "OK")]
    again = [(18, "ALARM"), (19, "OK"), (23, "INSUFFICIENT_DATA")]
    assert tower.timeline() == begin + again


def test_metric_math_and_percentiles_are_watched(tower: Tower) -> None:
    rate = math("100 * errors / (errors + good)", "errors", "good")
    common: dict[str, Any] = {"EvaluationPeriods": 1, "ComparisonOperator": "GreaterThanOrEqualToThreshold"}
    tower.client.put_metric_alarm(AlarmName="rate", Metrics=rate, Threshold=25, **common)
    tower.client.put_metric_alarm(AlarmName="filled", Metrics=math("FILL(errors, 0)", "errors"), Threshold=1, **common)
    tower.client.put_metric_alarm(
        AlarmName="p90", Namespace="App", MetricName="good", ExtendedStatistic="p90", Period=60, Threshold=9, **common
    )
    tower.publish({0: 1, 1: 3}, "errors")
    tower.publish({0: 9, 1: 9}, "good")

    tower.advance_to(10)

    assert tower.timeline("rate") == [(1, "OK"), (2, "ALARM"), (5, "INSUFFICIENT_DATA")]
    assert tower.timeline("filled") == [(0, "OK"), (1, "ALARM"), (3, "OK")]
    assert tower.timeline("p90") == [(1, "ALARM"), (5, "INSUFFICIENT_DATA")]
    assert '"statistic"' not in str(tower.shown("rate")["StateReasonData"])


def test_percentile_of_few_samples_changes_nothing_where_the_alarm_ignores_it(tower: Tower) -> None:
    """p90 needs 10/(1 - 0.9) = 100 samples."""
    base = {"Statistic": None, "ExtendedStatistic": "p90", "EvaluationPeriods": 1}
    for name, how in (("evaluate", "evaluate"), ("ignore", "ignore")):
        params = asked(**base, AlarmName=name, EvaluateLowSampleCountPercentile=how)
        tower.client.put_metric_alarm(**{key: value for key, value in params.items() if value is not None})
    for minute, count in ((0, 99), (1, 100)):
        datum = {"MetricName": "m", "Values": [5], "Counts": [count], "Timestamp": tower.start / 1000 + 60 * minute}
        tower.client.put_metric_data(Namespace="App", MetricData=[datum])

    tower.advance_to(2)

    assert (tower.timeline("evaluate"), tower.timeline("ignore")) == ([(1, "ALARM")], [(2, "ALARM")])


def test_alarm_that_warms_up_is_not_evaluated(tower: Tower) -> None:
    """With enough data the warm-up ends early, unless the alarm waits for its end."""
    warm_up = {"WarmUpPeriodDurationInMinutes": 5}
    tower.alarm("early", WarmUpConfiguration=warm_up, TreatMissingData="breaching")
    full = {**warm_up, "OnlyStartEvaluatingAfterWarmUpPeriodEnds": True}
    tower.alarm("full", WarmUpConfiguration=full, TreatMissingData="breaching")
    tower.publish({2: 0})

    tower.advance_to(10)

    assert tower.timeline("early") == [(3, "OK"), (6, "ALARM")]
    assert tower.timeline("full") == [(5, "OK"), (6, "ALARM")]


def test_what_services_count_is_watched(tower: Tower) -> None:
    """Counts of services are written when their minute ends, and the alarm sees them at that instant."""
    tower.alarm(
        Namespace="AWS/SQS", MetricName="NumberOfMessagesSent", Threshold=2,
        Dimensions=[{"Name": "QueueName", "Value": "heard"}],
    )  # fmt: skip
    tower.advance_to(2.5)
    for _ in range(3):
        tower.world.client("sqs").send_message(QueueUrl=tower.url, MessageBody="x")

    tower.advance_to(8)

    assert tower.timeline() == [(3, "ALARM"), (6, "INSUFFICIENT_DATA")]


def test_data_of_minutes_to_come_are_looked_at_minute_by_minute(tower: Tower) -> None:
    """They are published in one call, while the alarm rests."""
    tower.alarm()
    tower.world.settle()
    data = [
        {"MetricName": "m", "Value": float(value), "Timestamp": tower.start / 1000 + minute * 60}
        for minute, value in ((5, 0), (3, 9), (4, 0), (6, 9))
    ]
    tower.client.put_metric_data(Namespace="App", MetricData=data)

    tower.advance_to(7)

    assert tower.timeline() == [(4, "ALARM"), (5, "OK"), (7, "ALARM")]


def test_alarm_without_data_costs_no_instants(tower: Tower) -> None:
    """A year passes at once: an alarm whose metric is silent is not looked at."""
    tower.alarm(TreatMissingData="notBreaching")
    stops: list[int] = []

    tower.world.advance(days=365, moved=stops.append)

    assert tower.state() == "OK"
    assert len(stops) < 10, "the sweeps of what ages, and no minutes"


def test_alarms_are_listed_by_name_state_action_and_type(tower: Tower, refusal: Any) -> None:
    describe = tower.client.describe_alarms
    for name in ("b", "a-1", "a-2"):
        tower.alarm(name, AlarmActions=[f"{TOPIC}-{name}"], TreatMissingData="notBreaching")
    tower.composite("a-3", "ALARM(b)")
    tower.world.settle()
    tower.set_state("ALARM", "b")

    def names(**params: Any) -> list[str]:
        return [alarm["AlarmName"] for alarm in describe(**params)["MetricAlarms"]]

    assert names() == ["a-1", "a-2", "b"]
    assert names(AlarmNamePrefix="a-") == ["a-1", "a-2"]
    assert names(AlarmNames=["b", "gone", "a-1"]) == ["a-1", "b"]
    assert names(StateValue="ALARM") == ["b"]
    assert names(ActionPrefix=f"{TOPIC}-a-2") == ["a-2"]
    assert names(AlarmTypes=["CompositeAlarm"]) == []
    assert [one["AlarmName"] for one in describe(ParentsOfAlarmName="b")["CompositeAlarms"]] == ["a-3"]
    (child,) = describe(ChildrenOfAlarmName="a-3")["MetricAlarms"]
    assert set(child) == {"AlarmName", "AlarmArn", "StateValue", "StateUpdatedTimestamp"}
    first = describe(MaxRecords=2)
    assert [one["AlarmName"] for one in describe(MaxRecords=2, NextToken=first["NextToken"])["MetricAlarms"]] == ["b"]
    assert refusal(describe, NextToken="x") == ("InvalidNextToken", "The specified next token is invalid.")
    assert refusal(describe, AlarmNames=["a"], AlarmNamePrefix="b")[0] == "InvalidParameterCombination"
    assert refusal(describe, ChildrenOfAlarmName="a-3", StateValue="OK")[0] == "ValidationError"
    of_metric = tower.client.describe_alarms_for_metric(Namespace="App", MetricName="m", Statistic="Sum", Period=60)
    assert [alarm["AlarmName"] for alarm in of_metric["MetricAlarms"]] == ["a-1", "a-2", "b"]
    assert not tower.client.describe_alarms_for_metric(Namespace="App", MetricName="m", Period=300)["MetricAlarms"]


def test_deleted_alarm_is_gone_and_its_history_stays(tower: Tower) -> None:
    tower.alarm()
    tower.publish({0: 5, 1: 5})
    tower.advance_to(1)

    tower.client.delete_alarms(AlarmNames=["a", "gone"])
    tower.advance_to(10)

    assert tower.client.describe_alarms()["MetricAlarms"] == []
    assert tower.timeline("a") == [(1, "ALARM")]
    assert tower.changes(kind="ConfigurationUpdate")[-1] == (1, 'Alarm "a" deleted')
    assert tower.client.list_tags_for_resource(ResourceARN=f"{ARN}a")["Tags"] == []
    tower.world.advance(days=15)
    assert tower.changes() == []


def test_history_comes_in_pages_that_new_items_do_not_move(tower: Tower, refusal: Any) -> None:
    for name in ("a", "b", "c"):
        tower.alarm(name)
    history = tower.client.describe_alarm_history

    first = history(MaxRecords=1)
    tower.alarm("d")
    second = history(MaxRecords=1, NextToken=first["NextToken"])

    told = [page["AlarmHistoryItems"][0]["HistorySummary"] for page in (first, second)]
    assert told == ['Alarm "c" created', 'Alarm "b" created']
    assert refusal(history, NextToken="x")[0] == "InvalidNextToken"
    assert refusal(history, StartDate=2, EndDate=1)[0] == "ValidationError"


def test_policies_decide_who_may_change_which_alarm_with_which_actions(tower: Tower, refusal: Any) -> None:
    """By the alarm's ARN and tags, and by the condition key `cloudwatch:AlarmActions`."""
    statements = [
        {"Effect": "Allow", "Action": "cloudwatch:PutMetricAlarm", "Resource": f"{ARN}mine-*"},
        {"Effect": "Deny", "Action": "cloudwatch:PutMetricAlarm", "Resource": "*",
         "Condition": {"ForAnyValue:StringNotLike": {"cloudwatch:AlarmActions": "arn:aws:sns:*"}}},
        {"Effect": "Allow", "Action": "cloudwatch:DeleteAlarms", "Resource": "*",
         "Condition": {"StringEquals": {"aws:ResourceTag/team": "x"}}},
    ]  # fmt: skip
    iam = tower.world.client("iam")
    iam.create_user(UserName="u")
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=document)
    key = iam.create_access_key(UserName="u")["AccessKey"]
    keys = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    client = tower.world.client("cloudwatch", **keys)

    client.put_metric_alarm(**asked(AlarmName="mine-1", AlarmActions=[TOPIC], Tags=[{"Key": "team", "Value": "x"}]))
    tower.alarm("mine-2")
    foreign = refusal(client.put_metric_alarm, **asked(AlarmName="theirs"))
    acting = refusal(client.put_metric_alarm, **asked(AlarmActions=["arn:aws:ssm:us-east-1:1:opsitem:1"]))
    untagged = refusal(client.delete_alarms, AlarmNames=["mine-1", "mine-2"])

    assert {answer[0] for answer in (foreign, acting, untagged)} == {"AccessDenied"}
    assert len(tower.client.describe_alarms()["MetricAlarms"]) == 2
    client.delete_alarms(AlarmNames=["mine-1"])
