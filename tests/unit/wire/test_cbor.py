"""Smithy's RPC v2 with CBOR: how requests find their way, what is refused, and how errors look.

Source: https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html
"""

from __future__ import annotations

import gzip
from typing import Any

import botocore.parsers
import pytest
from botocore.awsrequest import HeadersDict
from cbor2 import CBORSimpleValue, CBORTag, undefined
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.core.errors import Bug, ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from redrive.wire.protocols.cbor_body import dump
from redrive.wire.protocols.cbor_body import parse as parse_body
from redrive.wire.route import Router, Unroutable
from tests.unit.wire.botocore_client import parse

SPOKEN = {"smithy-protocol": "rpc-v2-cbor"}
SERVICE = "/service/GraniteServiceVersion20100801/operation"


def request(path: str, body: bytes = b"", **headers: str) -> HttpRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpRequest("POST", path, "", SPOKEN | named, body)


def read(router: Router, operation: str, value: object) -> dict[str, Any]:
    return read_bytes(router, operation, dump(value))


def read_bytes(router: Router, operation: str, body: bytes, **headers: str) -> dict[str, Any]:
    sent = request(f"{SERVICE}/{operation}", body, **headers)
    route = router.route(sent)
    return route.codec.decode(route.operation, sent, route.path_params)


def read_map(body: bytes) -> dict[str, Any]:
    document: Any = parse_body(body)
    assert isinstance(document, dict)
    return document


def error_seen_by_botocore(response: HttpResponse) -> dict[str, Any]:
    parser = botocore.parsers.create_parser("smithy-rpc-v2-cbor")
    answer = {"status_code": response.status, "headers": HeadersDict(response.headers), "body": response.body}
    parsed: dict[str, Any] = parser.parse(answer, None)
    return parsed


@pytest.mark.parametrize("prefix", ["", "/monitoring", "/a/b"])
@pytest.mark.parametrize("namespace", ["", "com.amazonaws.cloudwatch."])
def test_path_names_service_and_operation(router: Router, prefix: str, namespace: str) -> None:
    """An endpoint may have a prefix, the service its namespace."""
    path = f"{prefix}/service/{namespace}GraniteServiceVersion20100801/operation/ListMetrics"

    route = router.route(request(path))

    assert (route.service.name, route.operation.name) == ("cloudwatch", "ListMetrics")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"{SERVICE}/Dance", "The operation Dance does not exist."),
        ("/service/AmazonSQS/operation/SendMessage", "Unable to find an operation for POST "),
        ("/service/Nobody/operation/SendMessage", "The service Nobody is not served here."),
        ("/", "Unable to find an operation for POST /."),
    ],
)
def test_operation_that_does_not_exist_is_answered_in_cbor(router: Router, path: str, message: str) -> None:
    """Also where the service speaks other protocols only."""
    with pytest.raises(Unroutable) as caught:
        router.route(request(path))

    response = caught.value.codec.encode_error(caught.value, "id-1")
    document = read_map(response.body)
    assert (response.status, document["__type"]) == (404, "com.amazon.coral.service#UnknownOperationException")
    assert document["message"].startswith(message)


def test_path_counts_only_with_the_header(router: Router) -> None:
    """Without it, the request is one of another protocol."""
    with pytest.raises(Unroutable):
        router.route(HttpRequest("POST", f"{SERVICE}/ListMetrics", "", {}, b""))


def test_unknown_members_and_nulls_are_left_out_of_a_map(router: Router) -> None:
    """A newer client may know more members than the model."""
    sent = {"Namespace": "n", "MetricName": None, "Dimensions": undefined, "Colour": 1, b"MetricName": "m"}

    assert read(router, "ListMetrics", sent) == {"Namespace": "n"}
    assert read_bytes(router, "ListMetrics", b"") == {}


def test_scalars_are_read_by_their_shape(router: Router) -> None:
    """A double may come as an integer, an integer as a whole double; a timestamp has its tag."""
    at = CBORTag(1, 1363896240.5)
    datum: object = {"MetricName": "m", "Value": 2, "StorageResolution": 60.0, "Timestamp": at}

    params = read(router, "PutMetricData", {"Namespace": "n", "MetricData": [datum]})

    assert repr(params["MetricData"]) == (
        "[{'MetricName': 'm', 'Value': 2.0, 'StorageResolution': 60, 'Timestamp': 1363896240500}]"
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([1], "Start of structure or map found where not expected."),
        (1, "Unexpected value type in payload"),
        ({"Namespace": 1}, "NUMBER_VALUE can not be converted to a String"),
        ({"Namespace": b"n"}, "EMBEDDED_VALUE can not be converted to a String"),
        ({"Namespace": CBORSimpleValue(99)}, "EMBEDDED_VALUE can not be converted to a String"),
        (
            {"EntityMetricData": [{"Entity": {"Attributes": {b"a": "x"}}}]},
            "EMBEDDED_VALUE can not be converted to a String",
        ),
        ({"MetricData": "x"}, "Unexpected field type"),
        ({"MetricData": [None]}, "A list must not contain null values."),
        ({"MetricData": [{"Value": "1"}]}, "STRING_VALUE can not be converted to a Double"),
        ({"MetricData": [{"StorageResolution": 2**31}]}, "NUMBER_VALUE can not be converted to an Integer"),
        ({"MetricData": [{"Timestamp": 5}]}, "NUMBER_VALUE can not be converted to a Date"),
        ({"MetricData": [{"Timestamp": CBORTag(0, 5)}]}, "EMBEDDED_VALUE can not be converted to a Date"),
        ({"MetricData": [{"Timestamp": CBORTag(1, "5")}]}, "EMBEDDED_VALUE can not be converted to a Date"),
        ({"MetricData": [{"Timestamp": CBORTag(1, float("nan"))}]}, "EMBEDDED_VALUE can not be converted to a Date"),
    ],
)
def test_value_of_the_wrong_type_in_cbor_is_refused(router: Router, document: object, message: str) -> None:
    """SerializationException says which token met which type."""
    with pytest.raises(ServiceError) as caught:
        read(router, "PutMetricData", document)

    assert (caught.value.code, caught.value.message) == ("SerializationException", message)


def test_bytes_that_are_no_cbor_are_refused(router: Router) -> None:
    """Cut off, or with something after the value."""
    for body in (b"\xa1\x61", b"\xa0\xa0"):
        with pytest.raises(ServiceError, match=r"SerializationException: .* as CBOR"):
            read_bytes(router, "ListMetrics", body)


def test_body_may_be_compressed_with_gzip(router: Router) -> None:
    """As SDKs do for PutMetricData."""
    body = gzip.compress(dump({"Namespace": "n" * 20_000}))

    assert read_bytes(router, "PutMetricData", body, content_encoding="gzip") == {"Namespace": "n" * 20_000}


@pytest.mark.parametrize(
    "body", [b"\xa0", gzip.compress(b"\xa0", mtime=0)[:-9], gzip.compress(bytes(65 * 1024 * 1024), mtime=0)]
)
def test_body_that_does_not_inflate_is_refused(router: Router, body: bytes) -> None:
    """No gzip, cut off, or larger inside than any body may be."""
    with pytest.raises(ServiceError, match="SerializationException"):
        read_bytes(router, "PutMetricData", body, content_encoding="gzip")


@settings(max_examples=100, database=None, deadline=None, derandomize=True)
@given(body=st.binary(max_size=60))
def test_any_body_is_read_or_refused_as_the_callers_fault(router: Router, body: bytes) -> None:
    """Never as ours."""
    refused = ""
    try:
        read_bytes(router, "PutMetricData", body)
    except ServiceError as error:
        refused = error.code

    assert refused in {"", "SerializationException"}


def test_answer_says_its_protocol(router: Router, models: Models) -> None:
    """A client refuses an answer without the header."""
    codec = router.codec("cloudwatch", "smithy-rpc-v2-cbor")
    operations = models.service("cloudwatch").operations

    full = codec.encode(operations["ListMetrics"], {"Metrics": [], "NextToken": None}, "id-1")
    empty = codec.encode(operations["PutMetricData"], {}, "id-1")

    assert (parse_body(full.body), empty.body) == ({"Metrics": []}, b"")
    assert ("Content-Type", "application/cbor") in full.headers
    for response in (full, empty):
        assert ("smithy-protocol", "rpc-v2-cbor") in response.headers
    with pytest.raises(Bug, match="answers nothing"):
        codec.encode(operations["PutMetricData"], {"Metrics": []}, "id-1")


@pytest.mark.parametrize("value", [0, 1, 0.5, -1e300, float("inf"), float("-inf")])
def test_double_is_written_as_one_whatever_its_type_here(router: Router, models: Models, value: float) -> None:
    """botocore hands its user a float."""
    codec = router.codec("cloudwatch", "smithy-rpc-v2-cbor")
    operation = models.service("cloudwatch").operations["GetMetricStatistics"]

    response = codec.encode(operation, {"Datapoints": [{"Sum": value}]}, "id-1")

    (point,) = parse("cloudwatch", "GetMetricStatistics", response)["Datapoints"]
    assert (type(point["Sum"]), point["Sum"]) == (float, value)


def test_error_in_cbor_has_both_its_names(router: Router) -> None:
    """The shape's name in the body, the code of the query protocol in a header."""
    response = router.codec("cloudwatch", "smithy-rpc-v2-cbor").encode_error(
        ServiceError("InvalidParameterValueException", "The value is wrong."), "id-1"
    )

    assert response.status == 400
    assert parse_body(response.body) == {
        "__type": "com.amazonaws.cloudwatch#InvalidParameterValueException",
        "message": "The value is wrong.",
    }
    assert error_seen_by_botocore(response)["Error"] == {
        "Code": "InvalidParameterValue",
        "QueryErrorCode": "InvalidParameterValueException",
        "Message": "The value is wrong.",
        "Type": "Sender",
    }


def test_fault_of_the_server_is_said_in_cbor(router: Router) -> None:
    """500, and `Receiver`."""
    response = router.codec("cloudwatch", "smithy-rpc-v2-cbor").encode_error(
        ServiceError("InternalServiceFault", "Oh."), "id-1"
    )

    assert (response.status, error_seen_by_botocore(response)["Error"]["Type"]) == (500, "Receiver")
