"""Metric math. Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.services.cloudwatch.limits import VALUES_COMPUTED_MAX
from redrive.services.cloudwatch.model.math import Malformed, parse_math
from redrive.services.cloudwatch.model.time import Window
from redrive.services.cloudwatch.model.values import TimeSeries, combine

# `a` has values at the minutes 0, 1, 3; `b` at 0, 1, 2. The range has the minutes 0 to 4.
A = {0: 6.0, 1: 2.0, 3: 9.0}
B = {0: 3.0, 1: 0.0, 2: 5.0}


@pytest.fixture
def published(desk: Any) -> Any:
    """The desk, with data of both metrics."""
    desk.publish("a", A)
    desk.publish("b", B)
    return desk


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a", A),
        ("a + b", {0: 9, 1: 2}),
        ("a - b * 2", {0: 0, 1: 2}),
        ("(a - b) * 2", {0: 6, 1: 4}),
        ("a / b", {0: 2}),
        ("a / 0", {}),
        ("100 * b / a", {0: 50, 1: 0}),
        ("-a ^ 2", {0: -36, 1: -4, 3: -81}),
        ("2 ^ 3 ^ 0 * a", {0: 12, 1: 4, 3: 18}),
        ("a - 1 - 1", {0: 4, 1: 0, 3: 7}),
        ("a / 2 / 3 + .5e1", {0: 6, 1: 5 + 1 / 3, 3: 6.5}),
        ("a > 5", {0: 1, 1: 0, 3: 1}),
        ("a >= 6 && a < 9", {0: 1, 1: 0, 3: 0}),
        ("a == 2 OR a != 2 AND a <= 6", {0: 1, 1: 1, 3: 0}),
        ("b || 0", {0: 1, 1: 0, 2: 1}),
        ("a + SUM(a)", {0: 23, 1: 19, 3: 26}),
        ("a * 0 + AVG(b)", {0: 8 / 3, 1: 8 / 3, 3: 8 / 3}),
        ("a * 0 + MIN(a) + MAX(a)", {0: 11, 1: 11, 3: 11}),
        ("a * 0 + DATAPOINT_COUNT(a)", {0: 3, 1: 3, 3: 3}),
        ("a * 0 + PERIOD(a)", {0: 60, 1: 60, 3: 60}),
        ("a - STDDEV([a, b])", {0: 4.5, 1: 1, 3: 9}),
        ("SUM(METRICS())", {0: 9, 1: 2, 2: 5, 3: 9}),
        ("AVG([a, b])", {0: 4.5, 1: 1, 2: 5, 3: 9}),
        ("MAX(METRICS())", {0: 6, 1: 2, 2: 5, 3: 9}),
        ("MIN([a, b])", {0: 3, 1: 0, 2: 5, 3: 9}),
        ("DATAPOINT_COUNT([a, b])", {0: 2, 1: 2, 2: 1, 3: 1}),
        ("SUM(METRICS('b'))", B),
        ('SUM(METRICS("b") * 2)', {0: 6, 1: 0, 2: 10}),
        ("FIRST(METRICS())", A),
        ("LAST(METRICS())", B),
        ("FILL(a, 0)", {0: 6, 1: 2, 2: 0, 3: 9, 4: 0}),
        ("FILL(a, REPEAT)", {0: 6, 1: 2, 2: 2, 3: 9, 4: 9}),
        ("FILL(a, LINEAR)", {0: 6, 1: 2, 2: 5.5, 3: 9}),
        ("FILL(a, b)", {0: 6, 1: 2, 2: 5, 3: 9}),
        ("SUM(FILL(METRICS(), 0))", {0: 9, 1: 2, 2: 5, 3: 9, 4: 0}),
        ("IF(a > 5, a, 0)", {0: 6, 1: 0, 3: 9}),
        ("IF(a > 5, b, 1)", {0: 3, 1: 1}),
        ("IF(a > 5, a)", {0: 6, 3: 9}),
        ("IF(SUM(b) > 1, a, b)", A),
        ("IF(0, a, b)", B),
        ("RATE(a)", {1: -4 / 60, 3: 7 / 120}),
        ("DIFF(a)", {1: -4, 3: 7}),
        ("DIFF_TIME(a)", {1: 60, 3: 120}),
        ("RUNNING_SUM(a)", {0: 6, 1: 8, 3: 17}),
        ("ABS(-a)", A),
        ("CEIL(a / 4)", {0: 2, 1: 1, 3: 3}),
        ("FLOOR(a / 4)", {0: 1, 1: 0, 3: 2}),
        ("LOG10(a * 0 + 100)", {0: 2, 1: 2, 3: 2}),
        ("LOG(b * 0)", {}),
        ("a + ABS(-1)", {0: 7, 1: 3, 3: 10}),
        ("MINUTE(a)", {0: 0, 1: 1, 3: 3}),
        ("HOUR(a) + DAY(a) * 10 + DATE(a) * 100 + MONTH(a) * 1000", {0: 1130, 1: 1130, 3: 1130}),
        ("YEAR(a)", {0: 2025, 1: 2025, 3: 2025}),
        ("EPOCH(a) - 1735689600", {0: 0, 1: 60, 3: 180}),
        ("TIME_SERIES(7)", dict.fromkeys(range(5), 7)),
        ("LAST(SORT(METRICS(), SUM, ASC))", A),
        ("FIRST(SORT(METRICS(), MAX, DESC, 1))", A),
        ("FIRST(SLICE(METRICS(), 1))", B),
        ("LAST(SLICE(METRICS(), 0, 1))", A),
        ("FIRST(REMOVE_EMPTY([a * (b / 0), b]))", B),
        ("a * 0 + SUM(b / 0)", {0: 0, 1: 0, 3: 0}),
    ],
)
def test_expression_has_its_value(published: Any, expression: str, expected: dict[int, float]) -> None:
    shown = published.math(expression)

    assert shown == pytest.approx(expected)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("a +", "The expression ends too early."),
        ("(a", "')' is missing."),
        ("a b", "Unexpected 'b'."),
        ("a ; b", "Unexpected character ';'."),
        (")", "Unexpected ')'."),
        ("c + 1", "Undefined variable c"),
        ("e + 1", "e depends on itself"),
        ("METRICS() + METRICS()", "Unsupported operand type(s) for +: '[TimeSeries]' and '[TimeSeries]'"),
        ("a + 'x'", "Unsupported operand type(s) for +: 'TimeSeries' and 'String'"),
        ("NOPE(a)", "Unsupported function NOPE"),
        ("SEARCH('{App} m', 'Sum', 60)", "Unsupported function SEARCH"),
        ("RATE(1)", "RATE does not take (Scalar)"),
        ("FILL(a)", "FILL does not take (TimeSeries)"),
        ("FILL(a, 'x')", "FILL does not take (TimeSeries, String)"),
        ("PERIOD(METRICS())", "PERIOD does not take ([TimeSeries])"),
        ("FIRST(SLICE(METRICS(), 2))", "FIRST does not take ([TimeSeries])"),
        ("SORT(METRICS(), 'AVERAGE', ASC)", "SORT does not take ([TimeSeries], String, String)"),
        ("SORT(METRICS(), SUM, ASC, 1e999)", "SORT does not take ([TimeSeries], String, String, Scalar)"),
        ("SLICE(METRICS(), 1e999)", "SLICE does not take ([TimeSeries], Scalar)"),
        ("SLICE(METRICS(), 0, 1e999)", "SLICE does not take ([TimeSeries], Scalar, Scalar)"),
        ("FLOOR(1e999)", "FLOOR does not take (Scalar)"),
        ("CEIL(1e999)", "CEIL does not take (Scalar)"),
        ("METRICS(1)", "METRICS takes a text, or nothing"),
        ("TIME_SERIES(a)", "TIME_SERIES takes a number"),
        ("[a, 1]", "An array holds time series"),
        ("SUM(a)", "The result of the expression must be a time series or an array of time series"),
        ("a + 1 / 0", "1 / 0 is no number"),
        ("(" * 60 + "a" + ")" * 60, "The expression nests deeper than 50 levels."),
        ("SELECT AVG(m) FROM App", "redrive has no Metrics Insights; see docs/semantics/cloudwatch.md."),
    ],
)
def test_expression_without_a_value_is_refused(published: Any, refusal: Any, expression: str, text: str) -> None:
    assert refusal(published.math, expression) == ("ValidationError", f"Error in expression 'e': {text}")


@pytest.mark.parametrize(
    ("minutes", "expression"),
    [
        (3_000_000, "FILL(a, 0)"),
        (3_000_000, "SUM(FILL(METRICS(), REPEAT))"),
        (3_000_000, "TIME_SERIES(1)"),
        (100_000, "+".join(["TIME_SERIES(1)"] * 6)),
        (100_000, "-(" * 10 + "TIME_SERIES(1)" + ")" * 10),
    ],
)
def test_expression_that_computes_millions_of_values_is_refused(
    published: Any, refusal: Any, minutes: int, expression: str
) -> None:
    """A value for each minute of all history is more than a server can hold, let alone answer while others wait."""
    code, text = refusal(published.math, expression, begin=-minutes)

    assert code == "ValidationError"
    assert f"compute more than {VALUES_COMPUTED_MAX} values" in text


def test_values_are_counted_over_all_expressions_of_a_request(published: Any, refusal: Any) -> None:
    queries = [{"Id": f"e{number}", "Expression": "TIME_SERIES(1)"} for number in range(12)]

    assert published.data(*queries[:11], begin=-90_000, end=0)
    assert "compute more than" in refusal(published.data, *queries, begin=-90_000, end=0)[1]


def test_expressions_name_one_another_in_any_order(published: Any, query: Any) -> None:
    results = published.data(
        {"Id": "twice", "Expression": "sum * 2"}, {"Id": "sum", "Expression": "a + b", "ReturnData": False},
        query("a"), query("b"),
    )  # fmt: skip

    assert published.by_minute(results[0]) == {0: 18, 1: 4}


def test_array_gives_a_result_for_each_of_its_series(published: Any, query: Any) -> None:
    results = published.data(
        {**query("a"), "ReturnData": False}, {**query("b"), "ReturnData": False},
        {"Id": "e", "Expression": "METRICS() * 2", "Label": "${LABEL} doubled"},
    )  # fmt: skip

    assert [(one["Id"], one["Label"], one["Values"]) for one in results] == [
        ("e", "a doubled", [12, 4, 18]),
        ("e", "b doubled", [6, 0, 10]),
    ]


def test_series_made_of_a_number_has_the_period_of_its_query(published: Any) -> None:
    (result,) = published.data({"Id": "e", "Expression": "TIME_SERIES(1)", "Period": 120})

    assert published.by_minute(result) == {0: 1, 2: 1, 4: 1}


numbers = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
series = st.dictionaries(st.integers(0, 5), numbers, max_size=5).map(
    lambda values: TimeSeries(Window(0, 6, 1, 0), dict(sorted(values.items())))
)
quickly = settings(max_examples=100, database=None, deadline=None, derandomize=True)


@quickly
@given(left=series, right=series, sign=st.sampled_from("+-*/"))
def test_operator_on_series_is_that_on_numbers_where_both_have_one(
    left: TimeSeries, right: TimeSeries, sign: str
) -> None:
    result = combine(sign, left, right)

    assert isinstance(result, TimeSeries)
    expected = {
        at: combine(sign, left.values[at], right.values[at])
        for at in sorted(left.values.keys() & right.values.keys())
        if not (sign == "/" and right.values[at] == 0)
    }
    assert result.values == expected
    assert all(math.isfinite(value) for value in result.values.values())


@quickly
@given(text=st.text(alphabet="am1. +-*/^<>=!&|(),[]'\"SUMIF", max_size=25))
def test_any_text_is_read_or_refused(text: str) -> None:
    refused = False
    try:
        parse_math(text)
    except Malformed:
        refused = True

    assert refused or text.strip()
