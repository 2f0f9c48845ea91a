"""What every store does alike: a SQLite file, SQLite in memory, PostgreSQL. The verbs run in real transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import pytest

from redrive.core.errors import Bug, Conflict
from redrive.core.retry import Backoff, RetryPolicy
from redrive.core.scope import Scope
from redrive.store.api import Transaction
from redrive.store.tables.alarm_history import HistoryItem
from redrive.store.tables.archives import NewArchivedEvent
from redrive.store.tables.dedup import RememberedReceive
from redrive.store.tables.deliveries import INSIDE, OUTSIDE, Delivery
from redrive.store.tables.items import ItemKey, RangeKeys, StoredItem
from redrive.store.tables.log_events import NewLogEvent, Place
from redrive.store.tables.messages import MessageCounts, NewMessage
from redrive.store.tables.metrics import DataPoint, Series, Watched
from redrive.store.tables.objects import ObjectVersion
from redrive.store.tables.streams import NewStreamRecord, Position
from redrive.store.tables.tokens import UsedToken
from redrive.store.tables.uploads import Upload, UploadPart
from tests.unit.store.conftest import AnyStore

HERE = Scope("000000000000", "us-east-1")
POLICY = RetryPolicy(retries_max=3, backoff=Backoff(steps_ms=(60_000,)))
MB = 1_000_000
LARGEST = 2**63 - 1
ODD_TEXTS = [
    "",
    " ",
    "\n",
    "'",
    '"',
    "\\",
    "\\x41",
    "%s $1 :name ?",
    "é",
    "e\u0301",
    "\U0010ffff",
    "\ufffd",
    "{}",
    "NULL",
]
IN_ORDER_OF_BYTES = ["", "A", "Z", "a", "a ", "a!", "aa", "b", "z", "~", "ß", "é", "中", "\uffff", "😀"]


@dataclass(frozen=True, slots=True)
class Thing:
    KIND: ClassVar[str] = "test.thing"
    name: str
    size: int = 0


def message(body: str, *, queue: str = "q", group: str | None = None, at: int = 1_000) -> NewMessage:
    return NewMessage(
        queue, f"id-{body[:20]}", body, "md5", "sender", at, at, 10**15, group_id=group,
        deduplication_id=body if group else None,
    )  # fmt: skip


def send(tx: Transaction, body: str) -> None:
    tx.messages.put_many([message(body)])


def send_in_order(tx: Transaction, body: str, group: str = "g") -> int | None:
    tx.messages.reserve_in_order("q")
    seq = tx.messages.put_in_order(message(body, group=group), remembered_by="q", scope="")
    if seq is not None:
        tx.dedup.remember_send("q", "", body, message_id=body, seq=seq, expires_at=10_000)
    return seq


def receive(tx: Transaction, *, receipt: str = "r", limit: int = 10, now: int = 1_000) -> list[str]:
    return [one.body for one in tx.messages.claim_visible("q", now, visible_at=5_000, receipt=receipt, limit=limit)]


def receive_in_order(
    tx: Transaction, *, receipt: str = "r", limit: int = 10, now: int = 1_000
) -> list[tuple[int, str]]:
    tx.messages.reserve_in_order("q")
    found = tx.messages.claim_in_order("q", now, visible_at=5_000, receipt=receipt, limit=limit)
    return [(one.seq, one.body) for one in found]


def append_two(shard: str, tx: Transaction) -> None:
    append(tx, shard, "1", "2")


def append(tx: Transaction, shard: str, *texts: str) -> Sequence[Position]:
    tx.streams.reserve(shard)
    return tx.streams.append(shard, [NewStreamRecord("key", text.encode()) for text in texts], now=tx.now)


def store_item(
    tx: Transaction, hash_key: bytes, range_key: bytes, item: bytes, *, expires_at: int | None = None
) -> None:
    key = ItemKey(hash_key, range_key)
    tx.items.reserve("t", key)
    tx.items.put("t", StoredItem(*key, len(item), item), expires_at=expires_at)


def store_object(tx: Transaction, key: str) -> None:
    number, _ = tx.objects.begin("b", key.encode())
    new = ObjectVersion(
        key.encode(), number, is_current=True, is_null=True, is_marker=False, modified_at=1, size=0, document={},
        body=b"",
    )  # fmt: skip
    tx.objects.put("b", new)


def store_part(tx: Transaction, upload: int) -> None:
    tx.uploads.reserve(upload)
    tx.uploads.put_part(upload, UploadPart(1, 1, 0, {}), b"")


def promise(id: str, *, place: str = INSIDE, due_at: int = 1_000, function: str = "") -> Delivery:
    return Delivery(
        id, HERE, "test", "arn:source", "arn:target", {"n": 1}, POLICY, place, due_at, due_at, function=function
    )


def fail_after(write: Callable[[Transaction], object], tx: Transaction) -> None:
    write(tx)
    raise LookupError("as the test wants")


# Transactions.

WRITES: dict[str, Callable[[Transaction], object]] = {
    "resources": lambda tx: tx.resources.put(HERE, Thing("failed")),
    "timers": lambda tx: tx.timers.set("kind", "failed", 1),
    "messages": lambda tx: send(tx, "failed"),
    "items": lambda tx: store_item(tx, b"failed", b"", b"{}"),
    "tokens": lambda tx: tx.tokens.keep("kind", HERE, "failed", UsedToken("d", {}), expires_at=9_000),
    "deliveries": lambda tx: tx.deliveries.put(promise("failed")),
    "blobs": lambda tx: tx.blobs.put("failed", b"1"),
    "bodies": lambda tx: tx.bodies.put("failed", b"1", now=1),
    "body_pieces": lambda tx: tx.bodies.put_piece("failed", 0, b"1", now=1),
    "objects": lambda tx: store_object(tx, "failed"),
    "uploads": lambda tx: tx.uploads.put("b", Upload(b"failed", 1, 1, {})),
    "upload_parts": lambda tx: store_part(tx, 1),
    "log_events": lambda tx: tx.log_events.put_many([NewLogEvent("g", "s", 1, 1, "failed")]),
    "archived_events": lambda tx: tx.archives.put_many("failed", [NewArchivedEvent(1, 1, "{}")], now=1),
    "stream_records": lambda tx: append(tx, "failed", "1"),
    "alarm_history": lambda tx: tx.alarm_history.put(str(HERE), HistoryItem("failed", 1, "i", "t", "k", "s", "{}")),
    "dedup_sends": lambda tx: tx.dedup.remember_send("q", "", "failed", message_id="m", seq=1, expires_at=9_000),
}  # fmt: skip


@pytest.mark.parametrize("table", WRITES)
def test_step_that_fails_after_a_write_leaves_no_row(any_store: AnyStore, table: str) -> None:
    with pytest.raises(LookupError):
        any_store.run(partial(fail_after, WRITES[table]))

    assert any_store.store.rows([table]) == [[]]


@pytest.mark.parametrize("table", WRITES)
def test_failing_step_takes_nothing_of_its_neighbours_along(any_store: AnyStore, table: str) -> None:
    first, failed, last = any_store.batch(
        lambda tx: tx.timers.set("kind", "first", 1), partial(fail_after, WRITES[table]), lambda tx: send(tx, "last")
    )

    assert (first, last) == (None, None)
    assert isinstance(failed, LookupError)
    assert any_store.run(lambda tx: (tx.timers.due("kind", 10, 10), receive(tx))) == ([("first", 1)], ["last"])


@pytest.mark.parametrize("table", WRITES)
def test_savepoint_rolls_back_what_was_written_inside(any_store: AnyStore, table: str) -> None:
    def step(tx: Transaction) -> None:
        tx.facts.set("before", b"1")
        with suppress(LookupError), tx.savepoint():
            fail_after(WRITES[table], tx)
        tx.facts.set("after", b"2")

    any_store.run(step)

    assert any_store.store.rows([table]) == [[]]
    assert any_store.run(lambda tx: (tx.facts.get("before"), tx.facts.get("after"))) == (b"1", b"2")


def test_savepoint_inside_of_another_is_rolled_back_alone_and_with_it(any_store: AnyStore) -> None:
    def step(tx: Transaction) -> None:
        with suppress(LookupError), tx.savepoint():
            tx.facts.set("outer", b"1")
            with suppress(LookupError), tx.savepoint():
                fail_after(lambda tx: tx.facts.set("inner", b"1"), tx)
            tx.facts.set("behind", b"1")
        with suppress(LookupError), tx.savepoint():
            with tx.savepoint():
                tx.facts.set("released", b"1")
            fail_after(lambda tx: tx.facts.set("undone", b"1"), tx)

    any_store.run(step)

    names = ("outer", "inner", "behind", "released", "undone")
    assert any_store.run(lambda tx: [tx.facts.get(name) for name in names]) == [b"1", None, b"1", None, None]


def test_step_sees_what_it_has_written(any_store: AnyStore) -> None:
    def step(tx: Transaction) -> tuple[object, ...]:
        tx.resources.put(HERE, Thing("a", 1))
        tx.timers.set("kind", "a", 5)
        send(tx, "a")
        store_item(tx, b"h", b"r", b"{}")
        tx.deliveries.put(promise("a"))
        return (
            tx.resources.get(Thing, HERE, "a"), tx.timers.next("kind"), receive(tx),
            tx.items.get("t", ItemKey(b"h", b"r")), tx.deliveries.next([INSIDE]),
        )  # fmt: skip

    assert any_store.run(step) == (Thing("a", 1), 5, ["a"], b"{}", 1_000)


def test_caches_forget_what_was_rolled_back(any_store: AnyStore) -> None:
    any_store.run(lambda tx: tx.resources.put(HERE, Thing("a", 1)))

    def step(tx: Transaction) -> None:
        tx.resources.put(HERE, Thing("a", 2))
        tx.resources.put(HERE, Thing("b", 2))
        tx.timers.set("kind", "a", 5)
        tx.deliveries.put(promise("a"))
        assert tx.resources.get(Thing, HERE, "a") == Thing("a", 2)
        assert (tx.timers.next("kind"), tx.deliveries.next([INSIDE])) == (5, 1_000)
        raise LookupError

    with pytest.raises(LookupError):
        any_store.run(step)

    assert any_store.run(lambda tx: [tx.resources.get(Thing, HERE, name) for name in "ab"]) == [Thing("a", 1), None]
    assert any_store.run(lambda tx: (tx.timers.next("kind"), tx.deliveries.next([INSIDE]))) == (None, None)
    assert any_store.run(lambda tx: list(tx.resources.everywhere(Thing))) == [(HERE, Thing("a", 1))]


def test_conflict_of_a_step_is_its_answer_and_its_writes_are_gone(any_store: AnyStore) -> None:
    def step(tx: Transaction) -> None:
        send(tx, "a")
        raise Conflict("as the test wants")

    with pytest.raises(Conflict):
        any_store.run(step)

    assert any_store.run(receive) == []


def test_topics_of_a_failed_step_are_not_told(any_store: AnyStore) -> None:
    told: list[frozenset[str]] = []
    any_store.store.on_commit(told.append)

    def step(tx: Transaction, topic: str, error: Exception | None) -> None:
        tx.notify(topic)
        if error is not None:
            raise error

    with pytest.raises(LookupError):
        any_store.run(partial(step, topic="lost", error=LookupError()))
    any_store.run(partial(step, topic="kept", error=None))

    assert told == [frozenset({"kept"})]


def test_many_failing_steps_of_one_batch_fail_alone(any_store: AnyStore) -> None:
    def step(tx: Transaction, number: int) -> int:
        send(tx, f"{number:02}")
        if number % 3 == 0:
            raise LookupError(number)
        return number

    results = any_store.batch(*[partial(step, number=number) for number in range(20)])

    assert [isinstance(result, LookupError) for result in results] == [number % 3 == 0 for number in range(20)]
    assert sorted(any_store.run(partial(receive, limit=50))) == [f"{n:02}" for n in range(20) if n % 3]


# Values.


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_text_is_kept_as_it_was_given(any_store: AnyStore, text: str) -> None:
    def step(tx: Transaction) -> tuple[object, ...]:
        send(tx, text)
        tx.resources.put(HERE, Thing(text))
        tx.timers.set("kind", text, 1)
        tx.log_events.put_many([NewLogEvent("g", text, 1, 1, text)])
        return receive(tx), tx.timers.due("kind", 1, 1)

    assert any_store.run(step) == ([text], [(text, 1)])
    found = any_store.run(lambda tx: list(tx.log_events.after("g", Place(0, 0), stream=text, limit=2)))
    assert [(one.stream, one.message) for one in found] == [(text, text)]
    assert any_store.run(lambda tx: tx.resources.get(Thing, HERE, text)) == Thing(text)


@pytest.mark.parametrize("content", [b"", b"\0", b"\\x41", b"\xff\xfe", bytes(range(256)), b"\0" * MB])
def test_bytes_are_kept_as_they_were_given(any_store: AnyStore, content: bytes) -> None:
    any_store.run(lambda tx: tx.blobs.put("digest", content))
    any_store.run(lambda tx: store_item(tx, b"h", b"\0", content))

    assert any_store.run(lambda tx: tx.blobs.get("digest")) == content
    assert any_store.run(lambda tx: tx.items.get("t", ItemKey(b"h", b"\0"))) == content


def test_body_of_a_megabyte_is_kept(any_store: AnyStore) -> None:
    bodies = [letter * MB for letter in "ab"] + ["é" * (MB // 2)]

    any_store.batch(*[partial(send, body=body) for body in bodies])

    assert sorted(any_store.run(receive)) == sorted(bodies)


def test_largest_and_smallest_numbers_are_kept(any_store: AnyStore) -> None:
    any_store.run(lambda tx: tx.timers.set("kind", "late", LARGEST))
    any_store.run(lambda tx: tx.timers.set("kind", "early", -LARGEST - 1))

    assert any_store.run(lambda tx: tx.timers.due("kind", LARGEST, 10)) == [("early", -LARGEST - 1), ("late", LARGEST)]


def test_value_that_no_store_can_hold_fails_its_step_alone(any_store: AnyStore) -> None:
    """A number beyond 64 bits; a text with half of a surrogate pair. The store goes on."""
    too_large, half, kept = any_store.batch(
        lambda tx: tx.timers.set("kind", "late", LARGEST + 1),
        lambda tx: send(tx, "\ud800"),
        lambda tx: send(tx, "kept"),
    )

    assert isinstance(too_large, Exception)
    assert isinstance(half, Exception)
    assert kept is None
    assert any_store.run(receive) == ["kept"]


def test_nul_in_a_text_takes_nothing_else_along(any_store: AnyStore) -> None:
    """PostgreSQL has no such character in its texts: it is replaced there. What follows it is kept."""
    any_store.run(lambda tx: tx.log_events.put_many([NewLogEvent("g", "s", 1, 1, "before\0after")]))

    (found,) = any_store.run(lambda tx: list(tx.log_events.after("g", Place(0, 0), limit=2)))
    assert found.message in ("before\0after", "before\ufffdafter")


def test_text_is_ordered_by_its_bytes(any_store: AnyStore) -> None:
    def step(tx: Transaction) -> None:
        for text in reversed(IN_ORDER_OF_BYTES):
            tx.resources.put(HERE, Thing(text))
            tx.timers.set("kind", text, 1)

    any_store.run(step)

    assert [one.name for one in any_store.run(lambda tx: tx.resources.list(Thing, HERE, after="a!"))] == [
        text for text in IN_ORDER_OF_BYTES if text > "a!"
    ]
    assert [one.name for one in any_store.run(lambda tx: tx.resources.list(Thing, HERE, prefix="a"))] == [
        "a", "a ", "a!", "aa",
    ]  # fmt: skip
    assert [name for name, _ in any_store.run(lambda tx: tx.timers.due("kind", 1, 50))] == IN_ORDER_OF_BYTES


# Resources, timers, tokens, remembered sends and receives.


def test_resource_is_replaced_counted_and_deleted(any_store: AnyStore) -> None:
    any_store.run(lambda tx: tx.resources.put(HERE, Thing("a", 1)))
    any_store.run(lambda tx: tx.resources.put(HERE, Thing("a", 2)))
    any_store.run(lambda tx: tx.resources.put(Scope("1", "other"), Thing("a", 9)))

    assert any_store.run(lambda tx: (tx.resources.count(Thing, HERE), tx.resources.get(Thing, HERE, "a"))) == (
        1, Thing("a", 2),
    )  # fmt: skip
    assert any_store.run(lambda tx: tx.resources.delete(Thing, HERE, "a")) is True
    assert any_store.run(lambda tx: tx.resources.delete(Thing, HERE, "a")) is False
    assert any_store.run(lambda tx: list(tx.resources.everywhere(Thing))) == [(Scope("1", "other"), Thing("a", 9))]


def test_timer_is_moved_hastened_and_cleared(any_store: AnyStore) -> None:
    any_store.run(lambda tx: tx.timers.set("kind", "a", 50))
    any_store.run(lambda tx: tx.timers.hasten("kind", "a", 70))
    assert any_store.run(lambda tx: tx.timers.next("kind")) == 50
    any_store.run(lambda tx: tx.timers.hasten("kind", "a", 20))
    any_store.run(lambda tx: tx.timers.hasten("kind", "new", 30))

    assert any_store.run(lambda tx: tx.timers.due("kind", 30, 10)) == [("a", 20), ("new", 30)]
    assert any_store.run(lambda tx: tx.timers.due("kind", 100, 1)) == [("a", 20)]
    assert any_store.run(lambda tx: tx.timers.next_after("kind", 20)) == 30
    any_store.run(lambda tx: tx.timers.clear("kind", "a"))
    assert any_store.run(lambda tx: (tx.timers.get("kind", "a"), tx.timers.next("kind"))) == (None, 30)


def test_token_is_found_until_it_expires_and_then_swept(any_store: AnyStore) -> None:
    used = UsedToken("digest", {"Answer": ["é", 1.5, None, True]})
    any_store.run(lambda tx: tx.tokens.keep("kind", HERE, "token", UsedToken("older", {}), expires_at=50))
    any_store.run(lambda tx: tx.tokens.keep("kind", HERE, "token", used, expires_at=100))

    assert any_store.run(lambda tx: tx.tokens.find("kind", HERE, "token", 99)) == used
    assert any_store.run(lambda tx: tx.tokens.find("kind", HERE, "token", 100)) is None
    assert any_store.run(lambda tx: tx.tokens.find("kind", Scope("1", "r"), "token", 99)) is None
    assert any_store.run(lambda tx: (tx.tokens.next(), tx.tokens.sweep(99, 10), tx.tokens.sweep(100, 10))) == (
        100,
        0,
        1,
    )


def test_receive_is_remembered_until_it_expires(any_store: AnyStore) -> None:
    receive = RememberedReceive("r", (1, 2, LARGEST), 5_000, 6_000)
    any_store.run(lambda tx: tx.dedup.remember_receive("q", "a", receive))

    assert any_store.run(lambda tx: tx.dedup.find_receive("q", "a", 5_999)) == receive
    assert any_store.run(lambda tx: (tx.dedup.find_receive("q", "a", 6_000), tx.dedup.next())) == (None, 6_000)
    assert any_store.run(lambda tx: (tx.dedup.sweep(6_000, limit=9), tx.dedup.next())) == (1, None)


# Messages.


def test_message_is_received_once_hidden_and_received_again(any_store: AnyStore) -> None:
    any_store.batch(*[partial(send, body=str(number)) for number in range(5)])

    assert any_store.run(partial(receive, limit=3)) == ["0", "1", "2"]
    assert any_store.run(lambda tx: tx.messages.counts("q", 1_000)) == MessageCounts(2, 3, 0)
    assert any_store.run(partial(receive, receipt="s")) == ["3", "4"]
    assert any_store.run(partial(receive, receipt="t")) == []
    assert any_store.run(partial(receive, receipt="u", now=5_000)) == ["0", "1", "2", "3", "4"]


def test_only_the_newest_receipt_deletes(any_store: AnyStore) -> None:
    any_store.run(partial(send, body="a"))
    (old,) = any_store.run(lambda tx: tx.messages.claim_visible("q", 1_000, visible_at=2_000, receipt="old", limit=1))
    (new,) = any_store.run(lambda tx: tx.messages.claim_visible("q", 2_000, visible_at=3_000, receipt="new", limit=1))

    assert any_store.run(lambda tx: tx.messages.held("q", new.seq)) == (3_000, 2_000, "new")
    assert any_store.run(lambda tx: tx.messages.delete("q", old.seq, "old")) is False
    assert any_store.run(lambda tx: tx.messages.delete("q", new.seq, "new")) is True
    assert any_store.run(lambda tx: tx.messages.held("q", new.seq)) is None


def test_message_received_too_often_moves_in_the_claim(any_store: AnyStore) -> None:
    any_store.run(partial(send, body="a"))

    def claim(tx: Transaction, now: int, receipt: str) -> int:
        tx.messages.claim_visible("q", now, visible_at=now + 10, receipt=receipt, limit=10)
        return tx.messages.dead_letter(
            "q", now, visible_at=now + 10, receipt=receipt, receive_count_max=1, dead_letter_queue="dlq",
            retention_ms=1_000_000, source_queue_arn="arn:q",
        )  # fmt: skip

    assert [any_store.run(partial(claim, now=now, receipt=str(now))) for now in (1_000, 1_010)] == [0, 1]
    counts = any_store.run(lambda tx: [tx.messages.counts(queue, 1_010) for queue in ("q", "dlq")])
    assert counts == [MessageCounts(0, 0, 0), MessageCounts(1, 0, 0)]


def test_group_waits_behind_its_message_in_flight(any_store: AnyStore) -> None:
    any_store.batch(*[partial(send_in_order, body=f"{group}{n}", group=group) for n in range(3) for group in "ab"])

    first = any_store.run(partial(receive_in_order, limit=2))
    second = any_store.run(partial(receive_in_order, receipt="s"))
    assert [body for _, body in first] == ["a0", "a1"]
    assert [body for _, body in second] == ["b0", "b1", "b2"]
    assert any_store.run(partial(receive_in_order, receipt="t")) == []

    def settle(tx: Transaction) -> list[bool]:
        tx.messages.reserve_in_order("q")
        return [tx.messages.delete_in_order("q", seq, "r", 1_000) for seq, _ in first]

    assert any_store.run(settle) == [True, True]
    assert [body for _, body in any_store.run(partial(receive_in_order, receipt="u"))] == ["a2"]


def test_send_that_is_remembered_is_a_duplicate(any_store: AnyStore) -> None:
    results = any_store.batch(*[partial(send_in_order, body="same") for _ in range(5)])

    assert [result is None for result in results] == [False, True, True, True, True]
    assert any_store.run(lambda tx: tx.messages.counts("q", 1_000)) == MessageCounts(1, 0, 0)


def test_remembered_receive_is_repeated_unless_a_message_has_changed(any_store: AnyStore) -> None:
    any_store.batch(*[partial(send_in_order, body=body) for body in "ab"])
    found = any_store.run(receive_in_order)
    seqs = tuple(seq for seq, _ in found)

    def again(tx: Transaction, visible_at: int) -> list[str]:
        tx.messages.reserve_in_order("q")
        held = tx.messages.hold_again("q", 1_000, seqs=seqs, receipt="r", was_visible_at=visible_at, visible_at=6_000)
        return [one.body for one in held]

    assert any_store.run(partial(again, visible_at=4_999)) == []
    assert any_store.run(partial(again, visible_at=5_000)) == ["a", "b"]


def test_expired_messages_free_their_groups(any_store: AnyStore) -> None:
    def put(tx: Transaction) -> None:
        tx.messages.reserve_in_order("q")
        for body, expires_at in (("old", 1_500), ("young", 9_000)):
            one = message(body, group="g")._replace(expires_at=expires_at)
            tx.messages.put_in_order(one, remembered_by="q", scope="")

    def expire(tx: Transaction) -> int:
        tx.messages.reserve_in_order("q")
        return tx.messages.expire_in_order("q", 1_500)

    any_store.run(put)
    assert any_store.run(expire) == 1
    assert [body for _, body in any_store.run(partial(receive_in_order, now=1_500))] == ["young"]


@pytest.mark.parametrize("limit", [0, 2, 9])
def test_expired_items_are_taken_with_their_tables_and_in_order(any_store: AnyStore, limit: int) -> None:
    def fill(tx: Transaction) -> None:
        for number in (3, 1, 2, 5):
            store_item(tx, b"h", bytes([number]), b"item %d" % number, expires_at=number)
        store_item(tx, b"h", b"k", b"for ever", expires_at=None)

    def take(tx: Transaction) -> Sequence[tuple[str, ItemKey, bytes]]:
        tx.be_alone()
        return tx.items.take_expired(3, limit=limit)

    any_store.run(fill)
    taken = any_store.run(take)

    assert taken == [("t", ItemKey(b"h", bytes([number])), b"item %d" % number) for number in (1, 2, 3)][:limit]
    assert any_store.run(lambda tx: tx.items.totals("t"))[0] == 5 - len(taken)


@pytest.mark.parametrize("limit", [0, 1, 7, 100])
def test_no_verb_takes_more_than_its_limit(any_store: AnyStore, limit: int) -> None:
    def fill(tx: Transaction) -> None:
        for number in range(10):
            send(tx, str(number))
            tx.timers.set("kind", str(number), number)
            tx.deliveries.put(promise(str(number), place=OUTSIDE, function="f"))
            store_item(tx, b"h", bytes([number]), b"{}", expires_at=number)
            tx.log_events.put_many([NewLogEvent("g", "s", number, 1, str(number))])

    any_store.run(fill)
    expected = min(limit, 10)

    assert len(any_store.run(lambda tx: tx.timers.due("kind", 100, limit))) == expected
    assert len(any_store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=1, limit=limit))) == expected
    assert any_store.run(lambda tx: tx.items.expire(100, limit=limit)) == expected
    assert any_store.run(lambda tx: tx.items.drop("t", limit=limit)) == min(limit, 10 - expected)
    assert len(any_store.run(partial(receive, limit=limit))) == expected
    assert any_store.run(lambda tx: tx.messages.purge("q", limit=limit)) == expected
    assert len(any_store.run(lambda tx: tx.log_events.expire("g", 100, limit=limit))) == expected


# Deliveries.


def test_delivery_that_waits_is_hastened_and_one_under_a_lease_is_not(any_store: AnyStore) -> None:
    any_store.run(lambda tx: [tx.deliveries.put(promise(one)) for one in ("claimed", "waiting")])
    any_store.run(lambda tx: tx.deliveries.claim_due(INSIDE, 1_000, lease_ms=5_000, limit=1))

    def postpone(tx: Transaction) -> None:
        (waiting,) = tx.deliveries.due(INSIDE, 1_000, limit=9)
        tx.deliveries.release(waiting, place=INSIDE, due_at=9_000, counted=False)

    def hasten(tx: Transaction) -> None:
        for one in ("claimed", "waiting", "missing"):
            tx.deliveries.hasten(one, 2_000)

    any_store.run(postpone)
    any_store.run(hasten)

    assert any_store.run(lambda tx: tx.deliveries.next([INSIDE])) == 2_000
    assert [one.id for one in any_store.run(lambda tx: tx.deliveries.due(INSIDE, 2_000, limit=9))] == ["waiting"]


def test_delivery_is_put_once_and_settled_by_its_latest_holder(any_store: AnyStore) -> None:
    assert any_store.batch(*[lambda tx: tx.deliveries.put(promise("a", place=OUTSIDE)) for _ in range(3)]) == [
        True, False, False,
    ]  # fmt: skip

    (first,) = any_store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500, limit=9))
    (second,) = any_store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_500, lease_ms=500, limit=9))
    assert (first.fence, second.fence, second.attempts, second.leases) == (1, 2, 2, 2)
    assert any_store.run(lambda tx: tx.deliveries.held("a", first.fence)) is None
    any_store.run(lambda tx: tx.deliveries.delete("a", second.fence))
    assert any_store.run(lambda tx: tx.deliveries.next([OUTSIDE])) is None


def test_settling_under_a_stale_fence_is_refused_and_rolled_back(any_store: AnyStore) -> None:
    any_store.run(lambda tx: tx.deliveries.put(promise("a", place=OUTSIDE)))
    any_store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, 1_000, lease_ms=500, limit=9))

    def settle(tx: Transaction) -> None:
        send(tx, "letter")
        tx.deliveries.delete("a", 0)

    with pytest.raises((Bug, Conflict)):
        any_store.run(settle)

    assert any_store.run(lambda tx: tx.deliveries.held("a", 1)) is not None
    assert any_store.run(receive) == []


def test_deliveries_of_one_function_are_claimed_apart(any_store: AnyStore) -> None:
    def put(tx: Transaction) -> None:
        for number, function in enumerate("fgf"):
            tx.deliveries.put(promise(str(number), place=OUTSIDE, due_at=1_000 - number, function=function))

    any_store.run(put)

    assert any_store.run(lambda tx: tx.deliveries.outside_by_function()) == [("f", 998), ("g", 999)]
    claimed = any_store.run(lambda tx: tx.deliveries.claim_outside("f", 1_000, lease_ms=9, limit=9))
    assert [one.id for one in claimed] == ["2", "0"]


# Items and log events.


def test_items_are_read_in_the_order_of_their_bytes(any_store: AnyStore) -> None:
    keys = [b"", b"\0", b"\0\0", b"\x01", b"a", b"a\0", b"\x7f", b"\x80", b"\xff", b"\xff\xff"]
    any_store.batch(*[partial(store_item, hash_key=b"h", range_key=key, item=b"{}") for key in reversed(keys)])

    def read(tx: Transaction, forward: bool, limit: int | None) -> list[bytes]:
        page = tx.items.query("t", b"h", RangeKeys(b"\0\0", b"\xff\xff"), forward=forward, limit=limit, bytes_max=MB)
        return [one.key.range_key for one in page.items]

    assert any_store.run(partial(read, forward=True, limit=None)) == keys[2:-1]
    assert any_store.run(partial(read, forward=False, limit=3)) == keys[-2:-5:-1]


def test_scan_in_segments_reads_each_item_once(any_store: AnyStore) -> None:
    keys = [(bytes([number]), b"r") for number in range(100)]
    any_store.batch(*[partial(store_item, hash_key=h, range_key=r, item=b"{}") for h, r in keys])

    def read(tx: Transaction) -> Iterator[ItemKey]:
        for segment in range(3):
            after, complete = None, False
            while not complete:
                items, complete = tx.items.scan("t", after=after, segment=segment, segments=3, limit=7, bytes_max=MB)
                yield from (one.key for one in items)
                after = items[-1].key if items else after

    assert sorted(any_store.run(lambda tx: list(read(tx)))) == keys
    assert any_store.run(lambda tx: tx.items.totals("t")) == (100, 200)
    assert any_store.run(lambda tx: tx.items.totals("other")) == (0, 0)


def test_items_are_copied_under_another_id(any_store: AnyStore) -> None:
    """The copies are items of their own, and none of them expires."""
    keys = [ItemKey(bytes([number]), b"r") for number in range(9)]
    any_store.batch(*[partial(store_item, hash_key=h, range_key=r, item=b"{}", expires_at=5) for h, r in keys])

    any_store.run(lambda tx: tx.items.copy("t", "copy"))

    assert any_store.run(lambda tx: tx.items.expire(5, limit=99)) == 9
    assert any_store.run(lambda tx: tx.items.totals("copy")) == (9, 18)
    assert any_store.run(lambda tx: [tx.items.get("copy", key) for key in keys]) == [b"{}"] * 9


def test_item_is_replaced_and_taken(any_store: AnyStore) -> None:
    key = ItemKey(b"h", b"r")
    for item in (b"1", b"2"):
        any_store.run(partial(store_item, hash_key=b"h", range_key=b"r", item=item))

    def take(tx: Transaction) -> bytes | None:
        tx.items.reserve("t", key)
        return tx.items.take("t", key)

    assert [any_store.run(take) for _ in range(2)] == [b"2", None]


def test_entries_of_an_index_need_no_reservation_and_do_not_expire(any_store: AnyStore) -> None:
    def step(tx: Transaction) -> None:
        for key, item in ((b"1", b"a"), (b"2", b"b"), (b"1", b"c")):
            tx.items.put_entry("i", StoredItem(b"h", key, 3, item))
        tx.items.delete_entry("i", ItemKey(b"h", b"2"))
        tx.items.delete_entry("i", ItemKey(b"h", b"3"))

    any_store.run(step)

    page = any_store.run(lambda tx: tx.items.query("i", b"h", RangeKeys(), forward=True, limit=None, bytes_max=MB))
    assert [(one.key.range_key, one.item) for one in page.items] == [(b"1", b"c")]
    assert any_store.run(lambda tx: (tx.items.collection_size("i", b"h"), tx.items.collection_size("i", b"x"))) == (
        3,
        0,
    )
    assert any_store.run(lambda tx: tx.items.next_expiry()) is None


def test_expired_items_are_taken_in_order_and_told(any_store: AnyStore) -> None:
    for number, at in enumerate((30, 10, 20, 99)):
        key = str(number).encode()
        any_store.run(partial(store_item, hash_key=b"h", range_key=key, item=key, expires_at=at))

    taken = any_store.run(lambda tx: tx.items.take_expired(50, limit=2))

    assert [(table, key.range_key, item) for table, key, item in taken] == [("t", b"1", b"1"), ("t", b"2", b"2")]
    assert any_store.run(lambda tx: tx.items.take_expired(50, limit=9))[0][2] == b"0"
    assert any_store.run(lambda tx: tx.items.take_expired(50, limit=9)) == []


@pytest.mark.parametrize("delete", ["take", "expire", "drop"])
def test_item_that_is_deleted_behind_a_read_is_not_read_again(any_store: AnyStore, delete: str) -> None:
    """Within one transaction, what was read of a reserved item is remembered."""
    key = ItemKey(b"h", b"r")
    any_store.run(partial(store_item, hash_key=b"h", range_key=b"r", item=b"1", expires_at=5))

    def step(tx: Transaction) -> list[bytes | None]:
        tx.items.reserve("t", key)
        before = tx.items.get("t", key)
        deletes: dict[str, Callable[[], object]] = {
            "take": lambda: tx.items.take("t", key),
            "expire": lambda: tx.items.expire(5, limit=9),
            "drop": lambda: tx.items.drop("t", limit=9),
        }
        deletes[delete]()
        return [before, tx.items.get("t", key)]

    assert any_store.run(step) == [b"1", None]


def test_log_events_are_read_by_pages_and_by_when_they_were_stored(any_store: AnyStore) -> None:
    events = [NewLogEvent("g", "s", at, 9, f"message {at}") for at in (30, 10, 20)]
    before = any_store.run(lambda tx: tx.log_events.last_seq())
    any_store.run(lambda tx: tx.log_events.put_many([*events, NewLogEvent("other", "s", 15, 9, "other")]))

    page = any_store.run(lambda tx: tx.log_events.page_until("g", Place(31, 0), start=10, limit=2, characters=1_000))
    short = any_store.run(lambda tx: tx.log_events.page_until("g", Place(31, 0), start=0, limit=9, characters=10))
    arrived = any_store.run(lambda tx: tx.log_events.arrived("g", before, limit=9))
    last = any_store.run(lambda tx: tx.log_events.last_seq())

    assert [(row[2], row[4]) for row in page] == [(30, "message 30"), (20, "message 20")]
    assert len(short) == 1
    assert [event.at for event in arrived] == [30, 10, 20]
    assert last > max(event.seq for event in arrived)


def test_log_events_of_one_instant_keep_their_order_forwards_and_backwards(any_store: AnyStore) -> None:
    events = [NewLogEvent("g", "s", at, 1, f"{at}/{number}") for at in (2, 1, 1) for number in range(3)]
    any_store.run(lambda tx: tx.log_events.put_many(events))

    forwards = any_store.run(lambda tx: list(tx.log_events.after("g", Place(0, 0), limit=20)))
    backwards = any_store.run(lambda tx: list(tx.log_events.until("g", Place(9, 0), stream="s", limit=20)))
    assert [one.message for one in forwards] == [
        "1/0", "1/1", "1/2", "1/0", "1/1", "1/2", "2/0", "2/1", "2/2",
    ]  # fmt: skip
    assert [one.message for one in backwards] == [one.message for one in reversed(forwards)]


# Streams.


def seqs(tx: Transaction, shard: str, after: int = 0, limit: int = 100, bytes_max: int = 10_000) -> list[int]:
    return [record.seq for record in tx.streams.page(shard, after, limit=limit, bytes_max=bytes_max)]


def test_shard_numbers_its_records_from_one_without_gaps(any_store: AnyStore) -> None:
    any_store.run(lambda tx: append(tx, "a", "1", "2"))
    any_store.batch(lambda tx: append(tx, "a", "3"), lambda tx: append(tx, "b", "1"), lambda tx: append(tx, "a", "4"))

    assert any_store.run(lambda tx: (seqs(tx, "a"), seqs(tx, "b"))) == ([1, 2, 3, 4], [1])


def test_failed_append_leaves_its_numbers_to_the_next(any_store: AnyStore) -> None:
    any_store.run(lambda tx: append(tx, "a", "1"))

    any_store.batch(lambda tx: append(tx, "a", "2"), partial(fail_after, lambda tx: append(tx, "a", "lost", "lost")))
    any_store.run(lambda tx: append(tx, "a", "3"))

    assert any_store.run(lambda tx: [record.data for record in tx.streams.page("a", 0, limit=9, bytes_max=99)]) == [
        b"1", b"2", b"3",
    ]  # fmt: skip


def test_records_of_all_shards_of_a_prefix_are_dropped_in_pieces(any_store: AnyStore) -> None:
    for shard in ("s/0", "s/1", "s/10", "s", "s0/1", "t/0"):
        any_store.run(partial(append_two, shard))

    dropped = [any_store.run(lambda tx: tx.streams.drop_all("s/", limit=4)) for _ in range(3)]

    assert dropped == [4, 2, 0]
    left = any_store.run(lambda tx: {shard: seqs(tx, shard) for shard in ("s/0", "s/1", "s/10", "s", "s0/1", "t/0")})
    assert left == {"s/0": [], "s/1": [], "s/10": [], "s": [1, 2], "s0/1": [1, 2], "t/0": [1, 2]}
    assert any_store.run(lambda tx: append(tx, "s/0", "1"))[0].seq == 1


def test_records_of_a_span_are_counted_up_to_a_number(any_store: AnyStore) -> None:
    for at, texts in ((1_000, "ab"), (2_000, "cde"), (2_500, "f")):
        records = [NewStreamRecord("key", text.encode()) for text in texts]  # 4 bytes each.

        def step(tx: Transaction, at: int = at, records: Sequence[NewStreamRecord] = records) -> None:
            tx.streams.reserve("a")
            tx.streams.append("a", records, now=at)

        any_store.run(step)

    counted = [(0, 0), (4, 16), (2, 8), (6, 24)]
    asked = [(2_501, 9), (2_000, 9), (2_000, 2), (0, 9)]

    def count(tx: Transaction) -> list[tuple[int, int]]:
        return [tx.streams.written_since("a", at, at_most=at_most) for at, at_most in asked]

    assert any_store.run(count) == counted
    assert any_store.run(lambda tx: tx.streams.written_since("b", 0, at_most=9)) == (0, 0)


def test_page_of_records_ends_at_its_limits(any_store: AnyStore) -> None:
    any_store.run(lambda tx: append(tx, "a", *["x" * 7] * 100))  # 10 bytes each, with the partition key.

    assert any_store.run(lambda tx: seqs(tx, "a", 3, limit=2)) == [4, 5]
    assert any_store.run(lambda tx: seqs(tx, "a", 3, bytes_max=501)) == list(range(4, 55))
    assert any_store.run(lambda tx: seqs(tx, "a", 100)) == []


def test_records_are_found_by_the_instant_of_their_arrival(any_store: AnyStore) -> None:
    def write(tx: Transaction) -> None:
        tx.streams.reserve("a")
        for at in (5, 5, 8, 7, 9):  # The clock of another node may be behind: the record counts as one of instant 8.
            tx.streams.append("a", [NewStreamRecord("k", b"")], now=at)

    any_store.run(write)

    found = any_store.run(lambda tx: [tx.streams.first_since("a", at) for at in (0, 5, 6, 8, 9, 10)])
    assert found == [(1, 5), (1, 5), (3, 8), (3, 8), (5, 9), None]


def test_trimmed_shard_keeps_its_newest_record_and_goes_on_counting(any_store: AnyStore) -> None:
    any_store.run(lambda tx: append(tx, "a", *"12345"))

    deleted = any_store.run(lambda tx: [tx.streams.trim("a", tx.now + 1, limit=3) for _ in range(3)])

    assert deleted == [3, 1, 0]
    assert any_store.run(lambda tx: (seqs(tx, "a"), append(tx, "a", "6")[0].seq)) == ([5], 6)


def test_dropped_shard_loses_all_its_records_in_pieces(any_store: AnyStore) -> None:
    any_store.run(lambda tx: (append(tx, "a", *"12345"), append(tx, "b", "1")))

    assert any_store.run(lambda tx: [tx.streams.drop("a", limit=3) for _ in range(3)]) == [3, 2, 0]
    assert any_store.run(lambda tx: (seqs(tx, "a"), seqs(tx, "b"))) == ([], [1])


def test_history_of_alarms_keeps_the_order_of_its_items(any_store: AnyStore) -> None:
    def put(tx: Transaction) -> None:
        for number, (alarm, at) in enumerate([("b", 2), ("a", 1), ("a", 2), ("b", 1)]):
            tx.alarm_history.put(str(HERE), HistoryItem(alarm, at, "same", "MetricAlarm", "Action", f"s{number}", "{}"))

    any_store.run(put)

    def read(tx: Transaction, alarm: str | None = None) -> list[str]:
        return [item.summary for item in tx.alarm_history.between(str(HERE), 1, 3, alarm=alarm)]

    assert any_store.run(read) == ["s1", "s3", "s0", "s2"]
    assert any_store.run(lambda tx: read(tx, "a")) == ["s1", "s2"]
    assert any_store.run(lambda tx: (tx.alarm_history.oldest(), tx.alarm_history.sweep(2, limit=10))) == (1, 2)
    assert any_store.run(read) == ["s0", "s2"]


@pytest.mark.parametrize(
    ("statistic", "first", "second"),
    [("SampleCount", 2, 1), ("Average", 1.5, 4.0), ("Sum", 3.0, 4.0), ("Minimum", 1.0, 4.0), ("Maximum", 2.0, 4.0)],
)
def test_statistic_of_each_period_begins_with_it(
    any_store: AnyStore, statistic: str, first: float, second: float
) -> None:
    series = Series(Watched(str(HERE), "App", "{}"), "m", "Count")

    def put(tx: Transaction) -> None:
        for minute, value in ((1, 1.0), (2, 2.0), (5, 4.0)):
            tx.metrics.add(series, DataPoint(minute * 60_000, value, 1, value, value, {value: 1}))

    any_store.run(put)

    found = any_store.run(lambda tx: tx.metrics.by_period(statistic, series, 60_000, 360_000, 120_000))
    assert list(found) == [(60_000, first), (300_000, second)]


def test_metrics_are_added_up_by_period(any_store: AnyStore) -> None:
    series = Series(Watched(str(HERE), "App", "{}"), "m", "Count")

    def put(tx: Transaction) -> None:
        for minute, value in ((0, 1.0), (1, 2.0), (4, 4.0)):
            tx.metrics.add(series, DataPoint(minute * 60_000, value, 1, value, value, {value: 1}))
        tx.metrics.add(series._replace(unit="Bytes"), DataPoint(0, 9, 1, 9, 9))

    any_store.run(put)

    found = any_store.run(lambda tx: tx.metrics.grouped(series, 0, 300_000, 120_000))
    assert list(found) == [(0, 3.0, 2, 1.0, 2.0), (240_000, 4.0, 1, 4.0, 4.0)]
    assert any_store.run(lambda tx: tx.metrics.units_of(series.watched, "m")) == ["Bytes", "Count"]
    assert any_store.run(lambda tx: tx.metrics.units_of(series.watched, "none")) == []
    assert any_store.run(lambda tx: (tx.metrics.first(series, 1), tx.metrics.first(series, 240_001))) == (60_000, None)
    assert any_store.run(lambda tx: tx.metrics.take_written()) == {}
