"""REST with JSON: members in the path, the query, headers, the status and the body."""

from __future__ import annotations

from typing import Any

import botocore.parsers
import orjson
import pytest
from botocore.awsrequest import HeadersDict

from redrive.core.errors import Bug, ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from redrive.wire.route import Router
from tests.unit.wire.botocore_client import signature

INVOCATIONS = "/2015-03-31/functions/f/invocations"


def decode(
    router: Router, service: str, method: str, path: str, *, query: str = "", body: bytes = b"", **headers: str
) -> dict[str, Any]:
    request = HttpRequest(method, path, query, signature(service) | headers, body)
    route = router.route(request)
    return route.codec.decode(route.operation, request, route.path_params)


def test_payload_is_the_body_and_headers_are_members(router: Router) -> None:
    """Invoke's payload is not JSON to the wire."""
    params = decode(
        router, "lambda", "POST", INVOCATIONS, query="Qualifier=1", body=b"{bad", **{"x-amz-invocation-type": "Event"}
    )

    assert params == {"FunctionName": "f", "Qualifier": "1", "InvocationType": "Event", "Payload": b"{bad"}


def test_query_string_repeats_a_list(router: Router) -> None:
    """`TagKeys=a&TagKeys=b`."""
    params = decode(router, "scheduler", "DELETE", "/tags/arn%3Aaws", query="TagKeys=a&TagKeys=b%20c")

    assert params == {"ResourceArn": "arn:aws", "TagKeys": ["a", "b c"]}


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2025-10-07T15%3A33%3A16Z", 1759851196000),
        ("2025-10-07T15%3A33%3A16.250Z", 1759851196250),
        ("2025-10-07T17%3A33%3A16%2B02%3A00", 1759851196000),
        ("1759851196.25", 1759851196250),
        ("Tue%2C%2007%20Oct%202025%2015%3A33%3A16%20GMT", 1759851196000),
    ],
)
def test_timestamp_is_read_in_any_of_its_spellings(router: Router, text: str, instant: int) -> None:
    """ISO 8601, seconds since the epoch, RFC 822."""
    path = "/2025-12-01/functions/f/durable-executions"

    params = decode(router, "lambda", "GET", path, query=f"StartedAfter={text}")

    assert params == {"FunctionName": "f", "StartedAfter": instant}


@pytest.mark.parametrize("date", ["1e18", "1e30", "253402300800", "-62135596801", '"1e18"', '"10000-01-01T00:00:00Z"'])
def test_timestamp_outside_of_the_years_1_to_9999_is_refused(router: Router, date: str) -> None:
    """No client could read it again."""
    body = f'{{"EndDate":{date}}}'.encode()

    with pytest.raises(ServiceError, match="SerializationException"):
        decode(router, "scheduler", "POST", "/schedules/s", body=body)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("MaxResults=many", "'many' can not be converted to the type integer"),
        ("MaxResults=1_0", "'1_0' can not be converted to the type integer"),
        ("MaxResults=", "'' can not be converted to the type integer"),
    ],
)
def test_query_value_of_the_wrong_type_is_refused(router: Router, query: str, message: str) -> None:
    """SerializationException, named in a header."""
    with pytest.raises(ServiceError) as caught:
        decode(router, "scheduler", "GET", "/schedules", query=query)
    response = router.codec("scheduler", "rest-json").encode_error(caught.value, "id-1")

    assert caught.value.message == message
    assert response.status == 400
    assert ("x-amzn-ErrorType", "SerializationException") in response.headers


def encode(router: Router, models: Models, operation: str, result: dict[str, Any]) -> HttpResponse:
    return router.codec("lambda", "rest-json").encode(models.service("lambda").operations[operation], result, "id-1")


def test_invoke_answers_with_status_headers_and_raw_payload(router: Router, models: Models) -> None:
    """A member that is bound to the status is the status; the payload is the body as it is."""
    response = encode(
        router,
        models,
        "Invoke",
        {"StatusCode": 202, "FunctionError": "Unhandled", "LogResult": None, "Payload": b"\x00"},
    )

    assert (response.status, response.body) == (202, b"\x00")
    assert ("X-Amz-Function-Error", "Unhandled") in response.headers
    assert "X-Amz-Log-Result" not in dict(response.headers)


def test_status_of_success_is_the_models(router: Router, models: Models) -> None:
    """Creating a function is 201; deleting a mapping 202; 204 has no body."""
    assert encode(router, models, "CreateFunction", {"FunctionName": "f"}).status == 201
    assert encode(router, models, "DeleteEventSourceMapping", {}).status == 202
    nothing = encode(router, models, "DeleteFunctionConcurrency", {})
    assert (nothing.status, nothing.body) == (204, b"")


def test_unknown_member_beside_a_payload_is_our_bug(router: Router, models: Models) -> None:
    """A misspelt header must not vanish on its way out."""
    with pytest.raises(Bug, match="FunctionErr"):
        encode(router, models, "Invoke", {"FunctionErr": "x"})


@pytest.mark.parametrize(
    ("service", "error", "status", "body"),
    [
        (
            "lambda",
            ServiceError("ResourceNotFoundException", "m"),
            404,
            {"Type": "User", "Message": "m"},
        ),
        ("lambda", ServiceError("ServiceException", "m"), 500, {"Type": "Service", "Message": "m"}),
        ("lambda", ServiceError("InvalidParameterValueException", "m"), 400, {"Type": "User", "message": "m"}),
        ("scheduler", ServiceError("ConflictException", "m"), 409, {"Message": "m"}),
        ("scheduler", ServiceError("ValidationException", "m"), 400, {"Message": "m"}),
        ("scheduler", ServiceError("AccessDeniedException", "m"), 403, {"Message": "m"}),
    ],
)
def test_error_has_the_status_and_spelling_of_its_shape(
    router: Router, service: str, error: ServiceError, status: int, body: dict[str, str]
) -> None:
    """The code is in a header; Lambda also says whose fault it was."""
    response = router.codec(service, "rest-json").encode_error(error, "id-1")

    parsed = botocore.parsers.create_parser("rest-json").parse(
        {"status_code": response.status, "headers": HeadersDict(response.headers), "body": response.body}, None
    )

    assert response.status == status
    assert orjson.loads(response.body) == body
    assert parsed["Error"] == {"Code": error.code, "Message": "m"}


def test_throttling_says_when_to_come_back(router: Router) -> None:
    """A member of an error may be a header."""
    error = ServiceError(
        "TooManyRequestsException",
        "Rate exceeded",
        members={"retryAfterSeconds": "1", "Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"},
    )

    response = router.codec("lambda", "rest-json").encode_error(error, "id-1")

    assert response.status == 429
    assert ("Retry-After", "1") in response.headers
    assert orjson.loads(response.body)["Reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
