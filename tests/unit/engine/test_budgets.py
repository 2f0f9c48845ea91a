"""How many statements the beats cost: counts do not flake, milliseconds do."""

from __future__ import annotations

from collections.abc import Callable

from redrive.delivery.worker import FreeSlots
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import OUTSIDE
from redrive.testing.world import World

FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


def statements(world: World, step: Callable[[Transaction], object]) -> list[str]:
    """The statements that a step runs, without those that frame its transaction."""
    seen: list[str] = []
    world.store.connection.set_trace_callback(seen.append)
    world.store.run(step)
    world.store.connection.set_trace_callback(None)
    return [statement for statement in seen if not statement.startswith(FRAME)]


def test_claim_of_due_deliveries_is_one_statement() -> None:
    world = World()

    ran = statements(world, lambda tx: tx.deliveries.claim_due(OUTSIDE, tx.now, lease_ms=1_000, limit=10))

    assert len(ran) == 1


def test_nothing_due_costs_each_worker_at_most_a_few_statements() -> None:
    """An idle engine asks each kind of worker when its next work is due; none of them may scan."""
    world = World()
    seen: list[str] = []
    world.store.connection.set_trace_callback(seen.append)

    world.engine.claim(free=FreeSlots(1))

    assert len([one for one in seen if not one.startswith(FRAME)]) <= 46
