"""Metrics reach CloudWatch by the log or by a call, within the limits of each."""

from __future__ import annotations

import io
import json
from typing import Any, get_args

import pytest
from botocore.session import Session

from redrive.handler import Metrics
from redrive.handler.metrics import Unit
from tests.unit.handler.conftest import START, HandClock


def lines(metrics: Metrics) -> list[dict[str, Any]]:
    stream = io.StringIO()
    metrics.write(stream)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_line_has_the_embedded_metric_format(clock: HandClock) -> None:
    metrics = Metrics("Lambda/Retry", {"FunctionName": "charge"}, clock=clock)
    metrics.add("RetryCount", 2)
    metrics.add("Latency", 12.5, "Milliseconds")
    metrics.add("Latency", 14.5, "Milliseconds")

    assert lines(metrics) == [
        {
            "_aws": {
                "Timestamp": START,
                "CloudWatchMetrics": [
                    {
                        "Namespace": "Lambda/Retry",
                        "Dimensions": [["FunctionName"]],
                        "Metrics": [
                            {"Name": "RetryCount", "Unit": "Count"},
                            {"Name": "Latency", "Unit": "Milliseconds"},
                        ],
                    }
                ],
            },
            "FunctionName": "charge",
            "RetryCount": 2,
            "Latency": [12.5, 14.5],
        }
    ]
    assert lines(metrics) == []


def test_values_of_other_dimensions_or_instants_have_lines_of_their_own(clock: HandClock) -> None:
    metrics = Metrics("N", clock=clock)
    metrics.add("RetryCount", 1, dimensions={"ErrorType": "Throttled"})
    metrics.add("RetryCount", 2, dimensions={"ErrorType": "Timeout"})
    clock.advance(1)
    metrics.add("RetryCount", 3, dimensions={"ErrorType": "Timeout"})

    found = [(line["ErrorType"], line["_aws"]["Timestamp"], line["RetryCount"]) for line in lines(metrics)]

    assert found == [("Throttled", START, 1), ("Timeout", START, 2), ("Timeout", START + 1_000, 3)]


def test_line_has_no_more_than_a_hundred_metrics_and_a_hundred_values(clock: HandClock) -> None:
    metrics = Metrics("N", clock=clock)
    for number in range(101):
        metrics.add(f"m{number}")
    for _ in range(101):
        metrics.add("many")

    found = lines(metrics)

    sizes = [len(line["_aws"]["CloudWatchMetrics"][0]["Metrics"]) for line in found]
    assert (sum(sizes), max(sizes)) == (103, 100)
    assert sorted(len(line["many"]) if isinstance(line["many"], list) else 1 for line in found if "many" in line) == [
        1,
        100,
    ]


def test_call_sends_a_thousand_at_a_time_and_keeps_what_was_not_sent(clock: HandClock) -> None:
    class CloudWatch:
        def __init__(self) -> None:
            self.requests: list[dict[str, Any]] = []

        def put_metric_data(self, **request) -> dict[str, object]:
            if len(self.requests) == 1:
                raise TimeoutError
            self.requests.append(request)
            return {}

    cloudwatch = CloudWatch()
    metrics = Metrics("S3EventProcessing", {"BucketName": "b"}, clock=clock)
    for number in range(1_001):
        metrics.add("ProcessingLatency", number, "Milliseconds")

    with pytest.raises(TimeoutError):
        metrics.send(cloudwatch)

    (request,) = cloudwatch.requests
    assert (request["Namespace"], len(request["MetricData"])) == ("S3EventProcessing", 1_000)
    assert request["MetricData"][0] == {
        "MetricName": "ProcessingLatency",
        "Dimensions": [{"Name": "BucketName", "Value": "b"}],
        "Timestamp": START / 1000,
        "Value": 0,
        "Unit": "Milliseconds",
    }
    assert [line["ProcessingLatency"] for line in lines(metrics)] == [1_000]


@pytest.mark.parametrize(
    ("name", "value", "dimensions"),
    [
        ("", 1, {}),
        ("m", float("nan"), {}),
        ("m", float("inf"), {}),
        ("m", 1, {"D": ""}),
        ("m", 1, {f"d{n}": "x" for n in range(31)}),
        ("D", 1, {"D": "x"}),
        ("_aws", 1, {}),
    ],
)
def test_metric_that_cloudwatch_would_drop_is_refused(
    clock: HandClock, name: str, value: float, dimensions: dict[str, str]
) -> None:
    metrics = Metrics("N", clock=clock)

    with pytest.raises(ValueError):
        metrics.add(name, value, dimensions=dimensions)

    assert lines(metrics) == []


def test_unit_that_cloudwatch_does_not_know_is_refused(clock: HandClock) -> None:
    metrics = Metrics("N", clock=clock)

    with pytest.raises(ValueError, match="Bytes/Second"):
        metrics.add("m", 1, "Nonsense")  # type: ignore[arg-type]

    assert lines(metrics) == []


def test_units_are_those_of_cloudwatchs_own_model() -> None:
    model = Session().get_service_model("cloudwatch")

    assert set(get_args(Unit)) == set(model.shape_for("StandardUnit").enum)
