"""AWS's event stream: what the wire encodes, botocore's parser reads."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest
from botocore.eventstream import EventStream, EventStreamBuffer
from botocore.exceptions import EventStreamError
from botocore.parsers import create_parser
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.core.errors import Bug, ServiceError
from redrive.wire.model.files import Models
from redrive.wire.protocols.codec import OpenedStream, StreamingCodec
from redrive.wire.protocols.event_stream import encode_message
from redrive.wire.route import Router
from tests.unit.wire.botocore_client import service_model

RECORD = {"SequenceNumber": "7", "ApproximateArrivalTimestamp": 1_000, "Data": b"\x00\xff", "PartitionKey": "ä"}
EVENT = {"Records": [RECORD], "ContinuationSequenceNumber": "7", "MillisBehindLatest": 3}

names = st.text("abc:-", min_size=1, max_size=255)
texts = st.text(max_size=200)


@settings(database=None, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.dictionaries(names, texts, max_size=6), st.binary(max_size=5_000)), max_size=4), st.data())
def test_messages_are_those_that_botocore_reads(
    messages: list[tuple[dict[str, str], bytes]], data: st.DataObject
) -> None:
    """Botocore's buffer inverts the encoding, however the bytes are cut on their way."""
    encoded = b"".join(encode_message(headers, payload) for headers, payload in messages)
    cut = data.draw(st.integers(0, len(encoded)))
    buffer = EventStreamBuffer()

    buffer.add_data(encoded[:cut])
    found = [*buffer]
    buffer.add_data(encoded[cut:])
    found += [*buffer]

    assert [(dict(message.headers), message.payload) for message in found] == messages


def test_lengths_and_checksums_stand_where_aws_has_them() -> None:
    message = encode_message({"a": "b"}, b"xyz")

    assert struct.unpack("!II", message[:8]) == (len(message), 6)
    assert struct.unpack("!I", message[8:12])[0] == zlib.crc32(message[:8])
    assert message[12:18] == b"\x01a\x07\x00\x01b"
    assert struct.unpack("!I", message[-4:])[0] == zlib.crc32(message[:-4])


class Raw:
    """The part of urllib3's response that botocore's event streams need."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, **_: object) -> list[bytes]:
        return [self._body]

    def close(self) -> None: ...


def opened(router: Router, models: Models, service: str, operation: str, members: dict[str, Any]) -> OpenedStream:
    """The beginning of an answer of that operation."""
    codec = router.codec(service, service_model(service).protocol)
    assert isinstance(codec, StreamingCodec)
    return codec.open_stream(models.service(service).operations[operation], members, "id-1")


def read(service: str, operation: str, body: bytes) -> EventStream:
    """The stream as botocore's clients iterate over it."""
    model = service_model(service)
    shape = model.operation_model(operation).get_event_stream_output()
    parser = create_parser(model.protocol)._event_stream_parser  # noqa: SLF001 - botocore has no other way to it.
    return EventStream(Raw(body), shape, parser, operation)


def test_members_beside_a_stream_come_first_in_json(router: Router, models: Models) -> None:
    stream = opened(router, models, "kinesis", "SubscribeToShard", {})

    found = read(
        "kinesis", "SubscribeToShard", stream.head.body + stream.events.event({"SubscribeToShardEvent": EVENT})
    )

    assert ("Content-Type", "application/vnd.amazon.eventstream") in stream.head.headers
    assert found.get_initial_response().payload == b"{}"
    ((kind, event),) = next(iter(found)).items()
    assert (kind, event["Records"][0]["Data"], event["MillisBehindLatest"]) == ("SubscribeToShardEvent", b"\x00\xff", 3)
    assert event["Records"][0]["PartitionKey"] == "ä"


def test_members_beside_a_stream_are_headers_in_rest(router: Router, models: Models) -> None:
    members = {"StatusCode": 200, "ExecutedVersion": "$LATEST"}
    stream = opened(router, models, "lambda", "InvokeWithResponseStream", members)
    events: list[dict[str, Any]] = [{"PayloadChunk": {"Payload": b"\x00 1"}}, {"InvokeComplete": {"ErrorCode": "E"}}]

    found = [*read("lambda", "InvokeWithResponseStream", b"".join(map(stream.events.event, events)))]

    assert (stream.head.status, stream.head.body) == (200, b"")
    assert ("X-Amz-Executed-Version", "$LATEST") in stream.head.headers
    assert found == events


def test_error_of_the_model_ends_a_stream_as_an_exception(router: Router, models: Models) -> None:
    stream = opened(router, models, "kinesis", "SubscribeToShard", {})
    error = ServiceError("ResourceInUseException", "taken over")

    with pytest.raises(EventStreamError) as caught:
        [*read("kinesis", "SubscribeToShard", stream.events.error(error))]

    assert caught.value.response["Error"] == {"Code": "ResourceInUseException", "Message": "taken over"}


def test_error_beyond_the_model_ends_a_stream_too(router: Router, models: Models) -> None:
    stream = opened(router, models, "kinesis", "SubscribeToShard", {})

    with pytest.raises(EventStreamError) as caught:
        [*read("kinesis", "SubscribeToShard", stream.events.error(ServiceError("Strange", "odd")))]

    assert caught.value.response["Error"] == {"Code": "Strange", "Message": "odd"}


def test_what_is_no_event_of_the_stream_is_a_bug(router: Router, models: Models) -> None:
    stream = opened(router, models, "kinesis", "SubscribeToShard", {})

    with pytest.raises(Bug, match="has no event Ghost"):
        stream.events.event({"Ghost": {}})
    with pytest.raises(Bug, match="answers no event stream"):
        opened(router, models, "kinesis", "GetRecords", {})
