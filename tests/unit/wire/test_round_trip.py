"""Every operation of every service: what botocore writes, the wire reads; what the wire writes, botocore reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive.core.errors import Bug
from redrive.wire.model.files import Models
from redrive.wire.route import Router
from redrive.wire.services import SERVICES
from tests.unit.wire.botocore_client import Draw, http_request, parse, service_model, with_datetimes

EVENT_STREAMS = [
    ("kinesis", "SubscribeToShard", "EventStream"),
    ("lambda", "InvokeWithResponseStream", "EventStream"),
    ("logs", "GetLogObject", "fieldStream"),
    ("logs", "StartLiveTail", "responseStream"),
]
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
    draw = Draw(seed)
    for operation in service_model(service).operation_names:
        shape = service_model(service).operation_model(operation).input_shape
        params = draw.structure(shape) if shape is not None else {}
        request = http_request(service, operation, with_datetimes(params))

        route = router.route(request)
        decoded = route.codec.decode(route.operation, request, route.path_params)

        assert (route.service.name, route.operation.name) == (service, operation)
        assert (operation, decoded) == (operation, as_sent(service, shape, params))


@every_service
@some_examples
@given(seed=SEEDS)
def test_result_encodes_to_what_botocore_parses(router: Router, models: Models, service: str, seed: int) -> None:
    """Botocore's parser inverts encoding, for every operation that does not answer with a stream of events."""
    draw = Draw(seed)
    codec = router.codec(service, service_model(service).protocol)
    for operation, model in models.service(service).operations.items():
        if operation in {name for _, name, _ in EVENT_STREAMS}:
            continue
        shape = service_model(service).operation_model(operation).output_shape
        result = draw.structure(shape) if shape is not None else {}

        response = codec.encode(model, result, "id-1")
        parsed = parse(service, operation, response)

        metadata = parsed.pop("ResponseMetadata")
        # From an answer in CBOR that has no output, botocore reads the headers and nothing else.
        request_id = metadata.get("RequestId", metadata["HTTPHeaders"].get("x-amzn-requestid"))
        assert (operation, request_id) == (operation, "id-1")
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


def as_sent(service: str, shape: Any, params: dict[str, Any]) -> dict[str, Any]:
    """What of the parameters botocore puts on the wire: it sends a missing body structure as an empty one."""
    if service_model(service).protocol == "query":
        sent: dict[str, Any] = without_empty(params)
        return sent
    payload = shape.serialization.get("payload") if shape is not None else None
    if payload is not None and shape.members[payload].type_name == "structure":
        return {payload: {}} | params
    return params


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
