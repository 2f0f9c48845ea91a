"""Tables of AWS Lambda Powertools can be read, whatever their attributes are called."""

from __future__ import annotations

import pytest

from redrive.handler import PowertoolsAttributes, PowertoolsReader, PowertoolsStatus
from redrive.testing.world import World
from tests.unit.handler.conftest import START, HandClock


@pytest.fixture
def dynamodb(world: World):
    client = world.client("dynamodb")
    client.create_table(
        TableName="idempotency",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    return client


def put(dynamodb, id: str, status: str, *, expires_s: int, until: int | None = None, data: str | None = None) -> None:
    item = {"id": {"S": id}, "status": {"S": status}, "expiration": {"N": str(expires_s)}, "validation": {"S": "hash"}}
    item |= {"in_progress_expiration": {"N": str(until)}} if until else {}
    item |= {"data": {"S": data}} if data else {}
    dynamodb.put_item(TableName="idempotency", Item=item)


def test_record_of_a_completed_run_has_its_response(dynamodb, clock: HandClock) -> None:
    put(dynamodb, "f.handler#abc", "COMPLETED", expires_s=START // 1000 + 3600, data='{"ok": [1]}')

    record = PowertoolsReader("idempotency", client=dynamodb, clock=clock).read("f.handler#abc")

    assert record is not None
    assert (record.status, record.result, record.validation) == (PowertoolsStatus.COMPLETED, {"ok": [1]}, "hash")
    assert (record.expires_at, record.is_stuck) == (START + 3_600_000, False)


def test_record_past_its_expiration_is_expired_whatever_was_written(dynamodb, clock: HandClock) -> None:
    put(dynamodb, "a", "COMPLETED", expires_s=START // 1000 - 1)
    put(dynamodb, "b", "INPROGRESS", expires_s=START // 1000 - 1, until=START - 5_000)

    records = PowertoolsReader("idempotency", client=dynamodb, clock=clock).scan()

    assert {(record.id, record.status, record.is_stuck) for record in records} == {
        ("a", PowertoolsStatus.EXPIRED, False),
        ("b", PowertoolsStatus.EXPIRED, False),
    }


def test_run_in_progress_past_its_own_expiry_is_stuck(dynamodb, clock: HandClock) -> None:
    put(dynamodb, "dead", "INPROGRESS", expires_s=START // 1000 + 3600, until=START - 1)
    put(dynamodb, "alive", "INPROGRESS", expires_s=START // 1000 + 3600, until=START + 1)
    reader = PowertoolsReader("idempotency", client=dynamodb, clock=clock)

    assert {record.id: record.is_stuck for record in reader.scan()} == {"dead": True, "alive": False}


def test_unknown_record_is_none(dynamodb, clock: HandClock) -> None:
    assert PowertoolsReader("idempotency", client=dynamodb, clock=clock).read("x") is None


def test_table_with_a_sort_key_and_other_names_is_read(world: World, clock: HandClock) -> None:
    client = world.client("dynamodb")
    client.create_table(
        TableName="shared",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    item = {"pk": {"S": "idempotency#f"}, "sk": {"S": "abc"}, "state": {"S": "COMPLETED"}}
    client.put_item(TableName="shared", Item=item)
    names = PowertoolsAttributes(key="pk", sort_key="sk", status="state")

    record = PowertoolsReader("shared", client=client, attributes=names, static_key="idempotency#f", clock=clock).read(
        "abc"
    )

    assert record is not None
    assert (record.id, record.status, record.expires_at) == ("abc", PowertoolsStatus.COMPLETED, None)
    with pytest.raises(ValueError, match="static_key"):
        PowertoolsReader("shared", client=client, attributes=names).read("abc")
