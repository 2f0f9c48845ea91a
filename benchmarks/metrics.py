"""Metrics and alarms: values published, rounds of many alarms, and large answers of GetMetricData.

In process with a store in memory, and by a server on a durable store, whose CPU counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import boto3

from benchmarks.processes import ServerProcess
from benchmarks.report import Figure
from redrive.core.clock import MINUTE_MS
from redrive.core.scope import Caller, Scope
from redrive.store.api import Transaction
from redrive.store.tables.metrics import DataPoint, Series, Watched
from redrive.testing.world import World

ALARMS = 1_000
METRICS = 500
MINUTES = 24 * 60
ROUNDS = 5
_SCOPE = Scope("000000000000", "us-east-1")


def measure() -> Iterator[Figure]:
    """CPU time, with a store in memory."""
    yield from _published()
    yield _rounds()
    for period_s in (60, 300):
        yield _read(period_s)


def measure_served(server: ServerProcess) -> Iterator[Figure]:
    """CPU time of a durable server with boto3 as its client: minutes of values, and 500 metrics over a day."""
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    cloudwatch = session.client("cloudwatch", endpoint_url=f"http://127.0.0.1:{server.port}")
    names = [f"m{number}" for number in range(METRICS)]
    day = [datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5 * number) for number in range(288)]
    began = server.cpu_s()
    for at in day:
        data = [{"MetricName": name, "Value": 1.0, "Timestamp": at} for name in names]
        cloudwatch.put_metric_data(Namespace="Bench", MetricData=data)
    yield Figure(
        f"PutMetricData, {METRICS} metrics a call, served", METRICS * len(day) / (server.cpu_s() - began), "values/s"
    )
    queries = [
        {"Id": name, "MetricStat": {
            "Metric": {"Namespace": "Bench", "MetricName": name}, "Period": 300, "Stat": "Sum"}}
        for name in names
    ]  # fmt: skip
    began = server.cpu_s()
    for _ in range(ROUNDS):
        cloudwatch.get_metric_data(
            MetricDataQueries=queries, StartTime=day[-1], EndTime=day[0] + timedelta(minutes=5)
        )  # fmt: skip
    took_ms = 1_000 * (server.cpu_s() - began) / ROUNDS
    yield Figure(f"GetMetricData, {METRICS} metrics of 288 points, the first page, served", took_ms, "ms")


def _published() -> Iterator[Figure]:
    world = World()
    many = [float(number) for number in range(150)]
    for name, count, data in (
        ("one value each", 1_000, [{"MetricName": f"m{number}", "Value": 1.0} for number in range(1_000)]),
        ("150 values each", 15_000, [{"MetricName": f"n{number}", "Values": many} for number in range(100)]),
    ):
        began = time.process_time()
        for _ in range(ROUNDS):
            _call(world, "PutMetricData", Namespace="Bench", MetricData=data)
            world.advance(minutes=1)
        yield Figure(f"PutMetricData, {name}", ROUNDS * count / (time.process_time() - began), "values/s")
    world.close()


def _rounds() -> Figure:
    world = World()
    data = [{"MetricName": f"m{number}", "Value": 1.0} for number in range(ALARMS)]
    for number in range(ALARMS):
        _call(
            world, "PutMetricAlarm", AlarmName=f"a{number}", Namespace="Bench", MetricName=f"m{number}",
            Statistic="Sum", Period=60, EvaluationPeriods=3, DatapointsToAlarm=2, Threshold=5.0,
            ComparisonOperator="GreaterThanThreshold",
        )  # fmt: skip
    took: list[float] = []
    for _ in range(ROUNDS):
        _call(world, "PutMetricData", Namespace="Bench", MetricData=data)
        began = time.process_time()
        world.advance(minutes=1)
        took.append(time.process_time() - began)
    world.close()
    return Figure(f"a round of {ALARMS} alarms with new data, median", 1_000 * sorted(took)[ROUNDS // 2], "ms")


def _read(period_s: int) -> Figure:
    world = World()
    begin = world.now
    for number in range(METRICS):
        series = Series(Watched(str(_SCOPE), "Bench", "{}"), f"m{number}", "None")
        points = [DataPoint(begin + minute * MINUTE_MS, 1.0, 1, 1.0, 1.0, {1.0: 1}) for minute in range(MINUTES)]
        world.store.run(partial(_fill, series, points))
    queries = [
        {"Id": f"q{number}", "MetricStat": {
            "Metric": {"Namespace": "Bench", "MetricName": f"m{number}"}, "Period": period_s, "Stat": "Sum"}}
        for number in range(METRICS)
    ]  # fmt: skip
    end = begin + MINUTES * MINUTE_MS
    world.advance(minutes=MINUTES)
    began = time.process_time()
    _call(world, "GetMetricData", MetricDataQueries=queries, StartTime=begin, EndTime=end)
    took_ms = 1_000 * (time.process_time() - began)
    world.close()
    return Figure(f"GetMetricData, {METRICS} metrics over a day by {period_s} s, the first page", took_ms, "ms")


def _fill(series: Series, points: Sequence[DataPoint], tx: Transaction) -> None:
    for one in points:
        tx.metrics.add(series, one)


def _call(world: World, operation: str, **params: object) -> object:
    return world.engine.call(Caller(_SCOPE, "request"), "cloudwatch", operation, params)
