"""Every statement on a real PostgreSQL: it prepares, answers with plain types, and by an index if it is `-- hot`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha512
from typing import Any

import psycopg
import pytest
from psycopg import sql

from redrive.core.documents import dump_json
from redrive.store.dialect import numbered
from redrive.store.queries import load_queries, postgresql_text
from redrive.store.tables.items import ItemKey
from tests.support.postgresql import database
from tests.unit.store.dialects import Row, as_text, postgresql, statements_of_postgresql
from tests.unit.store.test_hot_statements import HOT

PLAIN = {"int8", "int4", "text", "bytea", "float8"}
BINDABLE = {"int8", "text", "bytea", "float8", "bool"}
ROWS = 5000
GROUPS = 50
READ_MAX = 4 * ROWS // GROUPS
"""The rows that a hot statement may read: a few times those of one queue, table or stream, but not all."""

FILL = {
    "messages": """INSERT INTO messages (queue, message_id, body, body_md5, sender_id, sent_at, visible_at, expires_at,
        group_id, is_head, receipt, deduplication_id)
        SELECT 'q' || n % 50, 'm' || n, 'b', '', '', n, n, n + 100000, CASE WHEN n % 3 = 0 THEN 'g' || n % 7 END,
        CASE WHEN n % 21 = 0 THEN 1 ELSE 0 END, CASE WHEN n % 4 = 1 THEN 'r' || n ELSE '' END,
        CASE WHEN n % 8 = 1 THEN 'd' END FROM numbers""",
    "deliveries": """INSERT INTO deliveries (id, scope, source, source_arn, target_arn, document, policy, place, due_at,
        first_at, function) SELECT 'id' || n, '', 'lambda', 'arn' || n % 50, '', '{}', '{}',
        CASE WHEN n % 2 = 0 THEN 'outside' ELSE 'p' || n % 50 END, n, n, 'f' || n % 50 FROM numbers""",
    "timers": "INSERT INTO timers SELECT 'k' || n % 50, 'n' || n, n FROM numbers",
    "dedup_sends": "INSERT INTO dedup_sends SELECT 'q' || n % 50, '', 'd' || n, '', n, n FROM numbers",
    "dedup_receives": "INSERT INTO dedup_receives SELECT 'q' || n % 50, 'd' || n, '', '', n, n FROM numbers",
    "items": """INSERT INTO items SELECT 't' || n % 50, n % 7, decode(lpad(to_hex(n % 7), 8, '0'), 'hex'),
        decode(lpad(to_hex(n), 8, '0'), 'hex'), 1, n, '' FROM numbers""",
    "log_events": """INSERT INTO log_events (log_group, stream, at, ingested_at, message)
        SELECT 'g' || n % 50, 's' || n % 100, n, n, n::text FROM numbers""",
    "metrics": """INSERT INTO metrics SELECT '', 'n', 'm' || n % 50, '{}', 'Count', n, 1, 1, 1, 1
        FROM numbers""",
    "alarm_history": """INSERT INTO alarm_history
        SELECT 's' || n % 50, 'a' || n % 50, n, 'i' || n, '', '', '', '' FROM numbers""",
    "runs": """INSERT INTO runs (delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at)
        SELECT 'id' || n, 's', 'k', 'arn' || n % 50, '', 'e' || n, '', CASE WHEN n % 9 = 0 THEN 'retrying'
        ELSE 'delivered' END, n FROM numbers""",
    "attempts": """INSERT INTO attempts (run, attempt, ended_at, state, code, message)
        SELECT n, 1, n, 'delivered', '', '' FROM numbers""",
    "moves": """INSERT INTO moves (at, execution_id, kind, from_arn, to_arn, message_id, moved_as, receive_count)
        SELECT n, 'e' || n, '', '', '', '', '', 1 FROM numbers""",
    "tokens": "INSERT INTO tokens SELECT 'k', '', 't' || n, '', '', n FROM numbers",
    "archived_events": """INSERT INTO archived_events (archive, minute, at, archived_at, size, event)
        SELECT 'a' || n % 50, n / 50, n, n, 1, '{}' FROM numbers""",
    "stream_records": """INSERT INTO stream_records SELECT 's' || n % 50, n / 50, n, '', '' FROM numbers""",
    "archive_minutes": "INSERT INTO archive_minutes SELECT 'a' || n % 50, n / 50, 1, 1 FROM numbers",
}  # fmt: skip
GIVEN: dict[str, object] = {
    "queue": "q7", "group_id": "g3", "place": "p7", "kind": "k7", "table_id": "t7", "hash_key": b"\0\0\0\1",
    "slot": 1, "slot_end": 2, "range_key": b"\0\0\0\1", "low": b"\0", "high": b"\xff",
    "log_group": "g7", "stream": "s7", "seqs": "[7, 57]", "groups": '["g1"]', "groups_max": 10,
    "name": "m7", "namespace": "n", "dimensions": "{}", "unit": "Count", "scope": "", "limit": 10, "walk": 10,
    "now": 5000, "before": 100, "start": 0, "end": 5000, "at": 100, "seq": 100, "function": "f8", "minute": 7,
    "archive": "a7", "shard": "s7", "minute_last": 100, "seq_last": 5000,
    "period": 60, "alarm": "a7",
}  # fmt: skip
"""Parameters of hot statements. Parameters with other names: 1, or a text or bytes of it."""


@pytest.fixture(scope="module")
def server(postgresql_url: str) -> Iterator[psycopg.Connection[Row]]:
    with database(postgresql_url) as url, postgresql(url) as connection:
        fill(connection)
        yield connection


@pytest.fixture(scope="module", params=["never analyzed", "analyzed when empty", "analyzed"])
def filled(postgresql_url: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Row]]:
    """Full tables, of which the planner knows nothing, or what was once true, or all."""
    with database(postgresql_url) as url, postgresql(url) as connection:
        if request.param == "analyzed when empty":
            connection.execute("VACUUM ANALYZE")
        fill(connection)
        if request.param == "analyzed":
            connection.execute("VACUUM ANALYZE")
        yield connection


def fill(connection: psycopg.Connection[Row]) -> None:
    connection.execute(f"CREATE VIEW numbers AS SELECT generate_series(1, {ROWS}) AS n".encode())
    for statement in FILL.values():
        connection.execute(statement.encode())


def described(server: psycopg.Connection[Row], statement: str) -> tuple[list[str], list[str]]:
    """The types of a statement's parameters, and of the columns that it returns."""
    text, _ = numbered(statement)
    prepared = server.pgconn.prepare(b"tried", text.encode())
    assert not prepared.error_message, prepared.error_message.decode()
    found = server.pgconn.describe_prepared(b"tried")
    server.execute("DEALLOCATE tried")
    return (
        [type_named(server, found.param_type(n)) for n in range(found.nparams)],
        [type_named(server, found.ftype(n)) for n in range(found.nfields)],
    )


def type_named(server: psycopg.Connection[Row], oid: int) -> str:
    known = server.adapters.types.get(oid)
    return str(oid) if known is None else known.name


@pytest.mark.parametrize(
    "statement", [pytest.param(text, id=f"{table}-{name}") for table, name, text in statements_of_postgresql()]
)
def test_statement_prepares_with_plain_types(server: psycopg.Connection[Row], statement: str) -> None:
    parameters, columns = described(server, statement)

    assert set(parameters) <= BINDABLE
    assert set(columns) <= PLAIN


@pytest.mark.parametrize(("table", "name"), HOT)
def test_hot_statement_reads_no_whole_table(filled: psycopg.Connection[Row], table: str, name: str) -> None:
    plan = planned(filled, table, name)

    assert [step for step in plan if step["Node Type"] == "Seq Scan"] == []
    assert [
        step for step in plan if "Index" in step["Node Type"] and "Index Cond" not in step and rows_read(step) > 1
    ] == []
    assert [
        step for step in plan if "= ANY (" in step.get("Index Cond", "") and not step["Index Name"].endswith("_pkey")
    ] == []
    assert sum(rows_read(step) for step in plan) < READ_MAX


def planned(server: psycopg.Connection[Row], table: str, name: str) -> list[dict[str, Any]]:
    """The steps of a statement's generic plan that read a table, with what they read when the statement ran."""
    statement = postgresql_text(load_queries(table)[name])
    parameters, _ = described(server, statement)
    text, places = numbered(statement)
    values = [given(place, kind) for place, kind in zip(places, parameters, strict=True)]
    with server.transaction(force_rollback=True):
        server.execute(f"PREPARE tried AS {text}".encode())
        call = sql.SQL("EXECUTE tried({})").format(sql.SQL(", ").join(map(sql.Literal, values)))
        if not values:
            call = sql.SQL("EXECUTE tried")  # type: ignore[assignment]
        explain = sql.SQL("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ") + call
        (answer,) = server.execute(explain).fetchall()
        server.execute("DEALLOCATE tried")
    document = json.loads(answer[0]) if isinstance(answer[0], str) else answer[0]
    return [step for step in steps(document[0]["Plan"]) if "Scan" in step["Node Type"] and "Relation Name" in step]


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from steps(inner)


def rows_read(step: dict[str, Any]) -> float:
    removed = step.get("Rows Removed by Filter", 0) + step.get("Rows Removed by Index Recheck", 0)
    return float((step["Actual Rows"] + removed) * step["Actual Loops"])


def given(place: str | int, kind: str) -> object:
    if place in GIVEN:
        return GIVEN[str(place)]
    return {"text": "1", "bytea": b"1"}.get(kind, 1)


def test_item_with_the_longest_key_is_stored(server: psycopg.Connection[Row]) -> None:
    noise = b"".join(sha512(bytes([n])).digest() for n in range(48))  # The server could compress a repeated digest.
    key = ItemKey(noise[:2048], noise[2048:])
    with server.transaction(force_rollback=True):
        store_item(server, key, b"old")
        store_item(server, key, b"new")

        found = run(server, "items", "get", place_of(key))

    assert found == [(b"new",)]


def test_scan_goes_on_among_hash_keys_of_one_slot(server: psycopg.Connection[Row]) -> None:
    keys = {ItemKey(hash_key, range_key) for hash_key in (b"a", b"b", b"c") for range_key in (b"", b"1", b"2")}
    found: list[ItemKey] = []
    with server.transaction(force_rollback=True):
        for key in keys:
            store_item(server, key, b"")

        after = ItemKey(b"", b"")
        for _ in keys:
            [(hash_key, range_key, *_)] = run(server, "items", "scan", {**located(after), "slot_end": 8, "limit": 1})
            after = ItemKey(bytes(hash_key), bytes(range_key))
            found.append(after)
        rest = run(server, "items", "scan", {**located(after), "slot_end": 8, "limit": 1})

    assert (sorted(found), rest) == (sorted(keys), [])


def test_metric_with_long_dimensions_is_stored_once(server: psycopg.Connection[Row]) -> None:
    """Thirty dimensions, with values that the server cannot compress."""
    dimensions = dump_json({f"name{n}": sha512(bytes([n])).hexdigest() for n in range(30)})
    row = {"scope": "", "namespace": "n", "name": "m", "dimensions": dimensions, "unit": "Count", "minute": 1}
    values = {"sum": 1.5, "count": 1, "min": 1.5, "max": 1.5, "samples": None}
    with server.transaction(force_rollback=True):
        run(server, "metrics", "put", {**row, **values})
        run(server, "metrics", "put", {**row, **values})
        run(server, "metrics", "add", {**row, **values, "min": 0.5})

        found = run(server, "metrics", "between", {**row, "start": 0, "end": 5})

    assert found == [(1, 3.0, 2.0, 0.5, 1.5, None)]


def store_item(server: psycopg.Connection[Row], key: ItemKey, item: bytes) -> None:
    run(server, "items", "put", (*place_of(key), 1, None, item))


def located(key: ItemKey) -> dict[str, object]:
    return {"table_id": "table", "slot": 7, "hash_key": key.hash_key, "range_key": key.range_key}


def place_of(key: ItemKey) -> tuple[object, ...]:
    return tuple(located(key).values())


def run(
    server: psycopg.Connection[Row], table: str, name: str, params: dict[str, object] | tuple[object, ...]
) -> list[Row]:
    text, places = numbered(postgresql_text(load_queries(table)[name]))
    given = params if isinstance(params, dict) else dict(enumerate(params))
    cursor = server.execute(text.encode(), [as_text(given[place]) for place in places])  # type: ignore[index]
    return cursor.fetchall() if cursor.description else []


def test_the_fill_is_large_enough(server: psycopg.Connection[Row]) -> None:
    """Otherwise no bound on what is read would say anything."""
    filled = {table for fill in FILL.values() for table in re.findall(r"INSERT INTO (\w+)", fill)}

    counts = [server.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() for table in filled]

    assert set(counts) == {(ROWS,)}
