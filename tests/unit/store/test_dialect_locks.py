"""Two nodes on one PostgreSQL: the second neither waits for the first one's open transaction nor repeats its work."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from redrive.store.dialect import numbered
from redrive.store.queries import load_queries, postgresql_text
from tests.support.postgresql import database
from tests.unit.store.dialects import Row, as_text, postgresql
from tests.unit.store.test_dialect_postgresql import fill

Node = psycopg.Connection[Row]

MESSAGES: dict[str, object] = {"queue": "q7", "now": 5000, "visible_at": 9000, "groups": "[]", "groups_max": 9}
SHARED: dict[str, dict[str, object]] = {
    "messages.claim_visible": MESSAGES,
    "messages.claim_of_other_groups": MESSAGES,
    "messages.expire": {"queue": "q7", "now": 200_000},
    "deliveries.due": {"place": "p7", "now": 5000},
    "deliveries.claim_due": {"place": "p7", "now": 5000, "lease_until": 9000},
    "deliveries.claim_outside": {"function": "f8", "now": 5000, "lease_until": 9000},
    "timers.due": {"kind": "k7", "now": 5000},
    "attempts.sweep": {"before": 5000},
    "runs.sweep_moves": {"before": 5000},
    "log_events.expire": {"log_group": "g7", "before": 5000},
    "metrics.sweep": {"before": 5000},
    "alarm_history.sweep": {"before": 5000},
    "dedup.sweep_sends": {"now": 5000},
    "dedup.sweep_receives": {"now": 5000},
    "tokens.sweep": {"now": 5000},
    "items.expire": {"before": 5000},
}
"""Statements by which nodes share work, with parameters."""

HELD: dict[str, tuple[dict[str, object], str]] = {
    "messages.held": ({"queue": "q7", "seq": 57}, "messages WHERE seq = 57"),
    "deliveries.held": ({"id": "id7", "fence": 0}, "deliveries WHERE id = 'id7'"),
    "metrics.samples": (
        {"scope": "", "namespace": "n", "name": "m7", "dimensions": "{}", "unit": "Count", "minute": 7},
        "metrics WHERE minute = 7",
    ),
}
"""Statements that keep other nodes from a row that the caller goes on to write, with the row."""


@pytest.fixture(scope="module")
def nodes(postgresql_url: str) -> Iterator[tuple[Node, Node]]:
    with database(postgresql_url) as url, postgresql(url) as first:
        fill(first)
        with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.RawCursor) as second:
            second.execute("SET lock_timeout = '1s'")  # A statement that waits fails, and does not hang.
            yield first, second


def run(node: Node, statement: str, params: dict[str, object]) -> list[Row]:
    """What a statement returns; for a DELETE or UPDATE that returns nothing, one empty row for each changed row."""
    table, _, name = statement.partition(".")
    text, places = numbered(postgresql_text(load_queries(table)[name]))
    cursor = node.execute(text.encode(), [as_text(params[str(place)]) for place in places])
    return cursor.fetchall() if cursor.description else [()] * cursor.rowcount


@pytest.mark.parametrize("statement", SHARED)
def test_two_nodes_share_the_work(nodes: tuple[Node, Node], statement: str) -> None:
    first, second = nodes
    with first.transaction(force_rollback=True), second.transaction(force_rollback=True):
        mine = run(first, statement, {**SHARED[statement], "receipt": "first", "limit": 3})
        others = run(second, statement, {**SHARED[statement], "receipt": "second", "limit": 3})

    assert (len(mine), len(others)) == (3, 3)
    assert [row for row in others if row and row in mine] == []


@pytest.mark.parametrize("statement", ["messages.claim_visible", "messages.claim_of_other_groups"])
def test_claim_locks_no_more_than_two_limits(nodes: tuple[Node, Node], statement: str) -> None:
    """What it locks and does not take is missing in the others' receives until the transaction ends."""
    first, second = nodes
    with first.transaction(force_rollback=True), second.transaction(force_rollback=True):
        run(first, statement, {**MESSAGES, "receipt": "first", "limit": 3})
        left = second.execute("SELECT 1 FROM messages WHERE queue = 'q7' FOR UPDATE SKIP LOCKED").fetchall()

    assert 100 - len(left) <= 6


@pytest.mark.parametrize("statement", HELD)
def test_row_that_is_read_to_be_written_is_locked(nodes: tuple[Node, Node], statement: str) -> None:
    first, second = nodes
    params, row = HELD[statement]
    with first.transaction(force_rollback=True):
        assert len(run(first, statement, params)) == 1

        with pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute(f"SELECT 1 FROM {row} FOR UPDATE NOWAIT".encode())


def test_purge_waits_for_a_claimed_message(nodes: tuple[Node, Node]) -> None:
    """A purge that skipped what others have locked would leave messages in the queue."""
    first, second = nodes
    with first.transaction(force_rollback=True):
        run(first, "messages.claim_visible", {**MESSAGES, "receipt": "first", "limit": 1})

        with pytest.raises(psycopg.errors.LockNotAvailable):
            run(second, "messages.purge", {"queue": "q7", "limit": 100})
