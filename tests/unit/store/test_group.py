"""Group commit: many steps, one durable commit, each answered after it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from redrive.core.errors import Bug, Conflict
from redrive.store.api import Step, Transaction
from redrive.store.group import GroupCommit
from redrive.store.sqlite import SqliteStore
from tests.unit.store.conftest import open_store


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


@pytest.mark.parametrize("name", ["redrive.sqlite", None])
def test_on_an_event_loop_steps_and_answers_have_its_thread(tmp_path: Path, name: str | None) -> None:
    store = open_store(tmp_path / name if name else None)
    threads: list[int] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[None] = loop.create_future()
        writer = GroupCommit(store, post=loop.call_soon_threadsafe)

        def step(tx: Transaction) -> None:
            threads.append(threading.get_ident())

        def answer(_: object) -> None:
            threads.append(threading.get_ident())
            answered.set_result(None)

        writer.submit(step, answer)
        await asyncio.wait_for(answered, 5)
        writer.close()

    asyncio.run(scenario())

    assert threads == [threading.get_ident()] * 2
    store.close()


def test_closing_at_home_finishes_the_batch_under_way(store: SqliteStore) -> None:
    results: list[object] = []

    async def scenario() -> None:
        writer = GroupCommit(store, post=asyncio.get_running_loop().call_soon_threadsafe)
        for number in range(3):
            writer.submit(partial(set_timer, number=number), results.append)
            await asyncio.sleep(0)
        writer.close()

    asyncio.run(scenario())

    assert results == [0, 1, 2]


def test_waiting_for_a_step_in_the_thread_that_runs_steps_is_refused(store: SqliteStore) -> None:
    """It would wait for itself for ever, and the server with it."""
    refused: list[str] = []

    async def scenario() -> None:
        writer = GroupCommit(store, post=asyncio.get_running_loop().call_soon_threadsafe)
        with pytest.raises(Bug) as error:
            writer.run(partial(set_timer, number=1))
        refused.append(str(error.value))
        writer.close()

    asyncio.run(scenario())

    assert refused == ["a step is submitted, and not waited for, in the thread that runs the steps"]


def test_step_that_waits_for_another_is_refused_in_the_group_s_own_thread(group: GroupCommit) -> None:
    with pytest.raises(Bug):
        group.run(lambda tx: group.run(partial(set_timer, number=1)))


def test_a_commit_holds_no_more_steps_than_it_may(store: SqliteStore) -> None:
    """Whoever turns the group's tasks decides when they are done: here a list does."""
    tasks: list[Callable[[], None]] = []
    statements: list[str] = []
    store.connection.set_trace_callback(statements.append)
    results: list[object] = []
    group = GroupCommit(store, post=tasks.append, post_commit=tasks.append, steps_max=2)
    for number in range(5):
        group.submit(partial(set_timer, number=number), results.append)

    while tasks:
        tasks.pop(0)()

    assert results == [0, 1, 2, 3, 4]
    assert statements.count("COMMIT") == 3


def pragmas(statements: Sequence[str]) -> list[str]:
    """How commits were made, in order, and what was set before them."""
    words = [statement for statement in statements if statement.startswith(("PRAGMA", "COMMIT"))]
    return [word.removeprefix("PRAGMA synchronous = ") for word in words]


@pytest.fixture
def deferring(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = open_store(tmp_path / "deferring.sqlite", defers_sync=True)
    yield opened
    opened.close()


def test_step_that_need_not_await_the_disk_is_durable_with_the_next_that_does(deferring: SqliteStore) -> None:
    """The sync of a commit that waits is one of the whole log."""
    statements: list[str] = []
    group = GroupCommit(deferring)
    deferring.connection.set_trace_callback(statements.append)

    for number in range(3):
        group.run_unsynced(partial(set_timer, number=number))
    group.run(partial(set_timer, number=3))
    group.run(partial(set_timer, number=4))
    group.close()

    assert pragmas(statements) == ["NORMAL", "COMMIT", "COMMIT", "COMMIT", "FULL", "COMMIT", "COMMIT"]


def test_commit_awaits_the_disk_for_any_of_its_steps(deferring: SqliteStore) -> None:
    tasks: list[Callable[[], None]] = []
    statements: list[str] = []
    deferring.connection.set_trace_callback(statements.append)
    group = GroupCommit(deferring, post=tasks.append, post_commit=tasks.append)
    for number in range(3):
        group.submit(partial(set_timer, number=number), lambda _: None, awaits_disk=number == 1)

    while tasks:
        tasks.pop(0)()

    assert pragmas(statements) == ["COMMIT"]


def test_store_that_does_not_say_that_it_defers_the_sync_awaits_the_disk_each_time(store: SqliteStore) -> None:
    """The check at its next start counts on that."""
    statements: list[str] = []
    group = GroupCommit(store)
    store.connection.set_trace_callback(statements.append)

    group.run_unsynced(partial(set_timer, number=1))
    group.close()

    assert pragmas(statements) == ["COMMIT"]


class Counting:
    """A follower of what is notified as `due`: it sets a timer by what it is told, and remembers its results."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[frozenset[str]] = []
        self.results: list[object] = []
        self._fails = fails

    def follow(self, topics: AbstractSet[str]) -> Step[object] | None:
        self.asked.append(frozenset(topics))
        return self._step if "due" in topics else None

    def followed(self, result: object) -> None:
        self.results.append(result)

    def _step(self, tx: Transaction) -> str:
        tx.timers.set("kind", "followed", 1)
        if self._fails:
            raise ValueError("a defect")
        return "followed"


def notify(tx: Transaction, *, topic: str) -> str:
    tx.timers.set("kind", topic, 1)
    tx.notify(topic)
    return topic


def turned(store: SqliteStore, follower: Counting, topics: Sequence[str]) -> tuple[list[object], list[str]]:
    """The answers of steps that notify these topics in one batch, and the statements that committed."""
    tasks: list[Callable[[], None]] = []
    statements: list[str] = []
    answers: list[object] = []
    store.connection.set_trace_callback(statements.append)
    group = GroupCommit(store, post=tasks.append, post_commit=tasks.append)
    group.accompany(follower)
    for topic in topics:
        group.submit(partial(notify, topic=topic), answers.append)
    while tasks:
        tasks.pop(0)()
    return answers, [one for one in statements if one in ("COMMIT", "ROLLBACK")]


def test_follower_shares_the_commit_of_what_has_made_work_due(store: SqliteStore) -> None:
    follower = Counting()

    answers, ends = turned(store, follower, ["other", "due"])

    assert (answers, follower.results, ends) == (["other", "due"], ["followed"], ["COMMIT"])
    assert store.run(lambda tx: tx.timers.get("kind", "followed")) == 1


def test_follower_is_not_asked_when_nothing_is_notified_and_may_decline(store: SqliteStore) -> None:
    follower = Counting()
    group = GroupCommit(store)
    group.accompany(follower)

    group.run(partial(set_timer, number=1))
    group.run(partial(notify, topic="other"))
    group.close()

    assert (follower.asked, follower.results) == ([frozenset({"other"})], [])


def test_follower_that_fails_takes_nothing_of_the_others_along(store: SqliteStore) -> None:
    """The batch runs again with savepoints, and the follower is asked again."""
    follower = Counting(fails=True)

    answers, ends = turned(store, follower, ["due"])

    assert (answers, ends, len(follower.asked)) == (["due"], ["ROLLBACK", "COMMIT"], 2)
    assert [repr(result) for result in follower.results] == ["ValueError('a defect')"]
    assert store.run(lambda tx: [tx.timers.get("kind", name) for name in ("due", "followed")]) == [1, None]


def test_follower_hears_of_a_batch_that_failed(store: SqliteStore) -> None:
    """Otherwise it would wait for its result for ever."""
    follower = Counting(fails=True)
    tasks: list[Callable[[], None]] = []
    answers: list[object] = []
    group = GroupCommit(store, post=tasks.append, post_commit=tasks.append)
    group.accompany(follower)
    runs: list[int] = []

    def conflicts_when_it_runs_again(tx: Transaction) -> None:
        tx.notify("due")
        runs.append(len(runs))
        if len(runs) > 1:
            raise Conflict("another was first")

    group.submit(conflicts_when_it_runs_again, answers.append)
    while tasks:
        tasks.pop(0)()

    assert [type(answer) for answer in (*answers, *follower.results)] == [Conflict, Conflict]
