"""Upkeep: whatever ages is forgotten in time, in pieces, whichever services a store has ever used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.core.knobs import PRODUCTION
from redrive.delivery.upkeep.metrics import KEPT_MS as METRICS_KEPT_MS
from redrive.delivery.upkeep.worker import RUNS_KEPT_MS, RunSweep, UpkeepWorker
from redrive.delivery.worker import ONE
from redrive.engine.ageing import AGEING
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord, RunState
from redrive.store.tables.runs import Link, Move
from redrive.testing.world import START, World
from tests.unit.store.conftest import write_down


@pytest.fixture
def world() -> World:
    return World()


ROLE = "arn:aws:iam::000000000000:role/r"


OPERATING = Path(__file__).parents[3] / "docs" / "operating" / "store.md"


def rows(world: World, table: str) -> int:
    return len(world.store.rows([table])[0])


def attempt(id: str, ended_at: int) -> AttemptRecord:
    return AttemptRecord(id, "arn", 1, ended_at, RunState.DELIVERED)


def test_store_without_a_queue_forgets_its_history_too(world: World) -> None:
    """An hourly schedule for 60 days, to a queue that nobody ever made: what is on record is of the last 14 days."""
    trust = {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole",
        },
    }  # fmt: skip
    world.call("iam", "CreateRole", RoleName="r", AssumeRolePolicyDocument=json.dumps(trust))
    world.call(
        "scheduler", "CreateSchedule", Name="hourly", ScheduleExpression="rate(1 hour)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": "arn:aws:sqs:us-east-1:000000000000:never", "RoleArn": ROLE,
            "RetryPolicy": {"MaximumRetryAttempts": 0},
        },
    )  # fmt: skip

    world.advance(days=60)

    kept = RUNS_KEPT_MS // HOUR_MS
    assert kept <= rows(world, "attempts") <= kept + 2
    assert rows(world, "runs") == rows(world, "attempts")


@pytest.mark.parametrize(("age_ms", "left"), [(14 * DAY_MS, 1), (14 * DAY_MS + 1, 0)])
def test_attempts_are_kept_for_fourteen_days(world: World, age_ms: int, left: int) -> None:
    world.store.run(lambda tx: write_down(tx, attempt("d", START + HOUR_MS - age_ms)))

    world.advance(hours=1)

    assert len(world.store.run(lambda tx: tx.attempts.of_delivery("d"))) == left


def test_sweep_takes_pieces_until_all_that_is_old_has_gone(world: World) -> None:
    def record(tx: Transaction) -> None:
        for number in range(PRODUCTION.rows_swept_per_claim + 5):
            write_down(tx, attempt(f"d{number}", START - 20 * DAY_MS))

    world.store.run(record)
    sweep = RunSweep()

    world.store.run(lambda tx: sweep.sweep(tx, limit=PRODUCTION.rows_swept_per_claim))

    assert rows(world, "runs") == 5
    assert world.store.run(lambda tx: (sweep.next_at(tx) or 0) <= tx.now)
    world.settle()
    assert rows(world, "runs") == 0
    assert world.store.run(sweep.next_at) is None


def test_moves_and_links_go_with_what_they_belong_to(world: World) -> None:
    old = START - 15 * DAY_MS

    def record(tx: Transaction) -> None:
        write_down(tx, attempt("batch", old))
        run = tx.attempts.run("batch")
        assert run is not None
        tx.runs.link(run.run, [Link("x", "m", 1)])
        tx.runs.move([Move(old, "x", "redrive policy", "arn:a", "arn:b", "m", "m", 3)])

    world.store.run(record)

    world.settle()

    assert [rows(world, table) for table in ("runs", "attempts", "links", "moves")] == [0, 0, 0, 0]


def test_page_for_operators_shows_the_table_of_what_ages() -> None:
    section = OPERATING.read_text("utf-8").partition("\n## What ages\n")[2].partition("\n## ")[0]
    shown = [line for line in section.splitlines() if line.startswith("|")][2:]

    assert shown == [f"| {row.what} | {row.kept} |" for row in AGEING]


def test_data_points_are_forgotten_after_455_days_also_if_nothing_is_counted_any_more(world: World) -> None:
    datum = {"MetricName": "m", "Value": 1.0}
    world.call("cloudwatch", "PutMetricData", Namespace="mine", MetricData=[datum])

    world.advance(days=METRICS_KEPT_MS // DAY_MS)
    kept = rows(world, "metrics")
    world.advance(hours=2)

    assert (kept, rows(world, "metrics")) == (1, 0)


def test_store_in_which_nothing_is_over_costs_no_statements(world: World) -> None:
    """Messages, log events, a token, a metric and a run are there; a look between two sweeps asks none of them."""
    url = world.call("sqs", "CreateQueue", QueueName="q")["QueueUrl"]
    world.call("sqs", "SendMessage", QueueUrl=url, MessageBody="m")
    world.call("cloudwatch", "PutMetricData", Namespace="mine", MetricData=[{"MetricName": "m", "Value": 1.0}])
    world.store.run(lambda tx: write_down(tx, attempt("d", tx.now)))
    world.advance(hours=8)
    worker = UpkeepWorker(AGEING)
    world.store.run(lambda tx: worker.next_due(tx, free=ONE))
    statements: list[str] = []

    def look(tx: Transaction) -> None:
        world.store.connection.set_trace_callback(statements.append)
        worker.claim(tx, free=ONE)
        worker.next_due(tx, free=ONE)
        world.store.connection.set_trace_callback(None)

    world.store.run(look)

    assert statements == []


def test_sweeps_are_as_rare_as_what_they_forget(world: World) -> None:
    """One message that is kept for four days: the hour after it was sent, and the hour after it is over."""
    url = world.call("sqs", "CreateQueue", QueueName="q")["QueueUrl"]
    world.call("sqs", "SendMessage", QueueUrl=url, MessageBody="m")
    statements: list[str] = []
    world.store.connection.set_trace_callback(statements.append)

    world.advance(days=30)

    assert len([sql for sql in statements if sql.startswith("SELECT min(expires_at) FROM messages")]) == 2
