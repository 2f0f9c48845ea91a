"""Virtual time: many instants share a transaction, and nobody can tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, Instant, VirtualClock
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION, Knobs
from redrive.core.log import SilentLog
from redrive.delivery.faults import Fault, add_fault
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.engine.driver import VirtualDrive
from redrive.engine.engine import Engine
from redrive.engine.virtual import VirtualTime
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord
from redrive.testing.world import World

START = 1_735_689_600_000
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
TRUST = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
ALLOWED = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}


def document(statement: object) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def failing_world(knobs: Knobs = PRODUCTION) -> World:
    """Ten schedules that are due every hour, and a queue that throttles nine sends in ten."""
    world = World(seed=3, knobs=knobs)
    world.call("sqs", "CreateQueue", QueueName="orders")
    world.call("iam", "CreateRole", RoleName="r", AssumeRolePolicyDocument=document(TRUST))
    world.call("iam", "PutRolePolicy", RoleName="r", PolicyName="p", PolicyDocument=document(ALLOWED))
    for number in range(10):
        world.call(
            "scheduler", "CreateSchedule", Name=f"s{number}", ScheduleExpression="rate(1 hour)",
            FlexibleTimeWindow={"Mode": "OFF"}, Target={"Arn": QUEUE, "RoleArn": "arn:aws:iam::000000000000:role/r"},
        )  # fmt: skip
    world.store.run(lambda tx: add_fault(tx, Fault("", QUEUE, "ThrottlingException", rate=0.9)))
    return world


def history(world: World) -> list[AttemptRecord]:
    arns = [f"arn:aws:scheduler:us-east-1:000000000000:schedule/default/s{number}" for number in range(10)]
    return world.store.run(lambda tx: [record for arn in arns for record in tx.attempts.of_source(arn)])


def first_attempts(world: World) -> list[tuple[str, Instant]]:
    return [(record.delivery_id, record.ended_at) for record in history(world) if record.attempt == 1]


def transactions(world: World, work: Callable[[], object]) -> int:
    seen: list[str] = []
    world.store.connection.set_trace_callback(seen.append)
    work()
    world.store.connection.set_trace_callback(None)
    return sum(statement.startswith("BEGIN") for statement in seen)


@pytest.mark.sqlite("a step that runs again alone draws again")
def test_instants_that_share_a_transaction_have_the_history_of_instants_that_do_not() -> None:
    """Being told of each stop keeps the stops apart."""
    together, apart = failing_world(), failing_world()

    stops: list[Instant] = []
    together.advance(hours=5)
    apart.advance(hours=5, moved=stops.append)

    assert history(together) == history(apart)
    assert len(history(together)) > 200
    assert stops == sorted(stops)


@given(
    stops=st.integers(1, 20), deliveries=st.integers(1, 20), occurrences=st.integers(1, 10), cached=st.integers(1, 60)
)
@settings(max_examples=10, deadline=None)
def test_history_is_the_same_however_the_work_is_cut_into_transactions(
    stops: int, deliveries: int, occurrences: int, cached: int
) -> None:
    """Sizes decide who shares a transaction, and nothing else: each attempt is at the instant when it is due."""
    cut = failing_world(
        Knobs(
            stops_per_transaction=stops, deliveries_per_claim=deliveries, occurrences_per_claim=occurrences,
            cached_resources=cached,
        )
    )  # fmt: skip
    whole = failing_world()

    cut.advance(hours=1)
    whole.advance(hours=1)

    firsts = [
        [(record.delivery_id, record.ended_at) for record in history(world) if record.attempt == 1]
        for world in (cut, whole)
    ]
    assert firsts[0] == firsts[1]
    assert len(firsts[0]) > 10


def test_retries_of_an_hour_share_few_transactions() -> None:
    world = failing_world()

    begun = transactions(world, lambda: world.advance(hours=5))

    assert begun < len(history(world))


class Alarm:
    """A worker that is due every ten seconds, and does what a test says."""

    name = "alarm"
    timer = None
    upkeep = False

    def __init__(self, act: Callable[[Transaction], object]) -> None:
        self._act = act

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next("alarm")

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        tx.timers.set("rung", str(tx.now), tx.now)
        tx.timers.set("alarm", "one", tx.now + 10 * SECOND_MS)
        self._act(tx)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("an alarm attempts nothing")


def alarmed(world: World, act: Callable[[Transaction], object]) -> tuple[VirtualTime, list[Instant]]:
    """Time for an engine with nothing but an alarm, and where its clock was said to stand."""
    world.store.run(lambda tx: tx.timers.set("alarm", "one", tx.now + 10 * SECOND_MS))
    engine = Engine(world.store.run, world.engine.registry, [Alarm(act)], world.engine.invoker, SilentLog())
    kept: list[Instant] = []
    return VirtualTime(engine, world.clock, keep=lambda tx, at: kept.append(at)), kept


def rung(world: World) -> list[int]:
    """After how many seconds the alarm rang."""
    timers = world.store.run(lambda tx: tx.timers.due("rung", world.now, 1_000))
    return sorted((at - START) // SECOND_MS for _, at in timers)


def test_each_thing_is_done_at_its_own_instant_and_the_last_one_is_kept() -> None:
    world = World(start=START)
    time, kept = alarmed(world, lambda tx: None)

    time.advance_to(START + MINUTE_MS + 1)

    assert rung(world) == [10, 20, 30, 40, 50, 60]
    assert kept == [START + MINUTE_MS, START + MINUTE_MS + 1]


def test_defect_is_raised_where_it_happens_and_all_before_it_is_done_at_its_own_instant() -> None:
    world = World(start=START)
    time, _ = alarmed(world, lambda tx: divmod(1, tx.now - START - 30 * SECOND_MS))

    with pytest.raises(ZeroDivisionError):
        time.advance_to(START + HOUR_MS)

    assert rung(world) == [10, 20]
    assert world.now == START + 30 * SECOND_MS


def test_virtual_time_does_not_run_backwards() -> None:
    world = World()

    with pytest.raises(ValueError, match="backwards"):
        VirtualTime(world.engine, world.clock).advance_to(world.now - 1)


def test_time_that_nobody_wants_any_more_stands_where_it_was_and_goes_on_later() -> None:
    world = World(start=START)
    asked: list[Instant] = []

    def is_wanted() -> bool:
        asked.append(world.now)
        return len(asked) < 3

    time, kept = alarmed(world, lambda tx: None)

    stands_at = time.advance_to(START + 366 * DAY_MS, is_wanted=is_wanted)
    rung_by_then, kept_then = rung(world), kept[-1]
    time.advance_to(stands_at + MINUTE_MS)

    assert START < stands_at == kept_then < START + 366 * DAY_MS
    assert rung_by_then == list(range(10, (stands_at - START) // SECOND_MS + 1, 10))
    assert world.now == stands_at + MINUTE_MS


def drive(world: World, act: Callable[[Transaction], object]) -> VirtualDrive:
    """A driver of an engine with nothing but an alarm."""
    world.store.run(lambda tx: tx.timers.set("alarm", "one", tx.now + 10 * SECOND_MS))
    engine = Engine(world.store.run, world.engine.registry, [Alarm(act)], world.engine.invoker, SilentLog())
    assert isinstance(world.clock, VirtualClock)
    return VirtualDrive(engine, world.clock, SilentLog(), keep=lambda tx, at: None)


def test_interrupted_clock_goes_no_further_and_can_be_moved_again() -> None:
    world = World(start=START)
    driven = drive(world, lambda tx: driven.interrupt() if tx.now == START + MINUTE_MS else None)

    first = driven.advance_to(START + 366 * DAY_MS)
    second = driven.advance_to(first + HOUR_MS)

    assert START + MINUTE_MS <= first < START + DAY_MS
    assert second == first + HOUR_MS
    assert driven.target is None


def test_clock_of_a_server_that_winds_down_is_moved_no_more() -> None:
    world = World(start=START)
    driven = drive(world, lambda tx: None)

    driven.wind_down()

    assert driven.advance_to(START + DAY_MS) == START
