"""Function URLs: their configuration, who may call, the event, the response, and pages."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.services.lambda_.model.url_payloads import url_response
from redrive.services.lambda_.model.urls import url_text
from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse
from tests.unit.services.lambda_.functions import ARN, ROLE, Rig, archive
from tests.unit.services.lambda_.test_wire import TRUST

NOT_FOUND = "ResourceNotFoundException"
PAGE = "http://localhost:3000"
HANDLER = """
import json

def handler(event, context):
    answer = json.loads(event["body"]) if event.get("body") and not event["isBase64Encoded"] else {"event": event}
    if answer == "raise":
        raise ValueError("broken")
    return answer
"""
ID = "0" * 32


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """One world for all tests of this module: a function `worker`, which returns its body, or else its event."""
    world = World(seed=1)
    world.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))
    world.call(
        "lambda", "CreateFunction", FunctionName="worker", Runtime="python3.12", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive(HANDLER)},
    )  # fmt: skip
    yield world
    world.close()


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    """The world, afterwards without the function's URL and its policy."""
    yield shared
    shared.call("lambda", "DeleteFunctionUrlConfig", FunctionName="worker")
    for sid in ("url", "run"):
        with contextlib.suppress(ServiceError):
            shared.call("lambda", "RemovePermission", FunctionName="worker", StatementId=sid)


def open_to_all(world: World, **params: Any) -> str:
    """Give the function a URL that everybody may call; answers the URL's host."""
    created = world.call("lambda", "CreateFunctionUrlConfig", FunctionName="worker", AuthType="NONE", **params)
    permit(world)
    return str(created["FunctionUrl"]).removeprefix("http://").rstrip("/")


def permit(world: World, *sids: str) -> None:
    """Allow everybody to call the URL, and to run the function by it."""
    given = {"FunctionName": "worker", "Principal": "*"}
    if "url" in (sids or ("url", "run")):
        world.call(
            "lambda", "AddPermission", StatementId="url", Action="lambda:InvokeFunctionUrl",
            FunctionUrlAuthType="NONE", **given,
        )  # fmt: skip
    if "run" in (sids or ("url", "run")):
        world.call(
            "lambda", "AddPermission", StatementId="run", Action="lambda:InvokeFunction", InvokedViaFunctionUrl=True,
            **given,
        )  # fmt: skip


def ask(world: World, host: str, body: object = None, *, path: str = "/", method: str = "POST", query: str = "",
        **headers: str) -> HttpResponse:  # fmt: skip
    """Send a request to the URL; a body is sent as JSON."""
    given = {"host": host} | {name.replace("_", "-"): value for name, value in headers.items()}
    content = b"" if body is None else json.dumps(body).encode()
    if content:
        given.setdefault("content-type", "application/json")
    return world.gateway.respond(HttpRequest(method, path, query, given, content))


def event_of(response: HttpResponse) -> dict[str, Any]:
    """The event that the function answered."""
    return dict(json.loads(response.body)["event"])


def test_event_has_the_form_2_0(world: World) -> None:
    host = open_to_all(world)

    event = event_of(
        ask(
            world, host, path="/a/b%20c", query="x=1&x=2&y=", method="GET", cookie="a=1; b=2", user_agent="test",
            x_own="v",
        )
    )  # fmt: skip

    context = event.pop("requestContext")
    url_id = host.partition(".")[0]
    assert event == {
        "version": "2.0", "routeKey": "$default", "rawPath": "/a/b%20c", "rawQueryString": "x=1&x=2&y=",
        "cookies": ["a=1", "b=2"], "headers": {"host": host, "user-agent": "test", "x-own": "v"},
        "queryStringParameters": {"x": "1,2", "y": ""}, "isBase64Encoded": False,
    }  # fmt: skip
    assert (context["accountId"], context["apiId"], context["domainPrefix"]) == ("anonymous", url_id, url_id)
    assert context["http"] == {
        "method": "GET", "path": "/a/b%20c", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "test",
    }  # fmt: skip
    assert context["time"].endswith(" +0000")


@pytest.mark.parametrize(
    ("kind", "is_base64"),
    [
        ("text/plain", False),
        ("application/json", False),
        ("multipart/form-data; boundary=x", True),
        ("image/png", True),
    ],
)
def test_body_is_text_or_base64_by_its_type(world: World, kind: str, *, is_base64: bool) -> None:
    host = open_to_all(world)
    request = HttpRequest("PUT", "/", "", {"host": host, "content-type": kind}, b'{"x": 1}')

    response = world.gateway.respond(request)

    shown = json.loads(response.body)
    assert shown == {"x": 1} if not is_base64 else shown["event"]["body"] == base64.b64encode(b'{"x": 1}').decode()


@pytest.mark.parametrize(
    ("answer", "status", "kind", "body"),
    [
        ({"a": 1}, 200, "application/json", b'{"a":1}'),
        ("plain", 200, "application/json", b"plain"),
        (7, 200, "application/json", b"7"),
        ([1, 2], 200, "application/json", b"[1,2]"),
        ({"statusCode": 201, "body": "x"}, 201, "application/json", b"x"),
        ({"statusCode": "404", "headers": {"Content-Type": "text/html"}, "body": "<p>"}, 404, "text/html", b"<p>"),
        ({"statusCode": 200, "body": "AP8=", "isBase64Encoded": True}, 200, "application/json", b"\x00\xff"),
        (
            {"statusCode": 200, "body": "no base64", "isBase64Encoded": True},
            502,
            "text/plain",
            b"Internal Server Error",
        ),
        ({"statusCode": 1000}, 502, "text/plain", b"Internal Server Error"),
        ("raise", 502, "text/plain", b"Internal Server Error"),
    ],
)
def test_answer_of_the_function_becomes_the_response(
    world: World, answer: object, status: int, kind: str, body: bytes
) -> None:
    response = ask(world, open_to_all(world), answer)

    headers = dict(response.headers)
    assert (response.status, headers["content-type"]) == (status, kind)
    assert response.body.replace(b" ", b"") == body.replace(b" ", b"")
    assert headers["x-amzn-requestid"]


def test_cookies_of_the_answer_are_set(world: World) -> None:
    answer = {"statusCode": 200, "cookies": ["a=1", "b=2"], "headers": {"X-N": 1, "bad\nname": "x", "X-Bad": "a\r\nb"}}

    response = ask(world, open_to_all(world), answer)

    assert [value for name, value in response.headers if name == "set-cookie"] == ["a=1", "b=2"]
    names = {name for name, _ in response.headers}
    assert "x-n" in names
    assert not names & {"bad\nname", "x-bad"}


MEMBERS = st.sampled_from(["statusCode", "headers", "cookies", "body", "isBase64Encoded", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(MEMBERS, inner),
)


@given(JSON)
def test_any_answer_is_a_response_without_line_breaks_in_headers(value: object) -> None:
    response = url_response(json.dumps(value).encode())

    assert 100 <= response["Status"] <= 599
    assert isinstance(response["Body"], bytes)
    assert not any(letter in text for pair in response["Headers"] for text in pair for letter in "\r\n\0")


def test_streamed_answer_has_a_prelude() -> None:
    prelude = json.dumps({"statusCode": 202, "headers": {"Content-Type": "text/html"}, "cookies": ["a=1"]}).encode()

    response = url_response(prelude + b"\0" * 8 + b"<p>\0")

    assert (response["Status"], response["Body"]) == (202, b"<p>\0")
    assert response["Headers"] == [("content-type", "text/html"), ("set-cookie", "a=1")]


@pytest.mark.parametrize("sids", [(), ("url",), ("run",)])
def test_url_for_all_needs_both_permissions(world: World, sids: tuple[str, ...]) -> None:
    created = world.call("lambda", "CreateFunctionUrlConfig", FunctionName="worker", AuthType="NONE")
    if sids:
        permit(world, *sids)

    response = ask(world, str(created["FunctionUrl"]).removeprefix("http://").rstrip("/"))

    assert response.status == 403
    assert ("x-amzn-errortype", "AccessDeniedException") in response.headers
    assert json.loads(response.body)["Message"].startswith("Forbidden. For troubleshooting Function URL authorization")


@pytest.mark.parametrize(("signature", "status"), [("", 403), ("AWS4-HMAC-SHA256 Credential={}", 200)])
def test_url_of_iam_answers_those_who_sign(world: World, signature: str, status: int) -> None:
    created = world.call("lambda", "CreateFunctionUrlConfig", FunctionName="worker", AuthType="AWS_IAM")
    host = str(created["FunctionUrl"]).removeprefix("http://").rstrip("/")
    credential = "test/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0"

    response = ask(world, host, method="GET", authorization=signature.format(credential), x_amz_date="20260101T000000Z")

    assert response.status == status
    if status == 200:
        assert event_of(response)["requestContext"]["authorizer"]["iam"]["accountId"] == "000000000000"


def test_other_authorization_is_the_functions_own(world: World) -> None:
    response = ask(world, open_to_all(world), method="GET", authorization="Bearer x")

    assert event_of(response)["headers"]["authorization"] == "Bearer x"


@pytest.mark.parametrize(
    "headers",
    [{"origin": PAGE}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}, {"referer": f"{PAGE}/x"}],
)
def test_page_that_the_url_does_not_name_is_kept_out(world: World, headers: dict[str, str]) -> None:
    host = open_to_all(world)
    ran = metric(world, "Invocations")

    response = ask(world, host, **headers)

    assert response.status == 403
    assert b"does not allow the page" in response.body
    assert metric(world, "Invocations") == ran


def test_typed_url_is_no_page(world: World) -> None:
    response = ask(world, open_to_all(world), method="GET", sec_fetch_site="none", sec_fetch_mode="navigate")

    assert response.status == 200


def test_page_that_the_url_names_gets_its_headers(world: World) -> None:
    cors = {"AllowOrigins": [PAGE], "AllowCredentials": True, "ExposeHeaders": ["x-a"]}
    host = open_to_all(world, Cors=cors)

    response = ask(world, host, {"statusCode": 200, "headers": {"Access-Control-Allow-Origin": "*"}}, origin=PAGE)

    shown = [pair for pair in response.headers if pair[0].startswith(("access-", "vary"))]
    assert shown == [
        ("access-control-allow-origin", PAGE), ("vary", "Origin"), ("access-control-allow-credentials", "true"),
        ("access-control-expose-headers", "x-a"),
    ]  # fmt: skip


def test_preflight_is_answered_without_a_run(world: World) -> None:
    host = open_to_all(world, Cors={"AllowOrigins": ["*"], "AllowMethods": ["PUT"], "MaxAge": 60})
    ran = metric(world, "Invocations")

    response = ask(world, host, method="OPTIONS", origin=PAGE, access_control_request_method="PUT")

    assert response.status == 200
    headers = dict(response.headers)
    assert headers["access-control-allow-origin"] == "*"
    assert (headers["access-control-allow-methods"], headers["access-control-max-age"]) == ("PUT", "60")
    assert metric(world, "Invocations") == ran


def test_url_is_reached_by_path_and_under_the_name_of_aws(world: World) -> None:
    url_id = open_to_all(world).partition(".")[0]

    by_path = ask(world, "127.0.0.1", path=f"/_redrive/function-url/{url_id}/a", method="GET")
    by_name = ask(world, f"{url_id}.lambda-url.us-east-1.on.aws", path="/b", method="GET")
    unknown = ask(world, f"{ID}.lambda-url.us-east-1.on.aws", method="GET")

    assert (event_of(by_path)["rawPath"], event_of(by_name)["rawPath"], unknown.status) == ("/a", "/b", 403)


def test_requests_are_counted_with_their_errors(world: World) -> None:
    host = open_to_all(world)
    before = [metric(world, name) for name in ("UrlRequestCount", "Url4xxCount", "Url5xxCount")]

    for answer in ("raise", {"statusCode": 404}, {}):
        ask(world, host, answer)

    after = [metric(world, name) for name in ("UrlRequestCount", "Url4xxCount", "Url5xxCount")]
    assert [new - old for new, old in zip(after, before, strict=True)] == [3, 1, 1]


def metric(world: World, name: str) -> float:
    """The sum of a metric of the function."""
    dimensions = [{"Name": "FunctionName", "Value": "worker"}]
    now = world.clock.now()
    world.advance(minutes=2)
    found = world.call(
        "cloudwatch", "GetMetricStatistics", Namespace="AWS/Lambda", MetricName=name, Dimensions=dimensions,
        StartTime=now - 86_400_000, EndTime=now + 120_000, Period=3_600, Statistics=["Sum"],
    )  # fmt: skip
    return float(sum(point["Sum"] for point in found["Datapoints"]))


def test_configuration_of_a_url_is_that_of_aws(rig: Rig) -> None:
    rig.create_function()
    rig.advance(1)

    created = rig.call("CreateFunctionUrlConfig", FunctionName="worker", AuthType="NONE")
    found = rig.call("GetFunctionUrlConfig", FunctionName="worker")
    cors = {"AllowOrigins": ["*"]}
    changed = rig.call("UpdateFunctionUrlConfig", FunctionName="worker", Cors=cors, InvokeMode="RESPONSE_STREAM")

    assert created.keys() == {"FunctionUrl", "FunctionArn", "AuthType", "CreationTime"}
    assert found == {**created, "InvokeMode": "BUFFERED", "LastModifiedTime": created["CreationTime"]}
    assert (changed["Cors"], changed["InvokeMode"], changed["AuthType"]) == (cors, "RESPONSE_STREAM", "NONE")
    code, message = rig.refusal("CreateFunctionUrlConfig", FunctionName="worker", AuthType="NONE")
    assert code == "ResourceConflictException"
    assert message == (
        f"Failed to create function url config for [functionArn = {ARN}worker]. Error message:  FunctionUrlConfig "
        "exists for this Lambda function"
    )


def test_urls_of_a_function_and_of_its_aliases_are_apart(rig: Rig) -> None:
    rig.create_function()
    rig.advance(1)
    rig.call("PublishVersion", FunctionName="worker")
    rig.call("CreateAlias", FunctionName="worker", Name="live", FunctionVersion="1")
    rig.call("CreateFunctionUrlConfig", FunctionName="worker", AuthType="NONE")
    rig.call("CreateFunctionUrlConfig", FunctionName="worker", Qualifier="live", AuthType="NONE")

    rig.call("DeleteFunctionUrlConfig", FunctionName="worker")

    left = rig.call("ListFunctionUrlConfigs", FunctionName="worker")["FunctionUrlConfigs"]
    assert [one["FunctionArn"] for one in left] == [f"{ARN}worker:live"]
    missing = (NOT_FOUND, "The resource you requested does not exist.")
    assert rig.refusal("GetFunctionUrlConfig", FunctionName="worker") == missing
    gone = rig.refusal("CreateFunctionUrlConfig", FunctionName="gone", AuthType="NONE")
    assert gone == (NOT_FOUND, "Function does not exist")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:4566", f"http://{ID}.lambda-url.us-east-1.localhost:4566/"),
        ("[::1]:80", f"http://{ID}.lambda-url.us-east-1.localhost:80/"),
        ("redrive:4566", f"http://{ID}.lambda-url.us-east-1.redrive:4566/"),
        ("aws.test", f"http://{ID}.lambda-url.us-east-1.aws.test/"),
        ("10.1.2.3:4566", f"http://10.1.2.3:4566/_redrive/function-url/{ID}/"),
    ],
)
def test_url_leads_to_the_server_that_is_asked(host: str, url: str) -> None:
    assert url_text(ID, "us-east-1", host) == url
