"""Every operation of every service: what botocore writes, the wire reads; what the wire writes, botocore reads."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive.core.errors import Bug
from redrive.delivery.bodies import Received
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models
from redrive.wire.protocols import timestamps
from redrive.wire.route import Router
from redrive.wire.services import SERVICES
from tests.unit.wire.botocore_client import Draw, Instant, http_request, parse, service_model, with_datetimes

EVENT_STREAMS = [
    ("kinesis", "SubscribeToShard", "EventStream"),
    ("lambda", "InvokeWithResponseStream", "EventStream"),
    ("logs", "GetLogObject", "fieldStream"),
    ("logs", "StartLiveTail", "responseStream"),
    ("s3", "SelectObjectContent", "Payload"),
]
SAME_REQUESTS = {
    ("s3", "GetBucketLifecycle"),
    ("s3", "GetBucketNotification"),
    ("s3", "ListDirectoryBuckets"),
    ("s3", "PutBucketLifecycle"),
    ("s3", "PutBucketNotification"),
}
"""Operations that have the requests of others: the old forms of two configurations, and directory buckets."""
SEEDS = st.integers(min_value=0, max_value=2**32)

every_service = pytest.mark.parametrize("service", [spec.name for spec in SERVICES])
# Each example draws parameters for all operations of a service, of which some have close to two hundred.
some_examples = settings(
    max_examples=8, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@every_service
@some_examples
@given(seed=SEEDS)
def test_request_of_botocore_decodes_to_its_parameters(router: Router, service: str, seed: int) -> None:
    """Decoding inverts botocore's serializer, for every operation."""
    draw = Draw(seed, has_all=service_model(service).protocol == "rest-xml")
    for operation in service_model(service).operation_names:
        if (service, operation) in SAME_REQUESTS:
            continue
        shape = service_model(service).operation_model(operation).input_shape
        params = draw.structure(shape) if shape is not None else {}
        if service == "s3":
            params.pop("ContentLength", None)  # What is drawn is not the length of the body.
            params |= {
                name: "0" * 12
                for name in params
                if name.endswith("ExpectedBucketOwner") or name == "ExpectedSourceBucketOwner"
            }
        request = http_request(service, operation, with_datetimes(params))
        if service == "s3":
            request, params = with_digest(request, shape, params)

        route = router.route(request)
        decoded = route.codec.decode(route.operation, request, route.path_params)

        assert (route.service.name, route.operation.name) == (service, operation)
        assert (operation, without_digests(decoded)) == (operation, as_sent(service, shape, params))


@every_service
@some_examples
@given(seed=SEEDS)
def test_result_encodes_to_what_botocore_parses(router: Router, models: Models, service: str, seed: int) -> None:
    """Botocore's parser inverts encoding, for every operation that does not answer with a stream of events."""
    draw = Draw(seed)
    codec = router.codec(service, service_model(service).protocol)
    for operation, model in models.service(service).operations.items():
        if operation in {name for _, name, _ in EVENT_STREAMS} or (service, operation) in SAME_REQUESTS:
            continue
        shape = service_model(service).operation_model(operation).output_shape
        result = draw.structure(shape) if shape is not None else {}
        result.pop("ExpiresString", None)

        response = codec.encode(model, with_expires(result), "id-1")
        parsed = parse(service, operation, response)

        metadata = parsed.pop("ResponseMetadata")
        parsed.pop("ExpiresString", None)
        # From an answer in CBOR that has no output, botocore reads the headers and nothing else.
        headers = metadata["HTTPHeaders"]
        request_id = metadata.get("RequestId", headers.get("x-amzn-requestid", headers.get("x-amz-request-id")))
        assert (operation, request_id) == (operation, "id-1")
        if shape is not None and service_model(service).protocol == "rest-xml":
            result = as_answered_in_xml(service, shape, result)
        expected = empty_stream(shape) | with_datetimes(result) | status_members(shape, response.status)
        assert (operation, readable(parsed)) == (operation, expected)


@pytest.mark.parametrize(("service", "operation", "member"), EVENT_STREAMS)
def test_a_stream_of_events_is_refused_as_a_bug(
    router: Router, models: Models, service: str, operation: str, member: str
) -> None:
    """A stream of events is not encoded at once: the codec says so instead of writing something else."""
    codec = router.codec(service, service_model(service).protocol)

    with pytest.raises(Bug, match="event stream"):
        codec.encode(models.service(service).operations[operation], {member: []}, "id-1")


def with_digest(request: HttpRequest, shape: Any, params: dict[str, Any]) -> tuple[HttpRequest, dict[str, Any]]:
    """A request with the digest of its body, which botocore's client adds; what was drawn is the digest of nothing."""
    digest = base64.b64encode(hashlib.md5(request.body).digest()).decode()
    drawn = {"ContentMD5": digest} if "ContentMD5" in shape.members else {}
    return replace(request, headers=dict(request.headers) | {"content-md5": digest}), params | drawn


def without_digests(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the bytes of a body that may be large, in place of what the wire has made of the bytes."""
    return {
        name: value.content if isinstance(value, Received) else value
        for name, value in params.items() if not isinstance(params.get("Body"), Received) or name != "ContentLength"
    }  # fmt: skip


def as_sent(service: str, shape: Any, params: dict[str, Any]) -> dict[str, Any]:
    """What of the parameters botocore puts on the wire: it sends a missing body structure as an empty one."""
    if service_model(service).protocol == "query":
        sent: dict[str, Any] = without_empty(params)
        return sent
    payload = shape.serialization.get("payload") if shape is not None else None
    if service_model(service).protocol == "rest-xml":
        return as_sent_in_xml(shape, params)
    if payload is not None and shape.members[payload].type_name == "structure":
        return {payload: {}} | params
    return params


def as_sent_in_xml(shape: Any, params: dict[str, Any]) -> dict[str, Any]:
    """What botocore writes in XML: no empty flattened lists, no empty body, and always a body that may be large."""
    if shape is None:
        return params
    sent: dict[str, Any] = with_expires(without_empty_lists(shape, params))
    payload = shape.serialization.get("payload")
    if payload is not None and shape.members[payload].type_name == "blob":
        return {payload: b""} | sent
    return {name: value for name, value in sent.items() if name != payload or value != ""}


def as_answered_in_xml(service: str, shape: Any, result: dict[str, Any]) -> dict[str, Any]:
    """What botocore reads in XML: no empty flattened lists, and a payload even if it is empty."""
    sent: dict[str, Any] = without_empty_lists(shape, result)
    if "LocationConstraint" in shape.members:
        return {"LocationConstraint": sent.get("LocationConstraint") or None}
    payload = shape.serialization.get("payload")
    if "Metadata" in shape.members:
        sent.setdefault("Metadata", {})
    if payload is not None and shape.members[payload].type_name == "blob":
        default = {"ContentType": "binary/octet-stream"} if "ContentType" in shape.members else {}
        length = {"ContentLength": len(sent.get(payload, b""))} if "ContentLength" in shape.members else {}
        return default | sent | length
    if payload is None:
        return sent
    return {payload: {} if shape.members[payload].type_name == "structure" else ""} | sent


def with_expires(members: dict[str, Any]) -> dict[str, Any]:
    """Members with the date of `Expires` as a text, which is all that S3's model says of it: botocore adds more."""
    if isinstance(members.get("Expires"), Instant):
        return members | {"Expires": timestamps.write_text(members["Expires"], timestamps.RFC_822)}
    return members


def without_empty_lists(shape: Any, value: Any) -> Any:
    """A value of a shape without the lists that XML cannot say to be empty, and without empty maps of headers."""
    match shape.type_name:
        case "structure":
            items = {name: without_empty_lists(shape.members[name], item) for name, item in value.items()}
            return {
                name: item
                for name, item in items.items()
                if item not in ([], {})
                or not (
                    shape.members[name].serialization.get("flattened")
                    or shape.members[name].serialization.get("location") in ("header", "headers")
                )
            }
        case "list":
            return [without_empty_lists(shape.member, item) for item in value]
        case _:
            return value


def without_empty(value: Any) -> Any:
    """A value without empty structures and maps, which a form cannot say; `{}` if nothing is left."""
    match value:
        case dict():
            kept = {key: without_empty(item) for key, item in value.items()}
            return {key: item for key, item in kept.items() if item != {}}
        case list():
            kept_items = [item for item in (without_empty(item) for item in value) if item != {}]
            # An empty list can be said; a list that holds nothing but empty structures cannot.
            return kept_items if kept_items or not value else {}
        case _:
            return value


def readable(parsed: dict[str, Any]) -> dict[str, Any]:
    """A parsed answer with its stream read."""
    return {key: value.read() if hasattr(value, "read") else value for key, value in parsed.items()}


def empty_stream(shape: Any) -> dict[str, bytes]:
    """Botocore fills in a body of bytes even if there is none."""
    payload = shape.serialization.get("payload") if shape is not None else None
    return {payload: b""} if payload is not None and shape.members[payload].type_name == "blob" else {}


def status_members(shape: Any, status: int) -> dict[str, int]:
    """Botocore fills in a member that is bound to the HTTP status."""
    members = {} if shape is None else shape.members
    return {name: status for name, member in members.items() if member.serialization.get("location") == "statusCode"}
