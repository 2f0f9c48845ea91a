"""Items expire by an attribute of seconds since the epoch, a minute after it has passed."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.services.dynamodb.limits import EXPIRED_ITEMS_PER_STEP_MAX
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import Call, key

YEAR_S = 365 * 86_400


@pytest.fixture
def expiring(call, orders):
    """The table, whose items expire by `until`."""
    set_expiry(call, orders)
    return orders


def set_expiry(call: Call, table: str, *, enabled: bool = True, attribute: str = "until") -> dict[str, Any]:
    return call(
        "UpdateTimeToLive", TableName=table,
        TimeToLiveSpecification={"Enabled": enabled, "AttributeName": attribute},
    )  # fmt: skip


def left(call: Call, table: str) -> list[int]:
    return sorted(int(item["order_no"]["N"]) for item in call("Scan", TableName=table)["Items"])


def in_seconds(world: World, seconds: int) -> dict[str, str]:
    return {"N": str(world.now // 1_000 + seconds)}


def test_item_stays_visible_for_a_minute_after_it_expired_and_is_gone_then(world, call, expiring, put):
    """Expired items remain visible until they are deleted: readers must filter them."""
    put("ann", 1, until=in_seconds(world, 3_600))
    put("ann", 2, until=in_seconds(world, 3_630))
    put("ann", 3)

    world.advance(seconds=3_659)
    before = left(call, expiring)
    world.advance(seconds=1)

    assert before == [1, 2, 3]
    assert left(call, expiring) == [2, 3]


@pytest.mark.parametrize(
    "until",
    [
        {"S": "1735689660"},
        {"L": [{"N": "1735689660"}]},
        {"N": str(1_735_689_600 - 5 * YEAR_S - 1)},
        {"N": "1735689660000"},
        {"N": "-1"},
        {"N": "1E+125"},
    ],
)
def test_what_is_no_time_of_these_years_does_not_expire(world, call, expiring, put, until):
    """Other types are no times, more than five years ago is a mistake, and milliseconds lie far in the future."""
    put("ann", 1, until=until)

    world.advance(days=10)

    assert left(call, expiring) == [1]


def test_item_that_expired_within_the_last_five_years_goes_at_once(world, call, expiring, put):
    put("ann", 1, until=in_seconds(world, -5 * YEAR_S))

    world.settle()

    assert left(call, expiring) == []


def test_writing_an_item_anew_decides_anew(world, call, expiring, put):
    put("ann", 1, until=in_seconds(world, 60))
    put("ann", 2, until=in_seconds(world, 60))
    put("ann", 1)
    call(
        "UpdateItem", TableName=expiring, Key=key("ann", 2), UpdateExpression="SET #u = :later",
        ExpressionAttributeNames={"#u": "until"}, ExpressionAttributeValues={":later": in_seconds(world, 86_400)},
    )  # fmt: skip

    world.advance(hours=1)

    assert left(call, expiring) == [1, 2]


def test_enabling_counts_for_the_items_that_are_there(world, call, orders, put):
    put("ann", 1, until=in_seconds(world, 60))

    set_expiry(call, orders)
    world.advance(minutes=2)

    assert left(call, orders) == []


def test_disabling_keeps_the_items_that_are_there(world, call, expiring, put):
    put("ann", 1, until=in_seconds(world, 7_200))
    world.advance(hours=1)

    set_expiry(call, expiring, enabled=False)
    world.advance(days=1)

    assert left(call, expiring) == [1]


def test_without_time_to_live_nothing_expires(world, call, orders, put):
    put("ann", 1, until=in_seconds(world, 60))

    world.advance(days=1)

    assert left(call, orders) == [1]


def test_many_items_expire_in_bounded_steps(world, call, expiring, put):
    """One claim deletes a batch; the work goes on until nothing is due."""
    for number in range(EXPIRED_ITEMS_PER_STEP_MAX + 3):
        put("ann", number, until=in_seconds(world, 60))
    kept = []

    world.advance(minutes=2, moved=lambda _: kept.append(len(left(call, expiring))))

    assert kept == [EXPIRED_ITEMS_PER_STEP_MAX + 3]
    assert left(call, expiring) == []


def test_time_to_live_is_described(world, call, orders):
    before = call("DescribeTimeToLive", TableName=orders)
    answer = set_expiry(call, orders)
    after = call("DescribeTimeToLive", TableName=orders)

    assert before["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED"
    assert answer == {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"}}
    assert after == {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "until"}}


def test_time_to_live_cannot_be_disabled_twice_or_enabled_twice(call, refusal, orders):
    def refused(*, enabled: bool, attribute: str = "until") -> tuple[str, str]:
        found: tuple[str, str] = refusal(
            "UpdateTimeToLive", TableName=orders,
            TimeToLiveSpecification={"Enabled": enabled, "AttributeName": attribute},
        )  # fmt: skip
        return found

    assert refused(enabled=False) == ("ValidationException", "TimeToLive is already disabled")
    set_expiry(call, orders)
    assert refused(enabled=True) == ("ValidationException", "TimeToLive is already enabled")
    assert refused(enabled=True, attribute="other") == (
        "ValidationException",
        "TimeToLive is active on a different AttributeName: current AttributeName is until",
    )


def test_time_to_live_changes_once_an_hour(world, call, refusal, expiring):
    off = {"TableName": expiring, "TimeToLiveSpecification": {"Enabled": False, "AttributeName": "until"}}
    world.advance(minutes=59)

    assert refusal("UpdateTimeToLive", **off) == (
        "ValidationException",
        "Time to live has been modified multiple times within a fixed interval",
    )

    world.advance(minutes=1)
    call("UpdateTimeToLive", **off)


def test_write_of_an_expiring_item_costs_one_statement(world, expiring, statements):
    item = {**key("ann", 1), "until": in_seconds(world, 60)}

    assert statements("PutItem", TableName=expiring, Item=item) == 1
