"""Requests to function URLs at a server: which Host leads to a URL, and what stays guarded against pages."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redrive.core.log import SilentLog
from redrive.gateway.function_urls import page_of, url_target
from redrive.gateway.server import Server, running
from redrive.wire.message import HttpRequest
from tests.unit.gateway.test_server import TRUST, client, options
from tests.unit.services.lambda_.functions import ROLE, archive

ID = "a" * 32
CODE = "def handler(event, context):\n    return {'statusCode': 203, 'body': event['rawPath']}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data: Path = tmp_path_factory.mktemp("data")
    with running(options(data), SilentLog()) as server:
        client(server, "iam").create_role(RoleName="worker", AssumeRolePolicyDocument=TRUST)
        yield server


@pytest.fixture(scope="module")
def url(server: Server) -> str:
    """The Host of a URL that everybody may call."""
    functions = client(server, "lambda")
    functions.create_function(
        FunctionName="worker", Runtime="python3.12", Role=ROLE, Handler="app.handler", Code={"ZipFile": archive(CODE)}
    )
    made = functions.create_function_url_config(FunctionName="worker", AuthType="NONE")
    given: dict[str, Any] = {"FunctionName": "worker", "Principal": "*"}
    functions.add_permission(StatementId="a", Action="lambda:InvokeFunctionUrl", FunctionUrlAuthType="NONE", **given)
    functions.add_permission(StatementId="b", Action="lambda:InvokeFunction", InvokedViaFunctionUrl=True, **given)
    return str(made["FunctionUrl"]).removeprefix("http://").rstrip("/")


def ask(server: Server, host: str, path: str = "/x", **headers: str) -> tuple[int, str]:
    """Send a request to the server under this Host."""
    address = server.endpoint_url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=30)
    given = {"Host": host} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", path, headers=given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_url_runs_the_function_at_the_server_itself(server: Server, url: str) -> None:
    url_id, port = url.partition(".")[0], server.endpoint_url.rpartition(":")[2]

    assert url == f"{url_id}.lambda-url.us-east-1.localhost:{port}"
    assert ask(server, url) == (203, "/x")
    assert ask(server, f"{url_id}.lambda-url.us-east-1.on.aws") == (203, "/x")
    assert ask(server, f"127.0.0.1:{port}", f"/_redrive/function-url/{url_id}/y") == (203, "/y")


@pytest.mark.parametrize("domain", ["evil.example", "on.aws.evil.example", "xon.aws"])
def test_foreign_name_leads_to_no_url(server: Server, url: str, domain: str) -> None:
    status, text = ask(server, f"{url.partition('.')[0]}.lambda-url.us-east-1.{domain}")

    assert (status, "203" in text) == (403, False)
    assert "Host" in text


def test_page_runs_no_function(server: Server, url: str) -> None:
    status, text = ask(server, url, Origin="http://evil.example")

    assert status == 403
    assert "does not allow the page" in json.loads(text)["Message"]


@pytest.mark.parametrize("path", ["/_redrive/status", "/2015-03-31/functions"])
def test_other_paths_are_guarded_as_before(server: Server, path: str) -> None:
    port = server.endpoint_url.rpartition(":")[2]

    status, text = ask(server, f"localhost:{port}", path, Origin="http://evil.example")

    assert status == 403
    assert "Origin" in text


@pytest.mark.parametrize("path", ["/", "/_redrive/clock", "/2015-03-31/functions"])
def test_host_of_a_url_leads_to_nothing_else(server: Server, url: str, path: str) -> None:
    assert ask(server, url, path) == (203, path)


@pytest.mark.parametrize(
    ("host", "path", "found"),
    [
        (f"{ID}.lambda-url.us-east-1.localhost:4566", "/p", (ID, "/p", "localhost:4566")),
        (f"{ID.upper()}.LAMBDA-URL.eu-west-1.On.Aws", "/", (ID, "/", "on.aws")),
        ("127.0.0.1:1", f"/_redrive/function-url/{ID}", (ID, "/", "127.0.0.1:1")),
        (f"{ID}.lambda-url.us-east-1.", "/", None),
        ("short.lambda-url.us-east-1.localhost", "/", None),
        ("localhost", "/", None),
    ],
)
def test_target_is_read_from_host_or_path(host: str, path: str, found: tuple[str, str, str] | None) -> None:
    target = url_target(HttpRequest("GET", path, "", {"host": host}, b""))

    assert (None if target is None else (target.url_id, target.path, target.host)) == found


@pytest.mark.parametrize(
    ("headers", "page"),
    [
        ({}, ""),
        ({"user-agent": "curl/8"}, ""),
        ({"sec-fetch-mode": "cors"}, ""),
        ({"sec-fetch-site": "none", "user-agent": "Mozilla/5.0"}, ""),
        ({"origin": "http://a"}, "http://a"),
        ({"sec-fetch-site": "same-site"}, "null"),
        ({"sec-fetch-dest": "image"}, "null"),
        ({"referer": "http://a/b"}, "null"),
        ({"user-agent": "Mozilla/5.0"}, "null"),
    ],
)
def test_page_is_told_by_the_headers_of_browsers(headers: dict[str, str], page: str) -> None:
    assert page_of(headers) == page
