"""A table with point-in-time recovery is restored as it was at any instant of its period."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.testing.world import World
from tests.support.postgresql import database
from tests.support.stores import PostgresWorld
from tests.unit.services.dynamodb.conftest import ORDERS, key
from tests.unit.services.dynamodb.test_stream_property import STEPS, perform, stored

DAY_S = 86_400


def recover(call: Any, *, days: int | None = None, enabled: bool = True) -> None:
    period = {} if days is None else {"RecoveryPeriodInDays": days}
    call(
        "UpdateContinuousBackups", TableName="orders",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": enabled, **period},
    )  # fmt: skip


def rows(world: World) -> int:
    found: int = world.store.connection.execute("SELECT count(*) FROM stream_records").fetchone()[0]
    return found


def check(world: World, steps: list[tuple[str, dict[str, Any]]], place: int) -> None:
    """Restore the table as it was after some of the steps, and compare it with what was there then."""
    world.call("dynamodb", "CreateTable", **ORDERS)
    world.call(
        "dynamodb", "UpdateTimeToLive", TableName="orders",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"},
    )  # fmt: skip
    recover(lambda operation, **params: world.call("dynamodb", operation, **params))
    try:
        seen = []
        for step in [("advance", {"seconds": 1}), *steps]:
            perform(world, step)
            seen.append((world.now, stored(world)))
            world.advance(seconds=0.001)
        at, expected = seen[place % len(seen)]
        world.call(
            "dynamodb", "RestoreTableToPointInTime", SourceTableName="orders", TargetTableName="restored",
            RestoreDateTime=at,
        )  # fmt: skip
        assert stored(world, "restored") == expected
        world.call("dynamodb", "DeleteTable", TableName="restored")
    finally:
        world.call("dynamodb", "DeleteTable", TableName="orders")


@pytest.fixture(scope="module")
def lasting_world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture(scope="module")
def shared_world(postgresql_url: str) -> Iterator[World]:
    """A world whose store is in PostgreSQL."""
    with database(postgresql_url) as url:
        world = PostgresWorld(url)
        yield world
        world.close()


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=15), place=st.integers(0, 15))
def test_restored_table_is_the_table_as_it_was(
    lasting_world: World, steps: list[tuple[str, dict[str, Any]]], place: int
) -> None:
    check(lasting_world, steps, place)


@settings(max_examples=8, deadline=None)
@given(steps=st.lists(STEPS, min_size=5, max_size=20), place=st.integers(0, 20))
def test_restored_table_is_the_table_as_it_was_on_postgresql(
    shared_world: World, steps: list[tuple[str, dict[str, Any]]], place: int
) -> None:
    check(shared_world, steps, place)


def test_log_is_kept_for_the_period_and_no_longer(world, call, put, refusal, orders):
    recover(call, days=2)
    for number in range(3):
        put("ann", number)
    enabled_at = world.now
    world.advance(seconds=2 * DAY_S + 4_000)
    put("ann", 9)

    at = {"SourceTableName": orders, "TargetTableName": "again", "RestoreDateTime": enabled_at}
    assert refusal("RestoreTableToPointInTime", **at)[0] == "InvalidRestoreTimeException"
    assert rows(world) == 2, "the newest of the old records numbers the next"


def test_longer_period_does_not_bring_back_what_is_forgotten(world, call, put, refusal, orders):
    recover(call, days=2)
    put("ann", 1)
    put_at = world.now
    world.advance(seconds=3 * DAY_S)
    recover(call, days=35)

    at = {"SourceTableName": orders, "TargetTableName": "again", "RestoreDateTime": put_at}
    assert refusal("RestoreTableToPointInTime", **at)[0] == "InvalidRestoreTimeException"


@pytest.mark.parametrize("end", ["disable", "delete"])
def test_log_ends_with_recovery_and_with_the_table(world, call, put, orders, end):
    recover(call)
    put("ann", 1)
    before = rows(world)
    if end == "disable":
        recover(call, enabled=False)
        put("ann", 2)
    else:
        call("DeleteTable", TableName=orders)

    assert (before, rows(world)) == (1, 0)


def test_write_with_recovery_costs_a_read_and_a_record(call, statements, put, orders):
    recover(call)
    put("ann", 1)

    assert statements("PutItem", TableName=orders, Item={**key("ann", 1), "n": {"N": "1"}}) == 3
