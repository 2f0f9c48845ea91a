"""What only the DynamoDB ledger has: its writes, its table, and its part in the user's transactions."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from redrive.handler import DynamoDBLedger, Fresh, InProgress, Replayed, idempotent, path
from redrive.handler.ledger import ATTEMPTS_KEPT
from redrive.testing.world import World
from tests.unit.handler.conftest import START, TABLE, HandClock


class Counting:
    """A client that says which operations it was asked for."""

    def __init__(self, client) -> None:
        self.client = client
        self.calls: list[str] = []

    def __getattr__(self, name: str):
        self.calls.append(name)
        return getattr(self.client, name)


@pytest.fixture
def client(world: World) -> Counting:
    return Counting(world.client("dynamodb"))


@pytest.fixture
def ledger(client: Counting, clock: HandClock) -> DynamoDBLedger:
    return DynamoDBLedger(TABLE, client=client, clock=clock)


def update_of(ledger: DynamoDBLedger, answer: Fresh) -> dict[str, object]:
    """The Update that records success with the number of the attempt."""
    update = ledger.finish_item(answer.token, answer.token.attempt)["Update"]
    assert isinstance(update, dict)
    return update


def test_run_that_meets_nobody_writes_once_to_begin_and_once_to_end(ledger: DynamoDBLedger, client: Counting) -> None:
    answer = ledger.begin("e", "hash", message_id="m-1")
    assert isinstance(answer, Fresh)
    ledger.finish(answer.token, 1)

    assert client.calls == ["update_item", "update_item"]


def test_retry_after_a_failure_begins_with_two_writes(ledger: DynamoDBLedger, client: Counting) -> None:
    answer = ledger.begin("e", message_id="m-1")
    assert isinstance(answer, Fresh)
    ledger.fail(answer.token, "x")
    client.calls.clear()

    ledger.begin("e", message_id="m-2")

    assert client.calls == ["update_item", "update_item"]


class Repeating:
    """A client that sends each write twice, as botocore does when the first answer was lost."""

    def __init__(self, client) -> None:
        self.client = client

    def update_item(self, **request):
        self.client.update_item(**request)
        return self.client.update_item(**request)


class Overtaken:
    """A client before whose second write another ledger begins the execution."""

    def __init__(self, client, rival: DynamoDBLedger) -> None:
        self.client = client
        self.rival = rival
        self.writes = 0

    def update_item(self, **request):
        self.writes += 1
        if self.writes == 2:
            assert isinstance(self.rival.begin("e"), Fresh)
        return self.client.update_item(**request)


def test_run_whose_first_answer_was_lost_knows_its_own_execution_again(world: World, clock: HandClock) -> None:
    """Otherwise it would wait for itself until its own lease has passed."""
    ledger = DynamoDBLedger(TABLE, client=Repeating(world.client("dynamodb")), clock=clock)  # type: ignore[arg-type]

    answer = ledger.begin("e", message_id="m")

    assert isinstance(answer, Fresh)
    assert answer.token.attempt == 1


def test_lapsed_lease_is_taken_over_with_two_writes(ledger: DynamoDBLedger, client: Counting, clock: HandClock) -> None:
    ledger.begin("e", lease_s=30, message_id="m-1")
    clock.advance(30)
    client.calls.clear()

    assert isinstance(ledger.begin("e"), Fresh)

    assert client.calls == ["update_item", "update_item"]


def test_failure_that_has_expired_is_forgotten_with_its_attempts(ledger: DynamoDBLedger, clock: HandClock) -> None:
    answer = ledger.begin("e", lease_s=30, keep_s=60)
    assert isinstance(answer, Fresh)
    ledger.fail(answer.token, "x")
    clock.advance(60)

    again = ledger.begin("e")

    assert isinstance(again, Fresh)
    assert again.token.attempt == 1


def test_duplicate_is_answered_and_noted_with_one_write(ledger: DynamoDBLedger, client: Counting) -> None:
    answer = ledger.begin("e", "hash", message_id="m-1")
    assert isinstance(answer, Fresh)
    client.calls.clear()

    assert isinstance(ledger.begin("e", "hash", message_id="m-2"), InProgress)
    assert client.calls == ["update_item"]

    ledger.finish(answer.token, 1)
    client.calls.clear()
    assert ledger.begin("e", "hash", message_id="m-3") == Replayed(1)
    assert client.calls == ["update_item"]
    record = ledger.read("e")
    assert record is not None
    assert (record.duplicates, record.message_ids) == (2, frozenset({"m-1", "m-2", "m-3"}))


def test_first_invocation_asks_dynamodb_twice_and_a_duplicate_once(ledger: DynamoDBLedger, client: Counting) -> None:
    """What it costs is a promise of docs/guide/handlers.md."""
    handler = idempotent(key=path("id"), ledger=ledger)(lambda event, context: {"done": event["id"]})

    first = handler({"id": "e"}, None)
    calls_of_first = list(client.calls)
    client.calls.clear()
    again = handler({"id": "e"}, None)

    assert first == again == {"done": "e"}
    assert (len(calls_of_first), len(client.calls)) == (2, 1)


def test_record_that_changes_between_two_writes_is_looked_at_again(world: World, clock: HandClock) -> None:
    """Two retries of a failure see the same record; the second to write finds the first one running."""
    dynamodb = world.client("dynamodb")
    rival = DynamoDBLedger(TABLE, client=dynamodb, clock=clock)
    answer = rival.begin("e")
    assert isinstance(answer, Fresh)
    rival.fail(answer.token, "x")
    ledger = DynamoDBLedger(TABLE, client=Overtaken(dynamodb, rival), clock=clock)  # type: ignore[arg-type]

    assert isinstance(ledger.begin("e"), InProgress)

    record = rival.read("e")
    assert record is not None
    assert (record.attempts_made, record.duplicates) == (2, 1)


def test_table_is_keyed_by_execution_id_and_expires_by_ttl(ledger: DynamoDBLedger, world: World) -> None:
    answer = ledger.begin("0190-aa", lease_s=30, keep_s=86_400, message_id="m-1")
    assert isinstance(answer, Fresh)
    ledger.finish(answer.token, {"ok": True})

    item = world.client("dynamodb").get_item(TableName=TABLE, Key={"execution_id": {"S": "0190-aa"}})["Item"]
    assert item["status"] == {"S": "SUCCESS"}
    assert item["ttl"] == {"N": str(START // 1000 + 86_400)}
    assert (item["attempts"], item["messages"], item["result"]) == ({"N": "1"}, {"SS": ["m-1"]}, {"S": '{"ok":true}'})


def test_record_that_another_tool_left_running_is_nobodys(ledger: DynamoDBLedger, world: World) -> None:
    """RUNNING without a lease was written by code that never ends it: whoever waited for it would wait for ever."""
    item = {"execution_id": {"S": "e"}, "status": {"S": "RUNNING"}, "owner": {"S": "somebody"}}
    world.client("dynamodb").put_item(TableName=TABLE, Item=item)

    answer = ledger.begin("e")

    assert isinstance(answer, Fresh)
    assert ledger.finish(answer.token, 1)
    assert ledger.begin("e") == Replayed(1)


def test_record_that_another_tool_finished_is_replayed_without_a_result(ledger: DynamoDBLedger, world: World) -> None:
    item = {"execution_id": {"S": "e"}, "status": {"S": "SUCCESS"}}
    world.client("dynamodb").put_item(TableName=TABLE, Item=item)

    assert ledger.begin("e", "hash", message_id="m") == Replayed(None)


@pytest.mark.parametrize("status", [{}, {"status": {"S": "RUNNING"}}, {"status": {"S": "SUCCESS"}}])
def test_record_of_another_tool_that_has_expired_is_forgotten(
    ledger: DynamoDBLedger, world: World, status: dict[str, Any]
) -> None:
    item = {"execution_id": {"S": "e"}, "ttl": {"N": str(START // 1000)}, "owner": {"S": "somebody"}} | status
    world.client("dynamodb").put_item(TableName=TABLE, Item=item)

    assert isinstance(ledger.begin("e"), Fresh)

    assert "owner" not in world.client("dynamodb").get_item(TableName=TABLE, Key={"execution_id": {"S": "e"}})["Item"]


def test_attributes_of_others_survive_a_full_history(ledger: DynamoDBLedger, world: World) -> None:
    item = {"execution_id": {"S": "e"}, "owner": {"S": "somebody"}}
    world.client("dynamodb").put_item(TableName=TABLE, Item=item)
    for _ in range(ATTEMPTS_KEPT + 1):
        answer = ledger.begin("e")
        assert isinstance(answer, Fresh)
        assert ledger.fail(answer.token, "x")

    item = world.client("dynamodb").get_item(TableName=TABLE, Key={"execution_id": {"S": "e"}})["Item"]
    assert item["owner"] == {"S": "somebody"}
    assert len(item["history"]["L"]) == ATTEMPTS_KEPT // 2 + 1


def test_transaction_item_is_refused_to_a_zombie_and_records_the_holders_success(
    ledger: DynamoDBLedger, world: World, clock: HandClock
) -> None:
    """An Update of TransactItems is the request of an UpdateItem, and is tried as one here."""
    dynamodb = world.client("dynamodb")
    zombie = ledger.begin("e", lease_s=30)
    clock.advance(31)
    holder = ledger.begin("e", lease_s=30)
    assert isinstance(zombie, Fresh)
    assert isinstance(holder, Fresh)

    with pytest.raises(ClientError, match="ConditionalCheckFailedException"):
        dynamodb.update_item(**update_of(ledger, zombie))
    dynamodb.update_item(**update_of(ledger, holder))

    assert ledger.begin("e") == Replayed(2)
    assert ledger.finish(holder.token, 2)


def test_transaction_item_has_the_shape_that_dynamodb_takes(ledger: DynamoDBLedger, world: World) -> None:
    answer = ledger.begin("e")
    assert isinstance(answer, Fresh)
    client = world.client("dynamodb")
    shape = client.meta.service_model.operation_model("TransactWriteItems").input_shape

    report = ParamValidator().validate({"TransactItems": [ledger.finish_item(answer.token, 1)]}, shape)

    assert not report.has_errors()


def test_refusals_of_other_kinds_are_raised_as_they_are(clock: HandClock, world: World) -> None:
    ledger = DynamoDBLedger("no-such-table", client=world.client("dynamodb"), clock=clock)

    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        ledger.begin("e")
