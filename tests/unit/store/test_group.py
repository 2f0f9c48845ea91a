"""Group commit: many steps, one durable commit, each answered after it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from redrive.store.api import Transaction
from redrive.store.group import GroupCommit
from redrive.store.sqlite import SqliteStore


@pytest.fixture
def group(store: SqliteStore) -> Iterator[GroupCommit]:
    writer = GroupCommit(store)
    yield writer
    writer.close()


def set_timer(tx: Transaction, *, number: int) -> int:
    tx.timers.set("kind", str(number), 1)
    return number


def test_steps_that_arrive_during_a_commit_share_the_next(store: SqliteStore, group: GroupCommit) -> None:
    statements: list[str] = []
    store.connection.set_trace_callback(statements.append)
    running, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        running.set()
        go_on.wait(5)

    answered = threading.Semaphore(0)
    group.submit(slow, lambda _: answered.release())
    running.wait(5)
    for number in range(10):
        group.submit(partial(set_timer, number=number), lambda _: answered.release())
    go_on.set()
    for _ in range(11):
        assert answered.acquire(timeout=5)

    assert statements.count("COMMIT") == 2


def test_answer_comes_after_the_commit(store: SqliteStore, group: GroupCommit) -> None:
    in_transaction: list[bool] = []
    done = threading.Event()

    def answer(result: object) -> None:
        in_transaction.append(store.connection.in_transaction)
        done.set()

    group.submit(lambda tx: tx.timers.set("kind", "name", 1), answer)

    assert done.wait(5)
    assert in_transaction == [False]


def test_each_of_many_callers_gets_their_own_result(group: GroupCommit) -> None:
    def count(tx: Transaction) -> int:
        reached = (tx.timers.get("kind", "count") or 0) + 1
        tx.timers.set("kind", "count", reached)
        return reached

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: group.run(count), range(200)))

    assert sorted(results) == list(range(1, 201))


def test_answers_are_given_before_topics_are_announced(store: SqliteStore, group: GroupCommit) -> None:
    order: list[str] = []
    done = threading.Event()

    def announced(_: frozenset[str]) -> None:
        order.append("announced")
        done.set()

    store.on_commit(announced)

    group.submit(lambda tx: tx.notify("topic"), lambda _: order.append("answered"))

    assert done.wait(5)
    assert order == ["answered", "announced"]


def test_closing_finishes_what_is_waiting(store: SqliteStore) -> None:
    writer = GroupCommit(store)
    results: list[object] = []
    for number in range(50):
        writer.submit(partial(set_timer, number=number), results.append)

    writer.close()

    assert results == list(range(50))
