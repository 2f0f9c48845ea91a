"""A stage that is put back is as it was, and goes on as it did."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from redrive.core.clock import DAY_MS, VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.prove.stage.stage import DECIDING_TABLES, LEFT_TABLES, SETTLED_TABLES, START, TELLING_TABLES, Stage
from redrive.prove.stage.trigger import bodies_of, usual_trigger
from redrive.store.sqlite import SqliteStore


class Keeping:
    """An invoker that keeps what it was given."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []

    def invoke(self, invocation: Invocation) -> InvocationResult:
        self.payloads.append(invocation.payload)
        return InvocationResult(InvocationStatus.OK, b"{}")

    def close(self) -> None:
        """Nothing is running."""


def deliver(stage: Stage, url: str) -> None:
    stage.begin_leg()
    stage.call("sqs", "SendMessage", QueueUrl=url, MessageBody="hello")
    stage.settle()


def test_stage_that_was_put_back_plays_the_same_again() -> None:
    invoker = Keeping()
    stage = Stage(invoker, seed=3)
    trigger = usual_trigger(stage, ("hello",))
    saved = stage.save()

    deliver(stage, trigger.queue_url)
    first = stage.digest()
    stage.move_to(START + DAY_MS)
    stage.load(saved)
    deliver(stage, trigger.queue_url)

    assert stage.now == START
    assert stage.digest() == first
    assert invoker.payloads[0] == invoker.payloads[1]


def test_digest_tells_states_apart() -> None:
    stage = Stage(Keeping(), seed=3)
    trigger = usual_trigger(stage, ("hello",))
    before = stage.digest()

    stage.call("sqs", "SendMessage", QueueUrl=trigger.queue_url, MessageBody="hello")

    assert stage.digest() != before
    assert stage.waiting(trigger.queue_arn, trigger.dead_letter_arn).is_pending


def test_digest_tells_a_used_client_token_from_an_unused_one() -> None:
    """A transaction with a used token is answered without being run, so that two such states go on differently."""
    stage = Stage(Keeping(), seed=3)
    key = {"AttributeName": "key"}
    stage.call(
        "dynamodb", "CreateTable", TableName="items", KeySchema=[{**key, "KeyType": "HASH"}],
        AttributeDefinitions=[{**key, "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST",
    )  # fmt: skip
    put = {"TableName": "items", "Item": {"key": {"S": "1"}}}
    stage.call("dynamodb", "PutItem", **put)
    before = stage.digest()

    stage.call("dynamodb", "TransactWriteItems", TransactItems=[{"Put": put}], ClientRequestToken="once")

    assert stage.digest() != before


def test_every_table_of_the_store_is_known_to_decide_or_not(tmp_path: Path) -> None:
    """A table that decides what happens next, and that the digest leaves out, would hide histories."""
    path = tmp_path / "redrive.sqlite"
    SqliteStore(path, clock=VirtualClock(START), entropy=SeededEntropy(1)).close()
    with closing(sqlite3.connect(path)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    known = sorted((*DECIDING_TABLES, *LEFT_TABLES, *TELLING_TABLES, *SETTLED_TABLES))
    assert known == sorted(name for name in tables if not name.startswith("sqlite_"))


def test_event_of_records_is_its_messages_and_any_other_is_one() -> None:
    event: Any = {"Records": [{"body": "a"}, {"body": "b"}]}

    assert bodies_of(event) == ("a", "b")
    assert bodies_of({"Records": "none"}) == ('{"Records":"none"}',)
    assert bodies_of("text") == ("text",)
