"""A plan that says what a message move task does is done by one, which is watched, and cancelled if letters return."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from redrive.deadletters.causes import cause_of
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.journal import Journal, open_journal
from redrive.deadletters.letter import Letter
from redrive.deadletters.moving import Moving, decided, refused_by, why_not
from redrive.deadletters.plan import Action, By, Canary, Plan, Rule, Stop
from redrive.testing.world import World
from tests.unit.deadletters.killing import ACCOUNT, Careful, moved, received

ORDERS = f"arn:aws:sqs:{ACCOUNT}:orders"
DEAD = f"arn:aws:sqs:{ACCOUNT}:dead"
SOURCE = {"kind": "queue", "name": "orders", "arn": ORDERS}


def letter_of(body: str) -> Letter:
    return read_letter({"MessageId": "m-1", "Body": body, "Attributes": {"DeadLetterQueueSourceArn": ORDERS}})


CAUSE = cause_of(letter_of(""))
RULE = Rule(CAUSE, Action.REDRIVE)
RIGHT = Plan("http://sqs/dead", (RULE,), canary=Canary(0, 0))


@pytest.mark.parametrize(
    ("plan", "sources", "why"),
    [
        (RIGHT, [SOURCE], ""),
        (replace(RIGHT, rate=50.0), [SOURCE], ""),
        (replace(RIGHT, rules=(replace(RULE, to=Destination(To.QUEUE, ORDERS)),)), [SOURCE], ""),
        (RIGHT, [], "nothing"),
        (RIGHT, [SOURCE, {"kind": "schedule", "name": "nightly", "arn": "x"}], "schedule nightly"),
        (RIGHT, [SOURCE, SOURCE | {"name": "b"}], "queue b"),
        (replace(RIGHT, rules=()), [SOURCE], "no group"),
        (replace(RIGHT, rules=(RULE, replace(RULE, action=Action.LEAVE))), [SOURCE], "group 2 is not redriven"),
        (replace(RIGHT, rules=(replace(RULE, patch=({"op": "remove", "path": "/a"},)),)), [SOURCE], "patch"),
        (replace(RIGHT, rules=(replace(RULE, to=Destination(To.QUEUE, "aside")),)), [SOURCE], "goes to queue:aside"),
        (replace(RIGHT, rules=(replace(RULE, cause=replace(CAUSE, source_arn="x")),)), [SOURCE], "did not come from"),
        (replace(RIGHT, canary=Canary(1, 0)), [SOURCE], "canary"),
        (replace(RIGHT, stop=Stop(age_s=60)), [SOURCE], "older"),
        (replace(RIGHT, rate=5.0, rate_max=100.0), [SOURCE], "its rate grows"),
        (replace(RIGHT, rate=501.0), [SOURCE], "1 to 500"),
        (replace(RIGHT, rate=0.5), [SOURCE], "1 to 500"),
    ],
)
def test_task_is_right_only_where_it_does_exactly_what_the_plan_says(plan: Plan, sources: Any, why: str) -> None:
    found = why_not(plan, sources)
    by = decided(plan, lambda: sources)

    assert why in found
    assert bool(found) == bool(why)
    assert by.by is (By.LETTERS if why else By.MOVE_TASK)
    assert by.why


def test_letter_that_a_gate_refuses_or_that_no_group_has_speaks_against_a_task() -> None:
    gates = (Careful(),)
    other = replace(letter_of("a"), source_arn="other")

    assert refused_by([letter_of("a")], RIGHT, gates) == ""
    assert refused_by([letter_of("a"), letter_of("gated")], RIGHT, gates) == "careful: it was done already (m-1)"
    assert "of no group" in refused_by([other], RIGHT, gates)


@dataclass
class Stage:
    """A world whose dead-letter queue has 30 messages of one source, and a disk."""

    world: World
    plan: Plan
    orders: str
    disk: io.BytesIO = field(default_factory=io.BytesIO)

    @property
    def journal(self) -> Journal:
        return open_journal(self.disk, lambda: None, self.plan.queue)

    def run(self, wait: Callable[[float], None] | None = None) -> Moving:
        return Moving(
            self.plan, DEAD, self.world.client("sqs"), self.journal, self.world.clock.now,
            wait or (lambda seconds: self.world.advance(seconds=seconds)),
        )  # fmt: skip


@pytest.fixture
def stage() -> Iterator[Stage]:
    world = World(seed=1)
    dead, orders = moved(world, [f"order-{number}" for number in range(30)], fifo=False, keeps_policy=True)
    yield Stage(world, replace(RIGHT, queue=dead, rate=5.0), orders)
    world.close()


def test_task_moves_the_whole_queue_at_the_rate_of_the_plan(stage: Stage) -> None:
    run, began = stage.run(), stage.world.now

    seen = [account.sent for account in run.rounds()]

    assert (run.account.sent, run.account.stopped) == (30, "")
    assert seen == sorted(seen)
    assert 4_000 <= stage.world.now - began <= 12_000
    assert len(list(received(stage.world, stage.orders))) == 30
    assert b'"moving"' in stage.disk.getvalue()
    assert b'"Status":"COMPLETED"' in stage.disk.getvalue()


def test_run_that_was_killed_watches_its_task_and_starts_no_second_one(stage: Stage) -> None:
    class Dies(BaseException):
        pass

    def dies(_: float) -> None:
        raise Dies

    with pytest.raises(Dies):
        list(stage.run(dies).rounds())
    again = stage.run()
    list(again.rounds())
    third = stage.run()
    list(third.rounds())

    tasks = stage.world.client("sqs").list_message_move_tasks(SourceArn=DEAD, MaxResults=10)["Results"]
    assert (again.account.sent, len(tasks)) == (30, 1)
    assert "has ended: make a new plan" in third.account.stopped


def test_task_is_cancelled_when_letters_come_back(stage: Stage) -> None:
    sqs = stage.world.client("sqs")

    def wait(seconds: float) -> None:
        stage.world.advance(seconds=seconds)
        for number in range(12):
            sqs.send_message(QueueUrl=stage.plan.queue, MessageBody=f"back-{number}")

    run = stage.run(wait)
    list(run.rounds())

    assert "new letters while its letters were moved" in run.account.stopped
    assert run.account.sent < 30
    (task,) = sqs.list_message_move_tasks(SourceArn=DEAD)["Results"]
    assert task["Status"] == "CANCELLED"


def test_interruption_cancels_the_task(stage: Stage) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(stage.run(interrupted).rounds())
    stage.world.advance(seconds=5)

    (task,) = stage.world.client("sqs").list_message_move_tasks(SourceArn=DEAD)["Results"]
    assert task["Status"] == "CANCELLED"


def test_task_moves_a_fifo_queue_in_the_order_of_its_groups() -> None:
    world = World(seed=1)
    dead, orders = moved(world, ["a-0", "b-0", "a-1", "b-1"], fifo=True, keeps_policy=True)
    stage = Stage(world, replace(RIGHT, queue=dead), orders)
    run = Moving(
        stage.plan, f"{DEAD}.fifo", world.client("sqs"), stage.journal, world.clock.now,
        lambda seconds: world.advance(seconds=seconds),
    )  # fmt: skip

    list(run.rounds())

    bodies = [one["Body"] for one in received(world, orders)]
    assert (run.account.sent, run.account.stopped) == (4, "")
    assert [body for body in bodies if body[0] == "a"] == ["a-0", "a-1"]
    assert [body for body in bodies if body[0] == "b"] == ["b-0", "b-1"]
    world.close()
