"""A round of claims: one transaction, unless a worker has a defect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from redrive.core.clock import Instant
from redrive.core.errors import Conflict
from redrive.core.log import SilentLog
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.invocation import FunctionCode, Invocation
from redrive.delivery.worker import ONE, Attempt, FreeSlots, Worker
from redrive.engine.engine import Engine
from redrive.engine.rounds import IDLE_MS_MAX, Rounds
from redrive.store.api import Transaction
from redrive.testing.world import World

INVOCATION = Invocation(
    "request", "arn", "name", "1", "revision", FunctionCode("digest", "handler", "runtime"), b"{}", 1_000, 128, "role",
    "log",
)  # fmt: skip


class Due:
    """A worker that is due while a timer of its name is set, and does what a test says."""

    timer = None

    def __init__(
        self, name: str, *, act: Callable[[Transaction], object] = lambda tx: None, attempts: int = 0,
        upkeep: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.upkeep = upkeep
        self.frees: list[int] = []
        self.asked = 0
        self._act = act
        self._attempts = attempts

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        self.asked += 1
        return tx.timers.next(self.name)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        self.frees.append(free.count)
        tx.timers.clear(self.name, "one")
        self._act(tx)
        return [Attempt(self.name, str(number), 1, INVOCATION) for number in range(min(free.count, self._attempts))]

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        """Nothing is settled here."""


def fail(tx: Transaction) -> None:
    raise ValueError("a defect")


def engine_of(world: World, *workers: Worker, due: Sequence[str]) -> tuple[Engine, list[str]]:
    """An engine with these workers, of which those are due; and the statements of its store from now on."""
    for name in due:
        set_due(world, name)
    statements: list[str] = []
    world.store.connection.set_trace_callback(statements.append)
    return Engine(world.store.run, world.engine.registry, workers, world.engine.invoker, SilentLog()), statements


def set_due(world: World, name: str, *, after_ms: int = 0) -> None:
    world.store.run(lambda tx: tx.timers.set(name, "one", tx.now + after_ms))


def begun(statements: Sequence[str]) -> int:
    return sum(statement.startswith("BEGIN") for statement in statements)


def test_workers_that_are_due_share_one_transaction_and_the_free_slots() -> None:
    first, second = Due("first", attempts=2), Due("second", attempts=2)
    engine, statements = engine_of(World(), first, second, due=["first", "second"])

    claimed = engine.claim(FreeSlots(3))

    assert [attempt.worker for attempt in claimed.attempts] == ["first", "first", "second"]
    assert (first.frees, second.frees) == ([3], [1])
    assert begun(statements) == 1


def test_what_a_claim_gives_another_worker_to_do_is_done_in_the_same_transaction() -> None:
    first = Due("first", act=lambda tx: tx.timers.set("second", "one", tx.now))
    second = Due("second")
    engine, statements = engine_of(World(), first, second, due=["first"])

    claimed = engine.claim(ONE)

    assert (len(second.frees), claimed.next_due) == (1, None)
    assert begun(statements) == 1


def test_worker_claims_once_in_a_transaction_and_is_expected_in_the_next() -> None:
    """However much it has to do, others wait for the writer no longer than that."""
    busy = Due("busy", act=lambda tx: tx.timers.set("busy", "one", tx.now))
    engine, _ = engine_of(World(), busy, due=["busy"])

    claimed = engine.claim(ONE)

    assert busy.frees == [1]
    assert [worker.name for worker in claimed.expected] == ["busy"]


def test_upkeep_comes_before_the_others_or_in_the_next_transaction() -> None:
    """It measures what was committed."""
    order: list[str] = []
    work = Due("work", act=lambda tx: order.append("work"))
    sweep = Due("sweep", act=lambda tx: order.append("sweep"), upkeep=True)
    engine, _ = engine_of(World(), work, sweep, due=["work", "sweep"])

    engine.claim(ONE)

    assert order == ["sweep", "work"]


def test_defect_in_one_worker_holds_up_no_other() -> None:
    """What shared its transaction is undone, and done again in transactions of its own."""
    world = World()
    engine, _ = engine_of(
        world, Due("bad", act=fail), Due("good", act=lambda tx: tx.timers.set("done", "one", 1)), due=["bad", "good"]
    )

    claimed = engine.claim(ONE)

    assert claimed.progressed
    assert world.store.run(lambda tx: tx.timers.get("done", "one")) == 1
    with pytest.raises(ValueError, match="a defect"):
        engine.claim(ONE)


def test_attempts_in_hand_are_performed_though_the_next_claim_conflicts() -> None:
    """A conflict beside a defect: what other transactions of the round have committed is not thrown away."""
    world = World()

    def conflict(tx: Transaction) -> None:
        if world.store.connection.in_transaction and len(quick.frees) > 1:
            raise Conflict("another transaction was there first")

    quick = Due("quick", attempts=1)
    engine, _ = engine_of(
        world, quick, Due("bad", act=fail), Due("late", act=conflict), due=["quick", "bad", "late"]
    )  # fmt: skip

    claimed = engine.claim(FreeSlots(2))

    assert [attempt.worker for attempt in claimed.attempts] == ["quick"]


def test_round_does_not_ask_again_who_is_due_when_their_instant_has_come() -> None:
    world = World()
    worker = Due("worker")
    engine, _ = engine_of(world, worker, due=[])
    set_due(world, "worker", after_ms=10)
    rounds = Rounds(engine, world.clock)
    rounds.claim(ONE)
    asked = worker.asked
    world.clock.move_to(world.now + 10)

    rounds.claim(ONE)

    assert worker.frees == [1]
    assert worker.asked == asked + 1  # After the claim, for what comes next.


def test_wait_between_rounds_is_until_the_next_due_instant_and_bounded() -> None:
    world = World()
    worker = Due("worker")
    engine, _ = engine_of(world, worker, due=[])
    rounds = Rounds(engine, world.clock)
    waits = []
    for after_ms in (IDLE_MS_MAX * 2, 10):
        set_due(world, "worker", after_ms=after_ms)
        rounds.claim(ONE)
        waits.append(rounds.wait_ms())

    assert waits == [IDLE_MS_MAX, 10]
