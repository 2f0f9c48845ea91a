"""A connection to a database that an environment keeps for its next run."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.prove.play.events import Ended
from redrive.prove.play.faults import Fault, Leg, Strike
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short
from redrive.prove.process.clients import remembered_clients
from redrive.prove.process.subject import subject_of
from redrive.prove.stage.tables import Improvised
from redrive.prove.stage.trigger import usual_trigger

ORDER = ('{"order": "o-1"}',)
BY_PSYCOPG2 = """
import json, boto3, psycopg2

connection = psycopg2.connect("postgresql://app@db/shop")
runs = []

def handler(event, context):
    state = "in a transaction" if connection.status == 2 else "ready"
    runs.append(state)
    cursor = connection.cursor()
    cursor.execute("SELECT count(*) FROM payments")
    print("closed" if connection.closed else state, *cursor.fetchone())
    cursor.execute("INSERT INTO payments (id) VALUES (%s)", ("o-1",))
    boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": "o-1"}})
    connection.commit()
"""
BY_ASYNCPG = """
import asyncio, json, asyncpg, boto3

connection, runs = None, []

async def handle():
    global connection
    connection = connection or await asyncpg.connect("postgresql://app@db/shop")
    state = "in a transaction" if connection.is_in_transaction() else "ready"
    runs.append(state)
    count = await connection.fetchval("SELECT count(*) FROM payments")
    print("closed" if connection.is_closed() else state, count)
    await connection.transaction().start()
    await connection.execute("INSERT INTO payments (id) VALUES ($1)", "o-1")
    boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": "o-1"}})

loop = asyncio.new_event_loop()

def handler(event, context):
    loop.run_until_complete(handle())
"""


@pytest.mark.parametrize("code", [BY_PSYCOPG2, BY_ASYNCPG], ids=["psycopg2", "asyncpg"])
def test_connection_is_open_in_the_next_run_and_has_no_transaction(tmp_path: Path, code: str) -> None:
    """The first run fails before it commits: what it has written is rolled back."""
    (tmp_path / "app_kept.py").write_text(code, "utf-8")
    subject = subject_of("app_kept:handler", tmp_path)
    performance = Performance(subject, seed=1, improvised=Improvised(ORDER), is_warm=True)
    performance.begin(usual_trigger(performance.stage, ORDER))

    with remembered_clients(), performance.entered(Short(performance.stage)):
        first = performance.play(Leg(strikes=(Strike(2, Fault.THROTTLED),)))
        second = performance.play(Leg(reuse=performance.reusable[0]))
    performance.close()

    ends = [one for one in (*first, *second) if isinstance(one, Ended)]
    assert [(one.ending.name, one.said) for one in ends] == [("FAILED", "ready 0"), ("RETURNED", "ready 0")]
