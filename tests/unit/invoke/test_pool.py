"""Environments are kept for the next run, within bounds."""

from __future__ import annotations

import pytest

from redrive.invoke.sandbox.pool import LIMIT_EXCEEDED, RESERVED_LIMIT_EXCEEDED, Pool, PoolKey, UnderWay

KEY = PoolKey("arn:f", "$LATEST", "1")


class Room:
    """An environment with nothing in it."""

    def __init__(self) -> None:
        self.is_alive = True
        self.was_killed = False
        self.is_frozen = False

    def freeze(self) -> None:
        self.is_frozen = True

    def kill(self) -> None:
        self.was_killed = True

    def close(self) -> None:
        self.is_alive = False


class Time:
    """A clock in the hand of the test."""

    now_ms = 0.0

    def __call__(self) -> float:
        return self.now_ms


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def pool(time: Time) -> Pool[Room]:
    return Pool(running_max=3, idle_max=2, idle_ms_max=1_000, monotonic=time)


def put(pool: Pool[Room], key: PoolKey = KEY) -> Room:
    """Run once in a new environment, and keep it."""
    room = pool.adopt(Room())
    pool.put(key, room)
    return room


def test_environment_used_last_is_taken_first(pool: Pool[Room]) -> None:
    put(pool)
    latest = put(pool)

    assert pool.take(KEY) is latest


def test_running_environment_is_not_taken_twice(pool: Pool[Room]) -> None:
    put(pool)

    assert [pool.take(KEY) is None, pool.take(KEY) is None] == [False, True]


def test_new_revision_ends_the_environments_of_the_old_one(pool: Pool[Room]) -> None:
    old, other = put(pool), put(pool, PoolKey("arn:g", "$LATEST", "1"))

    taken = pool.take(PoolKey("arn:f", "$LATEST", "2"))

    assert taken is None
    assert (old.is_alive, other.is_alive) == (False, True)


def test_published_version_keeps_its_environments_when_latest_changes(pool: Pool[Room]) -> None:
    version = put(pool, PoolKey("arn:f", "7", "1"))

    pool.take(PoolKey("arn:f", "$LATEST", "2"))

    assert version.is_alive


def test_environment_that_was_idle_too_long_is_ended_on_the_next_use(pool: Pool[Room], time: Time) -> None:
    room = put(pool)
    time.now_ms = 1_001

    assert pool.take(KEY) is None
    assert not room.is_alive


def test_environment_that_died_while_idle_is_not_used(pool: Pool[Room]) -> None:
    put(pool).is_alive = False

    assert pool.take(KEY) is None


def test_environments_are_frozen_once_they_have_been_idle_for_a_while(pool: Pool[Room], time: Time) -> None:
    first = put(pool)
    time.now_ms = 100
    second = put(pool)

    are_some_left = pool.freeze_idle(100)
    states = first.is_frozen, second.is_frozen
    time.now_ms = 200

    assert are_some_left
    assert states == (True, False)
    assert not pool.freeze_idle(100)
    assert second.is_frozen


def test_environment_that_is_running_is_not_frozen(pool: Pool[Room], time: Time) -> None:
    room = put(pool)
    pool.take(KEY)
    time.now_ms = 1_000

    pool.freeze_idle(100)

    assert not room.is_frozen


def test_longest_idle_environment_goes_when_there_are_too_many(pool: Pool[Room]) -> None:
    rooms = [put(pool) for _ in range(3)]

    assert [room.is_alive for room in rooms] == [False, True, True]


def test_reserved_concurrency_throttles_that_function_alone(pool: Pool[Room]) -> None:
    answers = [pool.admit("f", 1), pool.admit("f", 1), pool.admit("g", None)]

    assert answers == [None, RESERVED_LIMIT_EXCEEDED, None]


def test_reserved_concurrency_of_zero_admits_nothing(pool: Pool[Room]) -> None:
    assert pool.admit("f", 0) == RESERVED_LIMIT_EXCEEDED


def test_total_concurrency_throttles_all_functions_until_one_leaves(pool: Pool[Room]) -> None:
    answers = [pool.admit(name, None) for name in ("f", "g", "h", "i")]
    pool.leave("f", None)

    assert answers == [None, None, None, LIMIT_EXCEEDED]
    assert pool.admit("i", None) is None


def test_function_that_takes_all_it_can_leaves_room_for_others(time: Time) -> None:
    """A function may begin a run while it has fewer under way than there is room for: half of all if it is alone."""
    pool: Pool[Room] = Pool(running_max=16, idle_max=0, idle_ms_max=0, monotonic=time)

    admitted = {name: [pool.admit(name, None) for _ in range(20)].count(None) for name in ("f", "g", "h")}

    assert admitted == {"f": 8, "g": 4, "h": 2}
    assert pool.admit("i", None) is None


def test_reserved_concurrency_is_a_functions_own(time: Time) -> None:
    pool: Pool[Room] = Pool(running_max=16, idle_max=0, idle_ms_max=0, monotonic=time)

    assert [pool.admit("f", 12) for _ in range(12)] == [None] * 12


def test_runs_of_functions_without_a_reservation_are_counted_apart(time: Time) -> None:
    pool: Pool[Room] = Pool(running_max=16, idle_max=0, idle_ms_max=0, monotonic=time)
    for name, reserved in (("f", 2), ("f", 2), ("g", None), ("h", None)):
        pool.admit(name, reserved)
    pool.leave("h", None)
    pool.leave("f", 2)

    assert pool.under_way("f") == UnderWay(of_function=1, in_all=2, unreserved=1)


def test_closing_ends_idle_environments_and_kills_running_ones(pool: Pool[Room]) -> None:
    idle, running = put(pool), pool.adopt(Room())

    pool.close(wait_s=0)
    late = pool.adopt(Room())

    assert (idle.is_alive, running.was_killed, late.was_killed) == (False, True, True)


READY = PoolKey("arn:f", "7", "1", "arn:f:live")


def provide(pool: Pool[Room], count: int) -> list[Room]:
    """Keep so many environments ready."""
    return [put(pool, key) for key in pool.keep({READY: count})]


def test_provisioned_environments_are_kept_beyond_the_bounds_of_idle_ones(pool: Pool[Room], time: Time) -> None:
    ready = provide(pool, 3)
    other = put(pool)
    time.now_ms = 1_001
    taken = pool.take(READY)

    assert taken in ready
    assert all(room.is_alive for room in ready)
    assert not other.is_alive
    assert pool.keep({READY: 3}) == []


def test_idle_environments_are_counted_without_provisioned_ones(pool: Pool[Room]) -> None:
    provide(pool, 3)
    others = [put(pool) for _ in range(2)]

    assert [room.is_alive for room in others] == [True, True]


def test_dead_provisioned_environment_is_missing(pool: Pool[Room]) -> None:
    first, second = provide(pool, 2)
    first.is_alive = False

    assert pool.keep({READY: 2}) == [READY]
    assert second.is_alive


def test_provisioned_environment_that_runs_is_not_missing(pool: Pool[Room]) -> None:
    provide(pool, 1)
    pool.take(READY)

    assert pool.keep({READY: 1}) == []


def test_provisioned_environments_are_given_up_when_idle_or_after_their_run(pool: Pool[Room]) -> None:
    provide(pool, 2)
    running = pool.take(READY)
    assert running is not None

    missing = pool.keep({})
    was_alive = running.is_alive
    pool.put(READY, running)

    assert missing == []
    assert was_alive
    assert not running.is_alive
    assert pool.take(READY) is None


def test_run_on_demand_takes_no_provisioned_environment(pool: Pool[Room]) -> None:
    (ready,) = provide(pool, 1)

    assert pool.take(PoolKey("arn:f", "7", "1")) is None
    assert ready.is_alive
