"""The table of executions, which every store has alike: SQLite on disk, in memory, and PostgreSQL."""

from __future__ import annotations

import pytest

from redrive.store.api import Transaction
from redrive.store.tables.executions import PIECE_EVENTS_MAX, ExecutionRow
from tests.unit.store.conftest import AnyStore


def row(
    arn: str, *, owner: str = "m", status: str = "RUNNING", at: int = 1, stopped_at: int | None = None
) -> ExecutionRow:
    return ExecutionRow(arn, f"id of {arn}", owner, status, at, stopped_at, 0, {"name": arn}, {"frames": []})


def test_execution_is_put_once_changed_and_deleted_with_its_history(any_store: AnyStore) -> None:
    long = 123456789012345678901234567890

    def work(tx: Transaction) -> list[object]:
        first, second = tx.executions.put(row("a")), tx.executions.put(row("a", at=9))
        changed = row("a")._replace(status="FAILED", stopped_at=7, events=2, position={"frames": [], "n": long})
        tx.executions.save(changed)
        tx.executions.append("id of a", 1, [[1, 0, 1, "X", {}], [2, 1, 1, "Y", {}]])
        return [first, second, tx.executions.get("a") == changed, tx.executions.oldest_stopped()]

    found = any_store.run(work)
    swept = any_store.run(lambda tx: tx.executions.stopped_before(8, limit=5))
    any_store.run(lambda tx: tx.executions.delete("a", "id of a"))

    assert found == [True, False, True, 7]
    assert [(one.arn, one.id, one.document) for one in swept] == [("a", "id of a", {"name": "a"})]
    assert any_store.run(lambda tx: tx.executions.get("a")) is None
    assert any_store.run(lambda tx: tx.executions.events("id of a", first=1, last=9)) == []


def test_pages_are_newest_first_by_owner_and_by_status(any_store: AnyStore) -> None:
    rows = [row("a"), row("b", at=2, status="FAILED", stopped_at=3), row("c", at=2), row("z", owner="other")]
    any_store.run(lambda tx: [tx.executions.put(one) for one in rows])

    first = any_store.run(lambda tx: tx.executions.page("m", limit=2))
    rest = any_store.run(lambda tx: tx.executions.page("m", limit=2, before=(first[-1].started_at, first[-1].arn)))
    running = any_store.run(lambda tx: tx.executions.page("m", limit=9, status="RUNNING"))

    assert [one.arn for one in [*first, *rest]] == ["c", "b", "a"]
    assert [one.arn for one in running] == ["c", "a"]
    assert any_store.run(lambda tx: (tx.executions.count("m", "RUNNING"), tx.executions.has_any("none"))) == (2, False)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("first", "last"), [(1, 3), (49, 52), (60, 60), (1, 130)])
def test_events_are_read_across_pieces_in_both_directions(
    any_store: AnyStore, first: int, last: int, reverse: bool
) -> None:
    def write(tx: Transaction) -> None:
        tx.executions.append("i", 1, [[number, 0, 0, "X", {}] for number in range(1, PIECE_EVENTS_MAX + 8)])
        tx.executions.append("i", 58, [[number, 0, 0, "X", {}] for number in range(58, 131)])
        tx.executions.append("other", 1, [[1, 0, 0, "Z", {}]])

    any_store.run(write)
    events = any_store.run(lambda tx: tx.executions.events("i", first=first, last=last, reverse=reverse))

    assert [event[0] for event in events] == sorted(range(first, last + 1), reverse=reverse)


def test_tasks_of_an_activity_are_taken_once_in_the_order_of_their_ids(any_store: AnyStore) -> None:
    def offer(tx: Transaction) -> None:
        for number in (2, 1, 3):
            tx.executions.offer("a", str(number), {"n": number})
        tx.executions.offer("b", "1", {"n": 9})

    any_store.run(offer)
    taken = [any_store.run(lambda tx: tx.executions.take("a")) for _ in range(2)]
    any_store.run(lambda tx: tx.executions.drop_tasks("a"))

    assert taken == [{"n": 1}, {"n": 2}]
    assert any_store.run(lambda tx: (tx.executions.take("a"), tx.executions.take("b"))) == (None, {"n": 9})
