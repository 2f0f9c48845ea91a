"""GetMetricData and GetMetricStatistics: times, periods, statistics, pages.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
"""

from __future__ import annotations

from typing import Any

import pytest

INVALID, COMBINATION, VALIDATION = "InvalidParameterValue", "InvalidParameterCombination", "ValidationError"


@pytest.mark.parametrize("protocol", ["smithy-rpc-v2-cbor", "json", "query"])
def test_data_are_read_in_every_protocol(desk: Any, query: Any, protocol: str) -> None:
    desk.publish("m", {0: 1, 1: 2})

    answer = desk.speak(
        protocol, "GetMetricData", MetricDataQueries=[query("m"), {"Id": "e", "Expression": "m * 2"}],
        StartTime=desk.seconds(0), EndTime=desk.seconds(5),
    )  # fmt: skip

    assert [(one["Id"], one["Label"], one["Values"], one["StatusCode"]) for one in answer["MetricDataResults"]] == [
        ("m", "m", [2, 1], "Complete"),
        ("e", "e", [4, 2], "Complete"),
    ]


def test_newest_comes_first_unless_asked_otherwise(desk: Any, query: Any) -> None:
    desk.publish("m", {0: 1, 1: 2})

    assert [desk.data(query("m"), ScanBy=f"Timestamp{order}ending")[0]["Values"] for order in ("Asc", "Desc")] == [
        [1, 2],
        [2, 1],
    ]


def test_periods_are_counted_from_the_start(desk: Any, query: Any) -> None:
    """The start is rounded down to its minute, and belongs to the range; the end does not."""
    desk.publish("m", dict.fromkeys(range(6), 1))

    (result,) = desk.data(query("m", period=120), begin=1.5, end=5)

    assert desk.by_minute(result) == {1: 2, 3: 2}


def test_start_is_rounded_down_the_coarser_the_older(desk: Any) -> None:
    """To five minutes beyond 15 days, to an hour beyond 63."""
    desk.world.advance(days=64)
    newest = 64 * 24 * 60
    desk.put(minutes=newest, Value=1)
    begun = {}
    for days in (14, 16, 63.9):
        begin = (64 - days) * 24 * 60 + 33.5
        (point,) = desk.statistics(begin=begin, end=newest + 1, period=86_400 * 65, Statistics=["Sum"])
        begun[days] = point["Timestamp"].minute

    assert begun == {14: 33, 16: 30, 63.9: 0}


def test_high_resolution_is_seen_for_three_hours(desk: Any, query: Any) -> None:
    for second in (0, 1, 11):
        desk.put(minutes=second / 60, Value=1, StorageResolution=1)

    (tens,) = desk.data(query("m", period=10), end=1)
    assert tens["Values"] == [2, 1]
    (seconds,) = desk.data(query("m", period=1), end=1)
    assert seconds["Values"] == [1, 1, 1]
    desk.world.advance(hours=3, minutes=1)
    assert desk.data(query("m", period=10), end=1)[0]["Values"] == []
    assert desk.data(query("m"), end=1)[0]["Values"] == [3]


def test_unit_is_a_filter_and_without_it_all_units_count(desk: Any, query: Any) -> None:
    desk.put(Value=1, Unit="Seconds")
    desk.put(Value=2, Unit="Bytes")

    results = desk.data(query("m"), query("m", query_id="s", Unit="Seconds"), query("m", query_id="n", Unit="Count"))

    assert [result["Values"] for result in results] == [[3], [1], []]


def test_metric_that_does_not_exist_has_no_data(desk: Any, query: Any) -> None:
    assert desk.data(query("m")) == [
        {"Id": "m", "Label": "m", "Timestamps": [], "Values": [], "StatusCode": "Complete"}
    ]
    assert desk.statistics(Statistics=["Sum"]) == []


def test_query_may_be_kept_from_the_answer(desk: Any, query: Any) -> None:
    results = desk.data({**query("m"), "ReturnData": False}, {"Id": "e", "Expression": "m"})

    assert [result["Id"] for result in results] == ["e"]


def test_foreign_account_is_forbidden(desk: Any, query: Any) -> None:
    """No accounts are linked here."""
    desk.put(Value=1)

    results = desk.data(
        {**query("m"), "AccountId": "111111111111"}, {**query("m", query_id="own"), "AccountId": "000000000000"}
    )

    assert [(result["StatusCode"], result["Values"]) for result in results] == [("Forbidden", []), ("Complete", [1])]


def test_data_come_in_pages_of_so_many_points(desk: Any, query: Any, refusal: Any) -> None:
    desk.publish("a", {0: 1, 1: 2, 2: 3})
    desk.publish("b", {0: 4, 1: 5})
    params = {
        "MetricDataQueries": [query("a"), query("none"), query("b")], "StartTime": desk.seconds(0),
        "EndTime": desk.seconds(5), "ScanBy": "TimestampAscending", "MaxDatapoints": 2,
    }  # fmt: skip

    pages = [desk.client.get_metric_data(**params)]
    while token := pages[-1].get("NextToken"):
        pages.append(desk.client.get_metric_data(**params, NextToken=token))

    shown = [[(one["Id"], one["Values"], one["StatusCode"]) for one in page["MetricDataResults"]] for page in pages]
    assert shown == [
        [("a", [1, 2], "PartialData")],
        [("a", [3], "Complete"), ("none", [], "Complete"), ("b", [4], "PartialData")],
        [("b", [5], "Complete")],
    ]
    for foreign in (
        {"NextToken": "nonsense"},
        {"NextToken": pages[0]["NextToken"], "EndTime": desk.seconds(4)},
    ):
        assert refusal(desk.client.get_metric_data, **{**params, **foreign})[0] == "InvalidNextToken"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"Id": "M"}, "The value M for parameter Q.Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$."),
        ({"Expression": "1"}, "Exactly one of the parameters Q.MetricStat and Q.Expression must be specified."),
        ({"MetricStat": None}, "Exactly one of the parameters Q.MetricStat and Q.Expression must be specified."),
        ({"ReturnData": False}, "At least one query must have ReturnData set to true."),
        ({"Period": 60}, "The parameter Q.Period must not be specified beside Q.MetricStat."),
        ({"Period": 61}, "The parameter Q.Period must be 1, 5, 10, 20, 30 or a multiple of 60."),
    ],
)
def test_query_that_breaks_a_rule_is_refused(
    desk: Any, query: Any, refusal: Any, change: dict[str, Any], text: str
) -> None:
    asked = {name: value for name, value in {**query("m"), **change}.items() if value is not None}

    code, message = refusal(desk.data, asked)

    assert (code, message.splitlines()[0]) == (VALIDATION, text.replace("Q.", "MetricDataQueries.member.1."))


def test_statistic_of_a_query_is_checked(desk: Any, query: Any, refusal: Any) -> None:
    """One sentence for each that is wrong."""
    code, message = refusal(desk.data, query("m", "Mean"), query("n", "p101"), query("o", period=7))

    assert code == VALIDATION
    assert message.splitlines() == [
        "The value Mean for parameter MetricDataQueries.member.1.MetricStat.Stat is not a valid statistic.",
        "The value p101 for parameter MetricDataQueries.member.2.MetricStat.Stat is not a valid statistic.",
        "The parameter MetricDataQueries.member.3.MetricStat.Period must be 1, 5, 10, 20, 30 or a multiple of 60.",
    ]


def test_metric_of_a_query_has_namespace_and_name(desk: Any, refusal: Any) -> None:
    code, message = refusal(desk.data, {"Id": "m", "MetricStat": {"Metric": {}, "Period": 60, "Stat": "Sum"}})

    assert (code, len(message.splitlines())) == (VALIDATION, 2)
    assert message.endswith("MetricStat.Metric.MetricName is required.")


def test_ids_are_unique_and_queries_are_at_most_five_hundred(desk: Any, query: Any, refusal: Any) -> None:
    assert refusal(desk.data, query("m"), query("m")) == (VALIDATION, "The Id 'm' is used by more than one query.")
    many = [query("m", query_id=f"m{number}") for number in range(501)]
    text = "The collection MetricDataQueries must not have a size greater than 500."
    assert refusal(desk.data, *many) == (VALIDATION, text)
    assert refusal(desk.data) == (VALIDATION, "The collection MetricDataQueries must not be empty.")


@pytest.mark.parametrize(
    ("begin", "end", "text", "code"),
    [
        (1, 1, "The parameter StartTime must be less than the parameter EndTime.", COMBINATION),
        (2, 1, "The parameter StartTime must be less than the parameter EndTime.", COMBINATION),
    ],
)
def test_start_lies_before_the_end(
    desk: Any, query: Any, refusal: Any, *, begin: int, end: int, text: str, code: str
) -> None:
    """GetMetricData calls both a ValidationError."""
    assert refusal(desk.data, query("m"), begin=begin, end=end) == (VALIDATION, text)
    assert refusal(desk.statistics, begin=begin, end=end, Statistics=["Sum"]) == (code, text)


@pytest.mark.parametrize("size", [0, 100_801])
def test_size_of_a_page_has_bounds(desk: Any, query: Any, refusal: Any, size: int) -> None:
    assert refusal(desk.data, query("m"), MaxDatapoints=size) == (
        VALIDATION,
        "The parameter MaxDatapoints must be between 1 and 100800.",
    )


def test_statistics_have_at_most_1440_points(desk: Any, refusal: Any) -> None:
    assert desk.statistics(end=1440, Statistics=["Sum"]) == []

    code, message = refusal(desk.statistics, end=1440.5, Statistics=["Sum"])

    assert code == COMBINATION
    assert message.startswith("You have requested up to 1441 datapoints, which exceeds the limit of 1440.")


@pytest.mark.parametrize(
    ("asked", "code", "text"),
    [
        ({}, "MissingParameter", "Must specify either Statistics or ExtendedStatistics"),
        (
            {"Statistics": ["Sum"], "ExtendedStatistics": ["p50"]},
            COMBINATION,
            "The parameters Statistics and ExtendedStatistics are mutually exclusive and you have specified both.",
        ),
        (
            {"ExtendedStatistics": ["p50", "Sum"]},
            INVALID,
            "The value Sum for parameter ExtendedStatistics.member.2 is not a valid statistic.",
        ),
        (
            {"Statistics": ["Sum"], "period": 61},
            INVALID,
            "The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60.",
        ),
    ],
)
def test_statistics_that_break_a_rule_are_refused(
    desk: Any, refusal: Any, asked: dict[str, Any], code: str, text: str
) -> None:
    assert refusal(desk.statistics, **asked) == (code, text)


def test_percentiles_need_the_values_themselves(desk: Any) -> None:
    desk.put("values", Values=[1, 2, 3, 4])
    desk.put("set", StatisticValues={"SampleCount": 4, "Sum": 10, "Minimum": 1, "Maximum": 4})
    desk.put("same", StatisticValues={"SampleCount": 4, "Sum": 12, "Minimum": 3, "Maximum": 3})
    desk.put("mixed", StatisticValues={"SampleCount": 4, "Sum": 10, "Minimum": 1, "Maximum": 4})
    desk.put("mixed", Value=1)
    desk.put("negative", Values=[-1, 1])

    told = {
        name: [point["ExtendedStatistics"] for point in desk.statistics(name, ExtendedStatistics=["p50", "p99.9"])]
        for name in ("values", "set", "same", "mixed", "negative")
    }

    assert told == {
        "values": [{"p50": 2, "p99.9": 4}], "set": [], "same": [{"p50": 3, "p99.9": 3}], "mixed": [], "negative": [],
    }  # fmt: skip


def test_values_survive_more_than_one_write_and_more_than_one_minute(desk: Any) -> None:
    for value in range(1, 11):
        desk.put(minutes=value % 2, Value=value)

    (point,) = desk.statistics(period=300, ExtendedStatistics=["p90", "tm90"])

    assert point["ExtendedStatistics"] == {"p90": 9, "tm90": 5}


def test_very_many_different_values_are_kept_with_three_digits(desk: Any) -> None:
    """So that a minute has room."""
    for begin in range(0, 1500, 150):
        desk.put(Values=[100_000 + value for value in range(begin, begin + 150)])

    (point,) = desk.statistics(ExtendedStatistics=["p50", "p100"])

    assert point["ExtendedStatistics"] == {"p50": 100_749, "p100": 101_000}
    (point,) = desk.statistics(Statistics=["SampleCount", "Maximum"])
    assert (point["SampleCount"], point["Maximum"]) == (1500, 101_499)


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("plain", "plain"),
        ("${LABEL} of ${PROP('Namespace')}", "m of App"),
        ("${PROP('MetricName')} ${PROP('Stat')} ${PROP('Period')} ${PROP('Dim.q')}", "m Sum 60 1"),
        ("${PROP('AccountId')} ${PROP('Region')}", "000000000000 us-east-1"),
        ("${MIN} ${MAX} ${AVG} ${SUM} ${FIRST} ${LAST} ${DATAPOINT_COUNT}", "1 4 2.5 5 1 4 2"),
        ("${MAX_TIME} ${FIRST_TIME}", "2025-01-01T01:31:00+01:30 2025-01-01T01:30:00+01:30"),
        ("${PROP('Dim.none')} ${NONSENSE} $", "${PROP('Dim.none')} ${NONSENSE} $"),
    ],
)
def test_label_is_filled_in(desk: Any, query: Any, label: str, shown: str) -> None:
    """Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/graph-dynamic-labels.html"""
    dimensions = [{"Name": "q", "Value": "1"}]
    desk.put(minutes=0, Value=1, Dimensions=dimensions)
    desk.put(minutes=1, Value=4, Dimensions=dimensions)

    (result,) = desk.data(query("m", Dimensions=dimensions, Label=label), LabelOptions={"Timezone": "+0130"})

    assert result["Label"] == shown


@pytest.mark.parametrize("zone", ["UTC", "0130", "+2400", "+0160"])
def test_timezone_of_labels_is_an_offset(desk: Any, query: Any, refusal: Any, zone: str) -> None:
    assert refusal(desk.data, query("m"), LabelOptions={"Timezone": zone})[0] == VALIDATION


@pytest.mark.parametrize(
    ("asked", "labels"),
    [
        ([("Sum", 60), ("Average", 60)], ["m Sum", "m Average"]),
        ([("Sum", 60), ("Sum", 120)], ["m 60", "m 120"]),
        ([("Sum", 60), ("Average", 120)], ["m Sum 60", "m Average 120"]),
        ([("Sum", 60), ("Sum", 60)], ["m", "m"]),
    ],
)
def test_equal_labels_are_told_apart_by_what_differs(desk: Any, query: Any, asked: Any, labels: list[str]) -> None:
    """By statistic and period; the unit is never named."""
    desk.publish("m", {0: 1})
    queries = [query("m", stat, query_id=f"q{at}", period=period) for at, (stat, period) in enumerate(asked)]

    assert [result["Label"] for result in desk.data(*queries)] == labels
