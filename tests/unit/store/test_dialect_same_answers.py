"""The same statement on the same rows gives the same answer on SQLite and on PostgreSQL, and leaves the same rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.core.documents import dump_json
from redrive.store.database import Params
from redrive.store.migrate import migrate
from redrive.store.queries import load_queries
from tests.support.postgresql import database
from tests.unit.store.dialects import Both, postgresql

Rows = list[dict[str, object]]
EXAMPLES = settings(max_examples=40)
LARGE = 1 << 40


@pytest.fixture(scope="module")
def both(postgresql_url: str) -> Iterator[Both]:
    sqlite = sqlite3.connect(":memory:", isolation_level=None)
    migrate(sqlite, "memory")
    with database(postgresql_url) as url, postgresql(url) as connection:
        yield Both(sqlite, connection)
    sqlite.close()


def assert_same(both: Both, table: str, name: str, params: Params, *, changes: str) -> None:
    """Run a statement on both. Only a SELECT with ORDER BY promises the order of its rows."""
    here, there = both.answers(table, name, params)
    if "ORDER BY" in load_queries(table)[name].rpartition(")")[2]:
        assert there == here
    else:
        assert sorted(there, key=repr) == sorted(here, key=repr)
    assert [list(map(type, row)) for row in there if None not in row] == [
        list(map(type, row)) for row in here if None not in row
    ]
    left_here, left_there = both.contents(changes)
    assert left_there == left_here


moments = st.integers(0, 6)
TEXTS = ["", "a", "b", "B", "é"]
texts = st.sampled_from(TEXTS)
seeds = st.integers(0, LARGE)
"""Rows from a seed are spread more evenly than rows that are drawn one by one, of which most examples have few."""


def message_rows(chance: Random, *, in_order: bool) -> Rows:
    """Messages of two queues. In FIFO queues, the first message of each group is its head."""
    rows: Rows = []
    heads = set()
    for seq in range(1, 15):
        queue, group = chance.choice("qqqr"), chance.choice("gGh")
        is_head = in_order and (queue, group) not in heads
        heads.add((queue, group))
        received = chance.random() < 0.6
        rows.append(
            {
                "seq": seq, "queue": queue, "message_id": f"m{seq}", "body": chance.choice(TEXTS), "body_md5": "",
                "sender_id": "", "group_id": group if in_order or seq % 4 else None,
                "deduplication_id": f"d{seq}" if in_order else None, "is_head": int(is_head),
                "sent_at": chance.randint(0, 6), "visible_at": chance.choice([1, 1, 2, 3, 5]),
                "expires_at": chance.randint(0, 20), "receipt": chance.choice(["mine", "old"]) if received else "",
                "receive_count": chance.randint(1, 4) if received else 0,
                "first_received_at": chance.randint(0, 6) if received else None,
                "received_at": chance.randint(0, 6) if received else None, "turn": chance.randint(0, 2),
            }
        )  # fmt: skip
    return rows


ON_MESSAGES = {
    "queue": "q", "now": 3, "visible_at": 5, "receipt": "mine", "receive_count_max": 2, "dead_letter_queue": "r",
    "retention_ms": 9, "source_queue_arn": "arn", "seq": 4, "hidden_until_max": 4, "delay_ms": 2,
    "groups": '["g","x"]', "seqs": "[1,2,5,9]", "was_visible_at": 5, "group_id": "g", "turn": 1,
}  # fmt: skip
ONE_ROW = {
    "message_id": "new", "body": "b", "body_md5": "", "attributes": None, "system_attributes": None, "sender_id": "",
    "deduplication_id": "d", "sent_at": 3, "expires_at": 30, "receive_count": 2, "first_received_at": None,
    "source_queue_arn": None, "cause": "c", "remembered_by": "q", "scope": "s",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "claim_visible", "claim_of_other_groups", "dead_letter", "give_back", "held", "release", "restore_receipt",
        "delete", "retain", "purge", "bring_near", "counts", "next_visible", "count_visible", "count_in_flight",
        "visible", "exists", "delay",
    ],
)  # fmt: skip
@given(seed=seeds, limit=st.integers(1, 6), groups_max=st.integers(1, 5))
@EXAMPLES
def test_messages_of_standard_queues_are_the_same_in_both(
    both: Both, name: str, seed: int, limit: int, groups_max: int
) -> None:
    rows = message_rows(Random(seed), in_order=False)
    with both.undone():
        both.insert("messages", rows)

        params = {**ON_MESSAGES, "limit": limit, "groups_max": groups_max}
        assert_same(both, "messages", name, params, changes="messages")


@pytest.mark.parametrize("name", ["expire", "in_flight_by_group"])
@given(seed=seeds)
@EXAMPLES
def test_statements_that_choose_freely_among_equals_when_nothing_is_left_to_choose(
    both: Both, name: str, seed: int
) -> None:
    rows = message_rows(Random(seed), in_order=False)
    with both.undone():
        both.insert("messages", rows)

        assert_same(both, "messages", name, {**ON_MESSAGES, "limit": 99}, changes="messages")


@pytest.mark.parametrize(
    "name",
    [
        "claim_in_order", "delete_in_order", "promote", "promote_to_the_back", "expire_in_order", "next_head",
        "visible_in_order", "count_held", "hold_again", "oldest_sent_at", "put_in_order",
    ],
)  # fmt: skip
@given(seed=seeds, limit=st.integers(1, 6), taken=st.integers(0, 3), gone=st.integers(1, 14))
@EXAMPLES
def test_messages_of_fifo_queues_are_the_same_in_both(
    both: Both, name: str, seed: int, limit: int, taken: int, gone: int
) -> None:
    rows = [
        row for row in message_rows(Random(seed), in_order=True) if row["seq"] != gone
    ]  # A deleted head leaves its group without one until `promote`.
    params = {**(ONE_ROW if name == "put_in_order" else {}), **ON_MESSAGES, "limit": limit, "walk": limit + taken}
    with both.undone():
        both.insert("messages", rows)
        both.restart("messages", "seq", 100)

        assert_same(both, "messages", name, params, changes="messages")


@given(expires_at=moments)
@EXAMPLES
def test_duplicate_in_order_is_not_stored(both: Both, expires_at: int) -> None:
    remembered = {"queue": "q", "scope": "s", "id": "d", "message_id": "m", "seq": 1, "expires_at": expires_at}
    with both.undone():
        both.insert("dedup_sends", [remembered])
        both.restart("messages", "seq", 100)

        assert_same(both, "messages", "put_in_order", {**ONE_ROW, **ON_MESSAGES}, changes="messages")


def delivery_rows(chance: Random) -> Rows:
    return [
        {
            "id": f"{chance.choice(TEXTS)}{n}", "scope": "s", "source": "x", "source_arn": "arn", "target_arn": "t",
            "document": "{}", "policy": "{}", "place": chance.choice(["inside", "outside", "outside", "lambda"]),
            "due_at": chance.randint(0, 6), "first_at": 0, "attempts": chance.randint(0, 6), "failures": 0,
            "fence": chance.randint(1, 2), "leases": chance.randint(0, 1), "function": chance.choice("fFg"),
        }
        for n in range(14)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["due", "claim_due", "claim_outside", "outside_by_function", "held", "end_leases", "bring_near", "next"]
)
@given(seed=seeds, place=st.sampled_from(["inside", "outside"]), limit=st.integers(1, 5))
@EXAMPLES
def test_deliveries_are_the_same_in_both(both: Both, name: str, seed: int, place: str, limit: int) -> None:
    rows = delivery_rows(Random(seed))
    params = {
        "place": place, "kind": place, "now": 3, "limit": limit, "lease_until": 9, "function": "f", "due_at_max": 4,
        "id": "a0", "fence": 1,
    }  # fmt: skip
    with both.undone():
        both.insert("deliveries", rows)

        assert_same(both, "deliveries", name, params, changes="deliveries")


@pytest.mark.parametrize("name", ["due", "next", "next_after", "hasten", "get"])
@given(timers=st.dictionaries(texts, moments), at=moments)
@EXAMPLES
def test_timers_are_the_same_in_both(both: Both, name: str, timers: dict[str, int], at: int) -> None:
    with both.undone():
        both.insert("timers", [{"kind": "k", "name": timer, "at": due} for timer, due in timers.items()])

        params: dict[str, object] = {"kind": "k", "now": 3, "limit": 2, "after": 2, "name": "a", "at": at}
        assert_same(both, "timers", name, params, changes="timers")


keys = st.binary(min_size=1, max_size=2)
ITEM = ("table_id", "slot", "hash_key", "range_key")
BY_POSITION: Mapping[str, tuple[str, ...]] = {
    "get": ITEM, "take": ITEM, "delete_entry": ITEM, "put": (*ITEM, "size_bytes", "expires_at", "item"),
    "ascending": (*ITEM[:3], "low", "high", "limit"), "descending": (*ITEM[:3], "low", "high", "limit"),
}  # fmt: skip
"""The parameters of the statements on items that have no names."""
item_keys = st.sets(st.tuples(st.sampled_from(["t", "T"]), st.integers(0, 3), keys), max_size=12)


@pytest.mark.parametrize(
    "name",
    [
        "get",
        "put",
        "take",
        "delete_entry",
        "ascending",
        "descending",
        "scan",
        "totals",
        "drop",
        "set_expiry",
        "forget_expiries",
    ],
)
@given(found=item_keys, slot=st.integers(0, 3), low=keys, high=keys, limit=st.integers(1, 5))
@EXAMPLES
def test_items_are_the_same_in_both(
    both: Both, name: str, found: set[tuple[str, int, bytes]], slot: int, low: bytes, high: bytes, limit: int
) -> None:  # fmt: skip
    rows: Rows = [
        {
            "table_id": table, "slot": place, "hash_key": bytes([9 - place]), "range_key": sort,
            "size_bytes": len(sort) * LARGE, "expires_at": len(sort), "item": sort,
        }
        for table, place, sort in sorted(found)
    ]  # fmt: skip
    params = {
        "table_id": "t", "slot": slot, "hash_key": bytes([9 - slot]), "range_key": low, "low": low, "high": high,
        "slot_end": 3, "limit": limit, "size_bytes": 3, "expires_at": None, "item": b"new",
    }  # fmt: skip
    with both.undone():
        both.insert("items", rows)

        given = tuple(params[one] for one in BY_POSITION[name]) if name in BY_POSITION else params
        assert_same(both, "items", name, given, changes="items")


@st.composite
def run_rows(draw: st.DrawFn) -> dict[str, Rows]:
    """Runs with all that belongs to them. Many have the same instant, as in virtual time."""
    runs: Rows = []
    attempts: Rows = []
    notes: Rows = []
    links: Rows = []
    states = st.sampled_from(["delivered", "retrying", "missed"])
    for run in range(1, draw(st.integers(0, 7)) + 1):
        runs.append(
            {
                "run": run, "delivery_id": f"id{run}", "scope": draw(st.sampled_from(["s", "S"])), "kind": "k",
                "source_arn": draw(st.sampled_from(["arn", "Arn"])), "target_arn": draw(st.sampled_from(["t", "u"])),
                "execution_id": draw(st.sampled_from(["e", "E"])), "cause": draw(texts), "state": draw(states),
                "first_at": draw(moments), "ended_at": draw(st.none() | moments), "left_out": draw(st.none() | moments),
                "left_out_until": None,
            }
        )  # fmt: skip
        attempts += [
            {
                "run": run, "attempt": n, "ended_at": draw(moments), "state": draw(states), "code": "c", "message": "",
                "next_at": draw(st.none() | moments), "letter_arn": draw(st.none() | texts), "led_to": f"led{run}",
                "why": None, "log_stream": None,
            }
            for n in range(draw(st.integers(0, 2)))
        ]  # fmt: skip
        notes += [
            {
                "run": run,
                "at": draw(moments),
                "kind": "letter",
                "arn": "",
                "led_to": "",
                "code": "",
                "message": draw(texts),
            }
            for _ in range(draw(st.integers(0, 1)))
        ]
        links += [
            {
                "run": run, "execution_id": draw(st.sampled_from(["e", "E"])), "message_id": f"m{run}",
                "receive_count": 1, "is_done": draw(st.integers(0, 1)),
            }
            for _ in range(draw(st.integers(0, 2)))
        ]  # fmt: skip
    move = {"kind": "k", "from_arn": "a", "to_arn": "b", "message_id": "m", "receive_count": 1}
    moves: Rows = [
        {**move, "at": draw(moments), "execution_id": draw(st.sampled_from(["e", "E"])), "moved_as": f"v{n}"}
        for n in range(draw(st.integers(0, 2)))
    ]
    return {"runs": runs, "attempts": attempts, "notes": notes, "links": links, "moves": moves}


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("runs", "page_of_source"), ("runs", "page_of_state"), ("runs", "page_of_scope"), ("runs", "page_of_execution"),
        ("runs", "timeline"), ("runs", "execution_of"), ("runs", "oldest_move"), ("attempts", "of_delivery"),
        ("attempts", "of_source"), ("attempts", "unattempted"), ("attempts", "notes_of"), ("attempts", "run"),
        ("attempts", "oldest"),
    ],
)  # fmt: skip
@given(
    rows=run_rows(), state=st.sampled_from(["", "retrying", "missed"]), scope=st.sampled_from(["", "s"]),
    id=st.sampled_from(["id1", "e", "m2", "v0", "led3"]), before=st.tuples(moments, moments), limit=st.integers(1, 4),
)  # fmt: skip
@EXAMPLES
def test_history_is_the_same_in_both(
    both: Both, table: str, name: str, rows: dict[str, Rows], state: str, scope: str, id: str, before: tuple[int, int],
    limit: int,
) -> None:  # fmt: skip
    params = {
        "source_arn": "arn", "scope": scope, "state": state, "target_arn": "", "execution_id": "e", "since": 1,
        "before_at": before[0], "before_run": before[1], "limit": limit, "id": id, "delivery_id": "id1",
    }  # fmt: skip
    with both.undone():
        for stored, found in rows.items():
            both.insert(stored, found)

        assert_same(both, table, name, params, changes="runs")


@pytest.mark.parametrize("name", ["put", "add", "samples", "between", "grouped", "by_period_average", "first", "units"])
@given(dimensions=st.text(), old=st.floats(-10, 10), new=st.floats(-10, 10), unit=st.sampled_from(["Count", "count"]))
@EXAMPLES
def test_metrics_are_the_same_in_both(
    both: Both, name: str, dimensions: str, old: float, new: float, unit: str
) -> None:
    series = {"scope": "s", "namespace": "n", "name": "m", "dimensions": dump_json({dimensions: dimensions})}
    row = {**series, "unit": "Count", "minute": 1, "sum": old, "count": 1.0, "min": old, "max": old, "samples": None}
    params = {
        **row,
        "unit": unit,
        "sum": new,
        "min": new,
        "max": new,
        "samples": "[]",
        "start": 0,
        "end": 5,
        "period": 2,
    }
    with both.undone():
        both.insert("metrics", [row])

        assert_same(both, "metrics", name, params, changes="metrics")


@pytest.mark.parametrize(
    "name", ["stream_after", "stream_until", "group_after", "group_until", "first_at", "delete_group", "expire"]
)
@given(events=st.lists(st.tuples(st.sampled_from(["s", "S"]), moments), max_size=8), at=moments, seq=moments)
@EXAMPLES
def test_log_events_are_the_same_in_both(
    both: Both, name: str, events: list[tuple[str, int]], at: int, seq: int
) -> None:
    rows: Rows = [
        {"seq": n, "log_group": "g", "stream": stream, "at": at, "ingested_at": 0, "message": f"{n}"}
        for n, (stream, at) in enumerate(events)
    ]
    params = {"log_group": "g", "stream": "s", "at": at, "seq": seq, "end": 5, "start": 1, "before": 3, "limit": 3}
    with both.undone():
        both.insert("log_events", rows)

        assert_same(both, "log_events", name, params, changes="log_events")


SWEPT: dict[str, tuple[str, dict[str, object]]] = {
    "dedup.sweep_sends": ("dedup_sends", {"queue": "q", "scope": "", "message_id": "", "seq": 1}),
    "dedup.sweep_receives": ("dedup_receives", {"queue": "q", "receipt": "", "seqs": "", "visible_at": 1}),
    "tokens.sweep": ("tokens", {"kind": "k", "scope": "", "digest": "", "answer": ""}),
}
"""Statements that delete what has expired, with a row of their table without key and expiry."""


@pytest.mark.parametrize("statement", SWEPT)
@given(expiries=st.lists(st.integers(0, 20), unique=True, max_size=8), limit=st.integers(1, 5))
@EXAMPLES
def test_sweeps_delete_the_oldest(both: Both, statement: str, expiries: list[int], limit: int) -> None:
    table, row = SWEPT[statement]
    key = "token" if table == "tokens" else "id"
    file, _, name = statement.partition(".")
    with both.undone():
        both.insert(table, [{**row, key: f"{at}", "expires_at": at} for at in expiries])

        assert_same(both, file, name, {"now": 9, "limit": limit}, changes=table)
