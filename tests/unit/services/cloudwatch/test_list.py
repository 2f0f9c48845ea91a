"""ListMetrics. Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html"""

from __future__ import annotations

from typing import Any

import pytest


def dimension(name: str, value: str) -> dict[str, str]:
    return {"Name": name, "Value": value}


@pytest.fixture
def listed(desk: Any) -> Any:
    """The names of the metrics that a list shows."""
    desk.put("plain", Value=1)
    desk.put("one", Value=1, Dimensions=[dimension("a", "1")])
    desk.put("two", Value=1, Dimensions=[dimension("a", "2"), dimension("b", "3")])
    desk.put("two", Value=1, namespace="Other")
    return lambda **filters: [
        (metric["Namespace"], metric["MetricName"]) for metric in desk.client.list_metrics(**filters)["Metrics"]
    ]


def test_metrics_are_listed_once_whatever_their_units(desk: Any) -> None:
    for unit in ("Count", "Bytes"):
        desk.put(Value=1, Unit=unit, Dimensions=[dimension("b", "2"), dimension("a", "1")])

    assert desk.client.list_metrics()["Metrics"] == [
        {"Namespace": "App", "MetricName": "m", "Dimensions": [dimension("a", "1"), dimension("b", "2")]}
    ]


def test_list_is_filtered_by_namespace_name_and_dimensions(listed: Any) -> None:
    assert listed() == [("App", "one"), ("App", "plain"), ("App", "two"), ("Other", "two")]
    assert listed(Namespace="Other") == [("Other", "two")]
    assert listed(MetricName="two") == [("App", "two"), ("Other", "two")]
    assert listed(Dimensions=[{"Name": "a"}]) == [("App", "one"), ("App", "two")]
    assert listed(Dimensions=[dimension("a", "2")]) == [("App", "two")]
    assert listed(Dimensions=[{"Name": "a"}, dimension("b", "3")]) == [("App", "two")]
    assert listed(Dimensions=[dimension("b", "4")]) == []


def names(desk: Any, **filters: str) -> list[str]:
    return [metric["MetricName"] for metric in desk.client.list_metrics(**filters)["Metrics"]]


def test_list_goes_back_two_weeks_or_three_hours(desk: Any) -> None:
    desk.put("old", Value=1)
    desk.world.advance(hours=3, minutes=1)
    desk.put("new", Value=1)

    assert names(desk) == ["new", "old"]
    assert names(desk, RecentlyActive="PT3H") == ["new"]
    desk.world.advance(days=14, hours=-3)
    assert names(desk) == ["new"]


def test_list_comes_in_pages_of_five_hundred(desk: Any, refusal: Any) -> None:
    for batch in (range(1000), range(1000, 1001)):
        data = [{"MetricName": f"m{number:04d}", "Value": 1} for number in batch]
        desk.client.put_metric_data(Namespace="App", MetricData=data)

    pages = list(desk.client.get_paginator("list_metrics").paginate(Namespace="App"))

    assert [len(page["Metrics"]) for page in pages] == [500, 500, 1]
    listed = [metric["MetricName"] for page in pages for metric in page["Metrics"]]
    assert listed == [f"m{number:04d}" for number in range(1001)]
    for token in ("nonsense", pages[0]["NextToken"]):
        assert refusal(desk.client.list_metrics, NextToken=token)[0] == "InvalidParameterValue"


def test_linked_accounts_are_only_the_caller(desk: Any, refusal: Any) -> None:
    desk.put(Value=1)

    linked = desk.client.list_metrics(IncludeLinkedAccounts=True)
    own = desk.client.list_metrics(IncludeLinkedAccounts=True, OwningAccount="000000000000")
    other = desk.client.list_metrics(IncludeLinkedAccounts=True, OwningAccount="111111111111")

    assert linked["OwningAccounts"] == own["OwningAccounts"] == ["000000000000"]
    assert (other["Metrics"], other["OwningAccounts"]) == ([], [])
    assert "OwningAccounts" not in desk.client.list_metrics()
    code, _ = refusal(desk.client.list_metrics, OwningAccount="000000000000")
    assert code == "InvalidParameterCombination"
