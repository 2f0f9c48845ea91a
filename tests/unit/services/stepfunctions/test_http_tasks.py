"""HTTP tasks: the request that an endpoint gets, what follows from its answer, and what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest

from redrive.services.stepfunctions.model.http_tasks import form_of
from tests.unit.services.events.http_server import Answer, LocalServer
from tests.unit.services.stepfunctions.conftest import Machines

HTTP = "arn:aws:states:::http:invoke"
BASIC = {"BasicAuthParameters": {"Username": "user", "Password": "secret"}}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as started:
        yield started


def connect(machines: Machines, kind: str = "BASIC", more: Any = None, **parameters: Any) -> str:
    """A connection named `c`; returns its ARN."""
    chosen = {**(parameters or BASIC), **({"InvocationHttpParameters": more} if more else {})}
    made = machines.world.client("events").create_connection(Name="c", AuthorizationType=kind, AuthParameters=chosen)
    machines.world.settle()
    return str(made["ConnectionArn"])


def task(url: str, connection: str, method: str = "GET", **more: Any) -> dict[str, Any]:
    """An HTTP task as a state."""
    parameters = {"ApiEndpoint": url, "Method": method, "Authentication": {"ConnectionArn": connection}, **more}
    return {"Type": "Task", "Resource": HTTP, "Parameters": parameters}


def test_result_of_a_task_is_the_answer_and_its_events_have_no_secret(machines: Machines, server: LocalServer) -> None:
    server.always = Answer(201, '{"id": 7}', {**JSON, "Set-Cookie": "a=b"})
    state = task(f"{server.url}/orders", connect(machines), "POST", RequestBody={"name.$": "$.name"})

    ran = machines.run(state, value={"name": "Ann"})

    assert ran.output["StatusCode"] == 201
    assert ran.output["StatusText"] == "Created"
    assert ran.output["ResponseBody"] == {"id": 7}
    assert ran.output["Headers"]["set-cookie"] == ["a=b"]
    assert [event["type"] for event in ran.events][2:5] == ["TaskScheduled", "TaskStarted", "TaskSucceeded"]
    scheduled = ran.events[2]["taskScheduledEventDetails"]
    assert (scheduled["resourceType"], scheduled["resource"]) == ("http", "invoke")
    assert "secret" not in json.dumps(ran.events, default=str)
    (request,) = server.requests
    assert (request.method, request.path, json.loads(request.body)) == ("POST", "/orders", {"name": "Ann"})
    assert base64.b64decode(request.headers["authorization"].removeprefix("Basic ")) == b"user:secret"
    assert request.headers["content-type"] == "application/json; charset=UTF-8"
    assert request.headers["user-agent"] == "Amazon|StepFunctions|HttpInvoke|us-east-1"
    assert request.headers["range"] == "bytes=0-262144"


def test_what_the_connection_adds_wins_over_the_task(machines: Machines, server: LocalServer) -> None:
    added = {
        "HeaderParameters": [{"Key": "Header-Param", "Value": "connection"}],
        "QueryStringParameters": [{"Key": "query", "Value": "connection"}],
        "BodyParameters": [{"Key": "BodyParam", "Value": "connection"}],
    }
    key = {"ApiKeyName": "x-key", "ApiKeyValue": "value"}
    state = task(
        f"{server.url}/path", connect(machines, "API_KEY", added, ApiKeyAuthParameters=key), "POST",
        Headers={"header-param": "task", "Request-Id": "mine"}, QueryParameters={"query": "task", "all": ["a b", "c"]},
        RequestBody={"Job": "Engineer", "BodyParam": "task"},
    )  # fmt: skip

    machines.run(state)

    (request,) = server.requests
    assert request.path == "/path?query=connection&all=a%20b&all=c"
    assert json.loads(request.body) == {"Job": "Engineer", "BodyParam": "connection"}
    assert {name: request.headers[name] for name in ("header-param", "request-id", "x-key")} == {
        "header-param": "connection", "request-id": "mine", "x-key": "value",
    }  # fmt: skip


def test_token_of_an_oauth_connection_is_sent_and_renewed_after_it_was_refused(
    machines: Machines, server: LocalServer
) -> None:
    tokens = [Answer(200, json.dumps({"access_token": name, "expires_in": 3600}), JSON) for name in ("first", "second")]
    server.answers = [tokens[0], Answer(401, "no"), tokens[1], Answer(200, "yes")]
    client = {"ClientID": "client", "ClientSecret": "secret"}
    endpoint = {"AuthorizationEndpoint": f"{server.url}/token", "HttpMethod": "POST"}
    connection = connect(
        machines, "OAUTH_CLIENT_CREDENTIALS", OAuthParameters={"ClientParameters": client, **endpoint}
    )  # fmt: skip
    retry = {"ErrorEquals": ["States.Http.StatusCode.401"], "IntervalSeconds": 5, "MaxAttempts": 1}

    ran = machines.run({**task(f"{server.url}/x", connection), "Retry": [retry]}, seconds=60)

    assert ran.output["ResponseBody"] == "yes"
    sent = [request.headers["authorization"] for request in server.requests if request.path == "/x"]
    assert sent == ["Bearer first", "Bearer second"]


def test_status_of_a_refusal_names_the_error_that_retry_and_catch_see(machines: Machines, server: LocalServer) -> None:
    server.answers = [Answer(503, "busy"), Answer(404, '{"message": "gone"}', JSON)]
    state = {
        **task(f"{server.url}/x", connect(machines)),
        "Retry": [{"ErrorEquals": ["States.Http.StatusCode.503"], "IntervalSeconds": 1}],
        "Catch": [{"ErrorEquals": ["States.Http.StatusCode.404"], "Next": "Caught"}],
    }
    caught = {"Type": "Pass", "Name": "Caught"}

    ran = machines.run(state, caught, seconds=10)

    assert ran.output == {"Error": "States.Http.StatusCode.404", "Cause": '{"message":"gone"}'}
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(200, "GIF89a", {"Content-Type": "image/gif"}), "States.Runtime"),
        (Answer(200, "x" * 262_145), "States.DataLimitExceeded"),
        (Answer(302, "", {"Location": "/elsewhere"}), "States.Http.StatusCode.302"),
    ],
)
def test_answer_that_is_no_result_fails_the_task(
    machines: Machines, server: LocalServer, answer: Answer, error: str
) -> None:
    server.always = answer

    ran = machines.run(task(f"{server.url}/x", connect(machines)))

    assert ran.failure[0] == error
    assert len(server.requests) == 1


def test_host_that_is_not_allowed_is_not_called(machines: Machines) -> None:
    """Nothing leaves the machine unless `--call-host` allows it."""
    ran = machines.run(task("https://api.example.com/x", connect(machines)))

    error, cause = ran.failure
    assert error == "States.Http.Socket"
    assert "redrive serve --call-host api.example.com" in cause


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"ApiEndpoint": "http://api.example.com/"}, "https://"),
        ({"ApiEndpoint": 7}, "ApiEndpoint"),
        ({"Method": "TRACE"}, "Method"),
        ({"Headers": {"X-Amz-Date": "now"}}, "X-Amz-Date"),
        ({"Headers": {"Authorization": "mine"}}, "Authorization"),
        ({"Authentication": {}}, "ConnectionArn"),
        ({"Url": "x"}, "Url"),
        ({"Transform": {"RequestBodyEncoding": "XML"}}, "RequestBodyEncoding"),
    ],
)
def test_parameters_that_make_no_request_fail_the_execution_before_anything_is_scheduled(
    machines: Machines, parameters: dict[str, Any], said: str
) -> None:
    state = task("https://api.example.com/", "arn:aws:events:us-east-1:000000000000:connection/c/1")
    state["Parameters"] |= parameters

    ran = machines.run(
        {**state, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]}, {"Type": "Pass", "Name": "Caught"}
    )

    error, cause = ran.failure
    assert error == "States.Runtime"
    assert said in cause
    assert "TaskScheduled" not in [event["type"] for event in ran.events]


def test_connection_that_cannot_be_used_names_its_reason(machines: Machines, server: LocalServer) -> None:
    arn = connect(machines)
    gone = machines.run(task(f"{server.url}/x", f"{arn}9"))
    machines.world.client("events").deauthorize_connection(Name="c")
    unauthorized = machines.run(task(f"{server.url}/x", arn))

    assert gone.failure[0] == "Events.ConnectionResource.ResourceNotFound"
    assert unauthorized.failure[0] == "Events.ConnectionResource.InvalidConnectionState"
    assert server.requests == []


@pytest.mark.parametrize(
    ("denied", "error"),
    [
        ("states:InvokeHTTPEndpoint", "States.Permissions"),
        ("events:RetrieveConnectionCredentials", "Events.ConnectionResource.AccessDenied"),
        ("secretsmanager:GetSecretValue", "Events.ConnectionResource.AccessDenied"),
    ],
)
def test_role_needs_permission_for_endpoint_connection_and_secret(
    machines: Machines, server: LocalServer, denied: str, error: str
) -> None:
    deny = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": denied, "Resource": "*"}]}
    machines.world.client("iam").put_role_policy(
        RoleName="states", PolicyName="less", PolicyDocument=json.dumps(deny)
    )  # fmt: skip

    ran = machines.run(task(f"{server.url}/x", connect(machines)))

    assert ran.failure[0] == error
    assert server.requests == []


def test_policy_may_allow_one_endpoint_and_method_only(machines: Machines, server: LocalServer) -> None:
    condition = {"StringNotLike": {"states:HTTPEndpoint": f"{server.url}/allowed*"}}
    statement = {
        "Effect": "Deny", "Action": "states:InvokeHTTPEndpoint", "Resource": "*", "Condition": condition,
    }  # fmt: skip
    machines.world.client("iam").put_role_policy(
        RoleName="states", PolicyName="less",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
    )  # fmt: skip
    connection = connect(machines)

    allowed = machines.run(task(f"{server.url}/allowed/1", connection))
    refused = machines.run(task(f"{server.url}/other", connection))

    assert allowed.output["StatusCode"] == 200
    assert refused.failure[0] == "States.Permissions"


@pytest.mark.parametrize(
    ("array_format", "form"),
    [
        ("INDICES", "array[0]=a&array[1]=b&nested[x]=1 2"),
        ("REPEAT", "array=a&array=b&nested[x]=1 2"),
        ("COMMAS", "array=a,b&nested[x]=1 2"),
        ("BRACKETS", "array[]=a&array[]=b&nested[x]=1 2"),
    ],
)
def test_form_writes_arrays_in_their_format(array_format: str, form: str) -> None:
    assert unquote(form_of({"array": ["a", "b"], "nested": {"x": "1 2"}}, array_format)) == form


def test_body_is_sent_as_a_form_if_the_task_says_so(machines: Machines, server: LocalServer) -> None:
    state = task(
        f"{server.url}/x", connect(machines), "POST", RequestBody={"customer": "Ann & Bob"},
        Transform={"RequestBodyEncoding": "URL_ENCODED"},
    )  # fmt: skip

    machines.run(state)

    (request,) = server.requests
    assert request.body == b"customer=Ann%20%26%20Bob"
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"


def test_text_as_body_cannot_be_merged_with_parameters_of_the_connection(
    machines: Machines, server: LocalServer
) -> None:
    connection = connect(machines, more={"BodyParameters": [{"Key": "a", "Value": "b"}]})

    ran = machines.run(task(f"{server.url}/x", connection, "POST", RequestBody="text"))

    assert ran.failure[0] == "States.Runtime"
    assert server.requests == []
