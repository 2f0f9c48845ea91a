"""The reader finds executions in trouble by the index of a ledger's table, and the handler measures them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.handler import DynamoDBLedger, Fresh, LedgerReader, ledger_metrics
from redrive.testing.world import World
from tests.unit.handler.conftest import HandClock

TABLE = "watched"


@pytest.fixture
def dynamodb(world: World) -> Any:
    client = world.client("dynamodb")
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "execution_id", "AttributeType": "S"},
            {"AttributeName": "status", "AttributeType": "S"},
            {"AttributeName": "updated_at", "AttributeType": "N"},
        ],
        KeySchema=[{"AttributeName": "execution_id", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-status",
                "KeySchema": [
                    {"AttributeName": "status", "KeyType": "HASH"},
                    {"AttributeName": "updated_at", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["lease_ends_at", "attempts"]},
            }
        ],
    )
    return client


def begin(ledger: DynamoDBLedger, key: str, *, times: int = 1, lease_s: float = 60) -> None:
    """Begin an execution; all runs but the last one fail."""
    for _ in range(times):
        answer = ledger.begin(key, lease_s=lease_s)
        assert isinstance(answer, Fresh)
        ledger.fail(answer.token, "broken")


def test_execution_is_stuck_from_the_end_of_its_lease_until_it_ends(dynamodb: Any, clock: HandClock) -> None:
    ledger = DynamoDBLedger(TABLE, client=dynamodb, clock=clock)
    reader = LedgerReader(TABLE, client=dynamodb, clock=clock)
    ledger.begin("slow", lease_s=60)
    clock.advance(59.999)
    before = list(reader.stuck())
    clock.advance(0.001)
    (stuck,) = reader.stuck()

    again = ledger.begin("slow")
    assert isinstance(again, Fresh)
    ledger.finish(again.token, None)

    assert before == list(reader.stuck()) == []
    assert (stuck.key, stuck.status, stuck.attempts, stuck.lease_ends_at) == ("slow", "RUNNING", 1, clock())


def test_execution_fails_repeatedly_from_its_second_failure_for_a_time(dynamodb: Any, clock: HandClock) -> None:
    ledger = DynamoDBLedger(TABLE, client=dynamodb, clock=clock)
    reader = LedgerReader(TABLE, client=dynamodb, clock=clock)
    begin(ledger, "once")
    begin(ledger, "thrice", times=3)
    now = [state.key for state in reader.failing()]
    first, second = reader.failing(attempts_min=1)
    clock.advance(900.001)

    assert now == ["thrice"]
    assert {first.key: first.attempts, second.key: second.attempts} == {"once": 1, "thrice": 3}
    assert list(reader.failing()) == []


def test_record_of_another_tool_without_a_lease_is_never_stuck(dynamodb: Any, clock: HandClock) -> None:
    item = {"execution_id": {"S": "foreign"}, "status": {"S": "RUNNING"}, "updated_at": {"N": "1"}}
    dynamodb.put_item(TableName=TABLE, Item=item)

    assert list(LedgerReader(TABLE, client=dynamodb, clock=clock).stuck()) == []


def test_all_pages_are_read(dynamodb: Any, clock: HandClock) -> None:
    ledger = DynamoDBLedger(TABLE, client=dynamodb, clock=clock)
    for number in range(5):
        begin(ledger, f"e-{number}", times=2)

    class InPagesOfTwo:
        def query(self, **request: object) -> Any:
            return dynamodb.query(**request, Limit=2)

    found = LedgerReader(TABLE, client=InPagesOfTwo(), clock=clock).failing()

    assert sorted(state.key for state in found) == [f"e-{number}" for number in range(5)]


def test_handler_writes_both_metrics_also_when_they_are_zero(
    dynamodb: Any, clock: HandClock, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = DynamoDBLedger(TABLE, client=dynamodb, clock=clock)
    begin(ledger, "broken", times=2)
    handler = ledger_metrics(LedgerReader(TABLE, client=dynamodb, clock=clock), namespace="Jobs")

    found = handler({}, None)
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert found == {"StuckExecutions": [], "FailingExecutions": ["broken"]}
    (line,) = written
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Jobs"
    assert (line["Table"], line["StuckExecutions"], line["FailingExecutions"]) == (TABLE, 0, 1)
