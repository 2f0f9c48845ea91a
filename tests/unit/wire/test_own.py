"""The protocol of our own surface: what botocore writes and reads by our model, and what a person is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive.core.errors import Bug, ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models
from redrive.wire.protocols.own import MESSAGE_MAX, OwnCodec, usage
from redrive.wire.protocols.paths import PathTable
from redrive.wire.route import Router, Unroutable
from redrive.wire.services import OWN_SERVICE
from tests.unit.wire.botocore_client import Draw, http_request, parse, service_model, signature, with_datetimes

NAME = OWN_SERVICE.name
SERVICE = Models().service(NAME)
CODEC = OwnCodec(SERVICE)
PATHS = PathTable(SERVICE.operations.values())

some_examples = settings(
    max_examples=20, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
every_seed = given(seed=st.integers(min_value=0, max_value=2**32))


def decoded(name: str, query: str = "", body: bytes = b"") -> dict[str, Any]:
    operation = SERVICE.operations[name]
    return CODEC.decode(operation, HttpRequest(operation.method, operation.uri, query, {}, body), {})


def refused(name: str, query: str = "", body: bytes = b"") -> str:
    with pytest.raises(ServiceError) as caught:
        decoded(name, query, body)
    assert caught.value.code == "SerializationException"
    return caught.value.message


def encoded(name: str, result: dict[str, Any]) -> Any:
    return json.loads(CODEC.encode(SERVICE.operations[name], result, "id-1").body)


@every_seed
@some_examples
def test_request_of_botocore_finds_its_operation_and_decodes_to_its_parameters(seed: int) -> None:
    draw = Draw(seed)
    for name in service_model(NAME).operation_names:
        shape = service_model(NAME).operation_model(name).input_shape
        params = draw.structure(shape) if shape is not None else {}
        request = http_request(NAME, name, with_datetimes(params))

        found = PATHS.match(request.method, request.path, request.query)

        assert found is not None
        operation, labels = found
        # A text without a character in it is as none, where it stands in the query; so is a body without a byte.
        expected = {
            key: value for key, value in params.items() if value not in ("", b"") or not _may_be_none(shape, key)
        }
        assert (operation.name, CODEC.decode(operation, request, labels)) == (name, expected)


def _may_be_none(shape: Any, member: str) -> bool:
    is_body = shape.serialization.get("payload") == member
    return is_body or bool(shape.members[member].serialization.get("location") == "querystring")


@every_seed
@some_examples
def test_answer_encodes_to_what_botocore_parses(seed: int) -> None:
    draw = Draw(seed)
    for name, operation in SERVICE.operations.items():
        shape = service_model(NAME).operation_model(name).output_shape
        if shape is None:
            continue
        result = draw.structure(shape)

        parsed = parse(NAME, name, CODEC.encode(operation, result, "id-1"))

        parsed.pop("ResponseMetadata")
        if operation.output is not None and operation.output.payload is not None:
            parsed["content"] = parsed["content"].read()
            result = {"content": b""} | result
            parsed.pop("content_type", None)
            result.pop("content_type", None)  # Without one, the bytes have that of bytes.
        assert (name, parsed) == (name, result)


@pytest.mark.parametrize("code", sorted(SERVICE.errors))
def test_botocore_reads_the_name_and_the_status_of_each_declared_error(code: str) -> None:
    response = CODEC.encode_error(ServiceError(code, "It is so.", members={"next": "Do that."}), "id-1")

    parsed = parse(NAME, "AddFault", response)

    assert parsed["Error"]["Code"] == code
    assert json.loads(response.body) == {"error": "It is so.", "code": code, "next": "Do that."}
    traits = SERVICE.errors[code].error
    assert traits is not None
    assert response.status == traits.http_status


def test_what_has_no_value_is_null_and_not_left_out() -> None:
    assert encoded("ListRuns", {"runs": [], "after": None}) == {"runs": [], "after": None}
    tables = encoded("GetStoreReport", {"tables": {"runs": None, "notes": 1}})["tables"]
    assert tables == {"runs": None, "notes": 1}


def test_answer_with_a_member_that_the_model_does_not_have_is_a_bug() -> None:
    with pytest.raises(Bug, match="colour"):
        encoded("GetClock", {"colour": "red"})


def test_bytes_have_the_content_type_that_the_answer_names_or_none_in_particular() -> None:
    code = CODEC.encode(SERVICE.operations["GetCode"], {"content_type": "application/zip", "content": b"zip"}, "id-1")
    backup = CODEC.encode(SERVICE.operations["GetBackupContent"], {"content": b"raw"}, "id-1")

    assert [value for name, value in code.headers if name == "Content-Type"] == ["application/zip"]
    assert [value for name, value in backup.headers if name == "Content-Type"] == ["application/octet-stream"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"target": 5}', "target is 5; it must be a text."),
        (b'{"target": "a", "times": "3"}', "times is '3'; it must be a whole number."),
        (b'{"target": "a", "rate": true}', "rate is True; it must be a number."),
        (b'{"target": "a", "colour": "red"}', "There is no 'colour' here."),
        (b"[]", "The body is not a JSON object."),
        (b"7", "The body is not a JSON object."),
    ],
)
def test_member_that_cannot_be_read_is_refused_by_its_name(body: bytes, said: str) -> None:
    assert refused("AddFault", body=body) == said


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"target": "\\ud800"}', b"[" * 200_000])
def test_body_that_is_no_json_is_refused(body: bytes) -> None:
    assert refused("AddFault", body=body).startswith("The body is not JSON")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("limit=many", "limit is 'many'; it must be a whole number."),
        ("colour=red", "There is no parameter 'colour' here."),
        ("Limit=1", "There is no parameter 'Limit' here."),
    ],
)
def test_parameter_that_cannot_be_read_is_refused_by_its_name(query: str, said: str) -> None:
    assert refused("ListRuns", query) == said


def test_parameter_without_a_value_is_as_none_and_the_last_of_a_name_counts() -> None:
    assert decoded("ListRuns", "state=&after=&limit=1&limit=2") == {"limit": 2}


def test_signature_in_the_url_is_no_parameter_of_the_operation() -> None:
    assert decoded("ListRuns", "limit=1&X-Amz-Signature=00&X-Amz-Credential=a") == {"limit": 1}


def test_operation_without_parameters_reads_neither_query_nor_body() -> None:
    assert decoded("Reset", "now=yes", b"please") == {}


def test_null_in_a_body_is_as_none() -> None:
    assert decoded("AddFault", body=b'{"target": "a", "rate": null}') == {"target": "a"}


def test_long_refusal_shows_its_beginning() -> None:
    response = CODEC.encode_error(ServiceError("ValidationException", "x" * 5_000), "id-1")

    assert json.loads(response.body)["error"] == "x" * MESSAGE_MAX + "…"
    assert len(refused("ListRuns", f"limit={'5' * 9_000}")) < MESSAGE_MAX


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Reset", "POST /_redrive/reset takes nothing."),
        ("GetRun", "GET /_redrive/runs/{id} takes nothing else."),
        (
            "AddFault",
            (
                "POST /_redrive/faults takes target and may have error, message, times, rate, latency_s, s3, event "
                "in its JSON body."
            ),
        ),
        ("ListFaults", "GET /_redrive/faults takes nothing."),
    ],
)
def test_usage_says_what_an_operation_takes(name: str, said: str) -> None:
    assert usage(SERVICE.operations[name]) == said


@pytest.mark.parametrize("path", ["/_redrive/reset", "//_redrive/reset", "/./_redrive/reset"])
@pytest.mark.parametrize("headers", [{}, signature(NAME)], ids=["unsigned", "signed"])
def test_surface_is_not_reached_by_the_routes_of_aws(path: str, headers: dict[str, str]) -> None:
    """What guards the surface looks at how a path begins; a path that only means the same must not get by it."""
    with pytest.raises(Unroutable):
        Router(Models()).route(HttpRequest("POST", path, "", headers, b""))
