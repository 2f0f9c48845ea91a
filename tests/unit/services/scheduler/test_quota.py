"""The quota of invocations: a thousand at once, then one each millisecond, and nothing is lost."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from redrive.core.limits import Limits
from redrive.engine.settings import Settings
from redrive.services.scheduler.model.quota import InvocationQuota

DUE = 1_735_693_200_000


def admitted(arrivals: list[int]) -> list[int]:
    """When invocations that come at these instants go out."""
    quota, out = InvocationQuota(), []
    for arrival in arrivals:
        quota, at = quota.admit(arrival)
        out.append(at)
    return out


def test_thousand_go_out_at_once_and_the_next_ones_a_millisecond_apart() -> None:
    assert admitted([DUE] * 1_003) == [DUE] * 1_000 + [DUE + 1, DUE + 2, DUE + 3]


def test_quota_that_was_used_up_is_whole_again_after_a_second() -> None:
    assert admitted([DUE] * 1_000 + [DUE + 1_000] * 1_001)[1_000:] == [DUE + 1_000] * 1_000 + [DUE + 1_001]


@given(st.lists(st.integers(0, 5_000), max_size=4_000).map(sorted))
def test_no_second_sees_more_than_a_bucket_and_its_refill(arrivals: list[int]) -> None:
    """In a second no more than the bucket holds and what has flowed into it; nothing goes out early or unordered."""
    out = admitted(arrivals)

    assert out == sorted(out)
    assert all(at >= arrival for at, arrival in zip(out, arrivals, strict=True))
    assert all(out[first + 2_000] - out[first] >= 1_000 for first in range(len(out) - 2_000))


def fire_together(desk: Any, count: int) -> list[int]:
    for number in range(count):
        desk.create("at(2025-01-01T01:00:00)", Name=f"one-{number}")
    desk.world.advance(hours=2)
    return [int(message["Attributes"]["SentTimestamp"]) - DUE for message in desk.take()]


def invocations_throttled(desk: Any) -> float:
    found = desk.world.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/Scheduler", MetricName="InvocationThrottleCount", StartTime="2025-01-01T00:00:00Z",
        EndTime="2025-01-01T03:00:00Z", Period=3600, Statistics=["Sum"],
        Dimensions=[{"Name": "ScheduleGroup", "Value": "default"}],
    )  # fmt: skip
    return float(sum(point["Sum"] for point in found["Datapoints"]))


def test_what_exceeds_the_quota_is_delayed_delivered_and_counted(desk: Any) -> None:
    """Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/monitoring-cloudwatch.html"""
    late = fire_together(desk, 1_005)

    assert late == [0] * 1_000 + [1, 2, 3, 4, 5]
    assert invocations_throttled(desk) == 5


def test_relaxed_limits_delay_no_invocation(new_desk: Any) -> None:
    desk = new_desk(settings=Settings(limits=Limits.RELAXED))

    assert fire_together(desk, 1_005) == [0] * 1_005
    desk.world.close()
