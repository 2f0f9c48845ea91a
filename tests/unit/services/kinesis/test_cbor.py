"""Requests in CBOR, as the SDK for Java sends them: bytes are bytes, and times are milliseconds."""

from __future__ import annotations

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import SystemClock
from redrive.core.entropy import SeededEntropy
from redrive.core.log import SilentLog
from redrive.core.sessions import Issuer
from redrive.gateway.chain import Gateway
from redrive.gateway.identity import Identity
from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from redrive.wire.protocols.cbor_body import parse
from tests.unit.services.kinesis.conftest import ARN, FIRST, LOW

SCOPE = "test/20250101/us-east-1/kinesis/aws4_request"


def gateway_of(world: World) -> Gateway:
    identity = Identity(Issuer(world.store.secret), account="000000000000", clocks=[SystemClock()])
    return Gateway(world.engine, Models(), identity=identity, entropy=SeededEntropy(2), log=SilentLog())


def send(gateway: Gateway, operation: str, body: bytes) -> HttpResponse:
    headers = {
        "authorization": f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host;x-amz-date, Signature=00",
        "x-amz-date": "20250101T000000Z",
        "x-amz-target": f"Kinesis_20131202.{operation}",
        "content-type": "application/x-amz-cbor-1.1",
    }
    return gateway.respond(HttpRequest("POST", "/", "", headers, body))


@pytest.fixture
def ask(world):
    """Send an operation in CBOR: (status, answer)."""
    gateway = gateway_of(world)

    def ask(operation: str, **params: object) -> tuple[int, dict[str, object]]:
        answer = send(gateway, operation, cbor2.dumps(params))
        assert dict(answer.headers)["Content-Type"] == "application/x-amz-cbor-1.1"
        return answer.status, parse(answer.body) if answer.body else {}

    return ask


def test_records_are_written_and_read_in_cbor(world, ask):
    ask("CreateStream", StreamName="clicks", ShardCount=1)
    wrote = ask("PutRecord", StreamARN=ARN, PartitionKey="k", ExplicitHashKey=LOW, Data=b"\x00\xff")
    start = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": cbor2.CBORTag(1, world.now)}
    _, found = ask("GetShardIterator", StreamName="clicks", ShardId=FIRST, **start)

    status, read = ask("GetRecords", ShardIterator=found["ShardIterator"])

    assert (wrote[0], status) == (200, 200)
    (record,) = read["Records"]
    arrived = record.pop("ApproximateArrivalTimestamp")
    assert record == {"SequenceNumber": wrote[1]["SequenceNumber"], "Data": b"\x00\xff", "PartitionKey": "k"}
    assert arrived == cbor2.CBORTag(1, world.now)


def test_refusal_is_told_in_cbor(ask):
    assert ask("DescribeStream", StreamName="ghost") == (
        400,
        {
            "__type": "ResourceNotFoundException",
            "message": "Stream ghost under account 000000000000 not found.",
        },
    )


@pytest.mark.parametrize(
    "body", [b"\xff", b"{}", cbor2.dumps([1]), cbor2.dumps({"StreamName": 5}), cbor2.dumps({"StreamName": {}})]
)
def test_body_that_is_no_request_is_refused(world, body):
    answer = send(gateway_of(world), "DescribeStream", body)

    assert (answer.status, cbor2.loads(answer.body)["__type"]) == (400, "SerializationException")


@given(st.binary(max_size=60))
def test_any_bytes_are_answered_with_400(body):
    world = World(seed=1)

    assert send(gateway_of(world), "PutRecord", body).status == 400
    world.close()
