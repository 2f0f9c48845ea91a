"""What docs/guide/handlers.md shows can be run, and what it names is there."""

from __future__ import annotations

import inspect
import json
import os
import re
import sqlite3
import textwrap
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, TypedDict

import pytest

from redrive import handler
from redrive.handler import DynamoDBLedger, Fresh, MemoryLedger, SqliteLedger, current_execution, idempotent, path
from redrive.testing.world import World
from tests.unit.handler.conftest import TABLE

GUIDE = (Path(__file__).parents[3] / "docs" / "guide" / "handlers.md").read_text(encoding="utf-8")
PUBLIC = {name: getattr(handler, name) for name in handler.__all__}
BLOCK = re.compile(r"^```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)
_, *SECTIONS = re.split(r"^#+ (.*)$", GUIDE, flags=re.MULTILINE)  # Headings, and what stands below each.
BLOCKS = {
    heading: block for heading, text in zip(SECTIONS[::2], SECTIONS[1::2], strict=True) for block in BLOCK.findall(text)
}


def run(heading: str, **names: object) -> dict[str, Any]:
    """Run the block under a heading, with all public names imported, and these beside them."""
    scope: dict[str, Any] = {**PUBLIC, "os": os, "timedelta": timedelta, **names}
    exec(compile(BLOCKS[heading], heading, "exec"), scope)
    return scope


def executed(ledger: Any, work: Callable[[], object]) -> object:
    """What the work answers as an execution."""
    return idempotent(key=path("id"), ledger=ledger)(lambda event: work())({"id": "e"})


def test_every_block_of_the_guide_is_run_here() -> None:
    own = Path(__file__).read_text(encoding="utf-8")

    assert len(BLOCKS) == len(BLOCK.findall(GUIDE))
    assert [heading for heading in BLOCKS if f'("{heading}"' not in own and f'["{heading}"]' not in own] == []


def test_block_about_executions_makes_a_handler_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXECUTIONS_TABLE", TABLE)

    made = run("Once for each execution")["handler"]

    assert made({"Records": []}, None) == {"batchItemFailures": []}


def test_block_about_the_table_makes_one_that_the_ledger_works_on() -> None:
    world = World()
    world.deploy("Resources:\n" + textwrap.indent(BLOCKS["The table"], "  "))
    (table,) = world.client("dynamodb").list_tables()["TableNames"]
    ledger = DynamoDBLedger(table, client=world.client("dynamodb"))

    answer = ledger.begin("e")

    assert isinstance(answer, Fresh)
    assert ledger.finish(answer.token, 1)
    ttl = world.client("dynamodb").describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "ttl")
    world.close()


def test_block_about_effects_records_one() -> None:
    ledger = MemoryLedger()

    executed(ledger, lambda: run("Effects", find_charge=None, order="o-1", cents=5)["charge"].name)

    record = ledger.read("e")
    assert record is not None
    assert [effect.name for effect in record.effects] == ["charge"]


def test_block_about_rows_commits_them_with_the_success(tmp_path: Path) -> None:
    file = str(tmp_path / "books.db")
    with closing(sqlite3.connect(file)) as connection, closing(SqliteLedger(file)) as ledger:
        connection.execute("CREATE TABLE bookings (execution TEXT, cents INTEGER)")
        block = BLOCKS["Rows in the ledger's own database"]

        def work() -> object:
            scope = {"ledger": ledger, "execution": current_execution(), "cents": 7, "result": "booked"}
            exec(compile(block, "rows", "exec"), scope)
            return scope["result"]

        assert executed(ledger, work) == "booked"

        assert connection.execute("SELECT * FROM bookings").fetchall() == [("e", 7)]


def test_block_about_retries_makes_a_function_that_can_be_called() -> None:
    assert run("Retries, breaker, rate")["call"]("o-1") is None


def test_block_about_events_takes_them_direct_and_from_a_queue() -> None:
    charged: list[str] = []
    made = run("Events and metrics", TypedDict=TypedDict, charge=charged.append)
    event = {"id": "e", "source": "shop", "detail-type": "Order", "detail": {"id": "o-1"}}

    made["direct"](event, None)
    answer = made["from_queue"]({"Records": [{"messageId": "m", "body": json.dumps(event)}]}, None)

    assert charged == ["o-1", "o-1"]
    assert answer == {"batchItemFailures": []}


def test_block_about_testing_moves_a_world(world: World) -> None:
    before = world.now

    run("Testing", world=world, handler=lambda event, context: None)

    assert world.now == before + 3 * 3_600_000


def test_every_function_and_argument_that_the_guide_names_is_there() -> None:
    codes = re.findall(r"`([^`\n]+)`", BLOCK.sub("", GUIDE))
    members = {member for value in PUBLIC.values() for member in dir(value)}
    parameters = {one for value in PUBLIC.values() if callable(value) for one in parameters_of(value)}

    called = {word for code in codes for word in re.findall(r"([A-Za-z_]\w*)\(", code)}
    given = {word for code in codes for word in re.findall(r"\b([a-z_]+)=", code)}

    assert called - set(PUBLIC) - members == {
        "on_failure",
        "timedelta",
    }  # An argument that is called, and Python's own.
    assert given - parameters == set()
    assert len(called) > 20
    assert len(given) > 10


def parameters_of(value: Any) -> set[str]:
    functions = [one for _, one in inspect.getmembers(value, inspect.isfunction)] if inspect.isclass(value) else [value]
    return {parameter for function in functions for parameter in inspect.signature(function).parameters}
