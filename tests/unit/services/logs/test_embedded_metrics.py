"""Metrics in log events: what becomes a metric of CloudWatch, and what stays a log event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.services.logs.model.embedded_metrics import embedded_metrics
from redrive.testing.world import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("logs", "CreateLogGroup", logGroupName="g")
    world.call("logs", "CreateLogStream", logGroupName="g", logStreamName="s")
    yield world
    world.close()


def embedded(at: int, **changes: Any) -> dict[str, Any]:
    """An event with a metric of two dimensions and one of a list of values."""
    directive = {
        "Namespace": "Shop",
        "Dimensions": [["Place", "Kind"], ["Place"]],
        "Metrics": [{"Name": "Sold", "Unit": "Count"}, {"Name": "Took", "Unit": "Milliseconds"}],
    }
    return {
        "_aws": {"Timestamp": at, "CloudWatchMetrics": [directive]}, "Place": "north", "Kind": "tea", "Sold": 3,
        "Took": [1, 2.5], **changes,
    }  # fmt: skip


def put(world: World, *events: object) -> None:
    log_events = [{"timestamp": world.now, "message": json.dumps(event)} for event in events]
    world.call("logs", "PutLogEvents", logGroupName="g", logStreamName="s", logEvents=log_events)


def statistics(world: World, name: str, **dimensions: str) -> list[tuple[float, float, str]]:
    """Sample count, sum and unit of each period."""
    found = world.call(
        "cloudwatch", "GetMetricStatistics", Namespace="Shop", MetricName=name, StartTime=world.now - 3_600_000,
        EndTime=world.now + 3_600_000, Period=60, Statistics=["Sum", "SampleCount"],
        Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
    )["Datapoints"]  # fmt: skip
    return [(point["SampleCount"], point["Sum"], point["Unit"]) for point in found]


def test_metrics_in_an_event_become_metrics_for_each_set_of_dimensions(world: World) -> None:
    put(world, embedded(world.now), {"level": "INFO"}, embedded(world.now, Sold=4))

    assert statistics(world, "Sold", Place="north", Kind="tea") == [(2.0, 7.0, "Count")]
    assert statistics(world, "Sold", Place="north") == [(2.0, 7.0, "Count")]
    assert statistics(world, "Took", Place="north") == [(4.0, 7.0, "Milliseconds")]
    assert statistics(world, "Sold") == []


def test_events_with_metrics_that_cloudwatch_refuses_are_written_all_the_same(world: World) -> None:
    event = embedded(world.now)
    event["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Unit"] = "Pounds"

    put(world, event)

    found = world.call("logs", "GetLogEvents", logGroupName="g", logStreamName="s")["events"]
    assert len(found) == 1
    assert statistics(world, "Sold", Place="north") == []


@pytest.mark.parametrize(
    "event",
    [
        {"_aws": 1},
        {"_aws": {"CloudWatchMetrics": []}},
        {"_aws": {"Timestamp": 1, "CloudWatchMetrics": [7, {"Namespace": 1}, {"Namespace": "N"}]}},
        embedded(0, _aws={"Timestamp": "now", "CloudWatchMetrics": []}),
        embedded(0, Sold="3", Took=True),
        embedded(0, Place=7),
        [{"_aws": {}}],
    ],
)
def test_document_that_does_not_keep_to_the_format_has_no_metrics(event: object) -> None:
    assert list(embedded_metrics(json.dumps(event))) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["_aws", "CloudWatchMetrics", "Timestamp", "Namespace", "Dimensions", "Metrics", "Name", "a"]),
        inner, max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_any_document_can_be_read(document: object) -> None:
    for namespace, data in embedded_metrics(json.dumps({"_aws": document, "a": 1})):
        assert isinstance(namespace, str)
        assert data
