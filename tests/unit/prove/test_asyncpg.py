"""Statements of asyncpg are calls, as those of other drivers are; it need not be installed."""

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
    (folder / "app_asyncpg.py").write_text(HEAD + lines, "utf-8")
    return prove(subject_of("app_asyncpg:handler", folder), Options(faults=1, bodies=(ORDER,)))


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
