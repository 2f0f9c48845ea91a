"""Statements of asyncpg are calls, as those of other drivers are; it need not be installed.

Where it is installed, the same tests run with its own exceptions.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict

HEAD = """import asyncio
import json
import asyncpg


def handler(event, context):
    return asyncio.run(handle(json.loads(event["Records"][0]["body"])))


async def handle(order):
"""
ORDER = '{"order": "o-1", "amount": 5}'


def proved(folder: Path, body: str) -> Verdict:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    code = folder / "app"  # Files of SQL in the folder above are read, too: those of other tests are not.
    code.mkdir()
    (code / "app_asyncpg.py").write_text(HEAD + lines, "utf-8")
    return prove(subject_of("app_asyncpg:handler", code), Options(faults=1, bodies=(ORDER,)))


@pytest.mark.parametrize(
    ("statement", "is_safe"),
    [
        ("INSERT INTO payments (order_id, amount) VALUES ($1, $2)", False),
        ("INSERT INTO orders (id, amount) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", True),
    ],
)
def test_row_is_repeated_unless_it_has_a_key(tmp_path: Path, statement: str, *, is_safe: bool) -> None:
    verdict = proved(
        tmp_path,
        f"connection = await asyncpg.connect('postgresql://app@db/shop')\n"
        f"status = await connection.execute({statement!r}, order['order'], order['amount'])\n"
        "assert status.startswith('INSERT 0'), status\nawait connection.close()",
    )

    assert (verdict.counterexample is None) == is_safe


def test_transaction_of_a_pool_is_done_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE done (id TEXT PRIMARY KEY);", "utf-8")

    verdict = proved(
        tmp_path,
        """
async with asyncpg.create_pool(host="db", database="shop") as pool:
    try:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("INSERT INTO done (id) VALUES ($1)", order["order"])
            await connection.executemany("INSERT INTO lines (text) VALUES ($1)", [("a",), ("b",)])
    except asyncpg.UniqueViolationError as error:
        assert error.sqlstate == "23505"
    row = await pool.fetchrow("SELECT id, 'a%$1' AS text FROM done WHERE id = $1", order["order"])
    assert (row["id"], row["text"]) == (order["order"], "a%$1"), row
    assert await pool.fetchval("SELECT count(*) FROM lines") == 2
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in done": 1, "row in lines": 2}


def test_record_is_read_by_name_and_place_and_its_names_are_what_it_contains(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
connection = await asyncpg.connect(dsn="postgresql://app@db/shop")
row = await connection.fetchrow("INSERT INTO orders (id, amount) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE "
    "SET amount = EXCLUDED.amount RETURNING id, amount", order["order"], order["amount"])
assert isinstance(row, asyncpg.Record)
assert (row["id"], row[1], row.get("none", 7), len(row)) == ("o-1", 5, 7, 2), row
assert "id" in row and "o-1" not in row and "ID" not in row
assert dict(row) == {"id": "o-1", "amount": 5} and list(row.keys()) == ["id", "amount"] and tuple(row) == ("o-1", 5)
assert not hasattr(row, "id")
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in orders": 1}


def test_values_are_those_of_asyncpg(tmp_path: Path) -> None:
    """UUIDs are UUIDs, arrays lists, JSON a text unless the connection has a codec, which a pool may give it."""
    verdict = proved(
        tmp_path,
        """
import decimal, uuid
async def prepare(connection):
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
key = uuid.uuid5(uuid.NAMESPACE_URL, order["order"])
plain = await asyncpg.connect(dsn="postgresql://app@db/shop")
await plain.execute("CREATE TABLE IF NOT EXISTS kept (id uuid PRIMARY KEY, price numeric, tags text[], data jsonb, "
    "at timestamptz DEFAULT now()); CREATE INDEX kept_at ON kept (at)")
values = (key, decimal.Decimal("1.50"), ["a", "b"])
try:
    await plain.execute("INSERT INTO kept (id, price, tags, data) VALUES ($1, $2, $3, $4)", *values, order)
except asyncpg.DataError as error:
    assert "$4" in str(error)
text = json.dumps(order)
await plain.execute("INSERT INTO kept (id, price, tags, data) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING",
    *values, text)
row = await plain.fetchrow("SELECT * FROM kept WHERE id = $1", key)
assert (row["id"], row["price"], row["tags"], json.loads(row["data"])) == (*values, order), row
assert row["at"].tzinfo is not None
async with asyncpg.create_pool("postgresql://app@db/shop", init=prepare) as pool:
    assert await pool.fetchval("SELECT data FROM kept WHERE id = $1", key) == order
    await pool.execute("UPDATE kept SET data = $1 WHERE id = $2", {**order, "done": True}, key)
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in kept": 1}


def test_prepared_statements_savepoints_cursors_and_transactions_by_hand(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
connection = await asyncpg.connect(host="db", database="shop")
await connection.execute("CREATE TABLE IF NOT EXISTS done (id text PRIMARY KEY)")
whole = connection.transaction()
await whole.start()
insert = await connection.prepare("INSERT INTO done (id) VALUES ($1)")
try:
    async with connection.transaction():
        await insert.fetch(order["order"])
except asyncpg.exceptions.UniqueViolationError as error:
    assert error.sqlstate == "23505" and error.table_name == "done" and error.detail is None
    assert "duplicate key" in str(error)
    await whole.rollback()
    return
assert await connection.copy_records_to_table("lines", records=[("o", 1), ("o", 2)], columns=["id", "n"]) == "COPY 2"
assert [row["n"] async for row in connection.cursor("SELECT n FROM lines ORDER BY n")] == [1, 2]
cursor = await connection.cursor("SELECT n FROM lines ORDER BY n")
assert (await cursor.fetchrow())[0] == 1 and [row[0] for row in await cursor.fetch(5)] == [2]
await whole.commit()
try:
    connection.cursor("SELECT 1").__aiter__()
except asyncpg.exceptions.NoActiveSQLTransactionError:
    await connection.close()
try:
    await connection.fetch("SELECT 1")
except asyncpg.InterfaceError:
    pass
else:
    raise AssertionError("the connection is closed")
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in done": 1, "row in lines": 2}


def test_change_within_a_with_is_an_effect_of_its_transaction(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
connection = await asyncpg.connect(host="db", database="shop")
async with connection.transaction():
    status = await connection.execute(
        "WITH new AS (SELECT $1::text AS id) INSERT INTO totals (id, n) SELECT id, 1 FROM new "
        "ON CONFLICT (id) DO UPDATE SET n = totals.n + 1", order["order"])
assert status == "INSERT 0 1", status
""",
    )

    assert verdict.effects == {"row in totals": 1}
    assert verdict.counterexample is not None


@pytest.mark.parametrize(
    "source",
    [
        "SELECT * FROM unnest($1::text[], $2::int[])",
        "SELECT u.sku, u.n FROM unnest($1::text[], $2::int[]) AS u(sku, n)",
        "SELECT unnest($1::text[]), unnest($2::int[])",
    ],
)
def test_arrays_become_rows_side_by_side(tmp_path: Path, source: str) -> None:
    verdict = proved(
        tmp_path,
        f"""
connection = await asyncpg.connect(host="db", database="shop")
await connection.execute("INSERT INTO items (sku, n) {source} ON CONFLICT (sku) DO UPDATE SET n = EXCLUDED.n",
    ["a", "b"], [1, 2])
assert [tuple(row) for row in await connection.fetch("SELECT sku, n FROM items ORDER BY sku")] == [("a", 1), ("b", 2)]
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in items": 2}
