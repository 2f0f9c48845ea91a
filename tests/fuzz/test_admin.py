"""`/_redrive/` under hostile requests: every one is answered, in JSON, as done or as the caller's mistake."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from redrive.core.clock import SystemClock
from redrive.core.log import LineLog
from redrive.gateway.server import Options, Server, running
from redrive.wire.model.files import Models
from redrive.wire.services import OWN_SERVICE
from tests.fuzz.conftest import Cases
from tests.fuzz.protocols import json_bytes
from tests.fuzz.values import TEXTS, Draw, Literal

TIMEOUT_S = 20

KNOWN: tuple[str, ...] = ()
"""Patterns of bodies, paths and queries that are being mended. Empty but while a mending is under way."""

MODEL = Models().service(OWN_SERVICE.name)
ROUTES = tuple((operation.method, operation.uri) for operation in MODEL.operations.values())
"""Every operation of the surface; one that is new is fuzzed as soon as it stands in the model."""
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")


def names(*, in_query: bool) -> tuple[str, ...]:
    """What operations take in the query, or in the body; and a name that none takes."""
    members = [
        member
        for operation in MODEL.operations.values()
        for member in (operation.input.members.values() if operation.input else ())
    ]
    return (*sorted({one.location_name for one in members if (one.location == "querystring") is in_query}), "a", "")


MEMBERS, PARAMETERS = names(in_query=False), names(in_query=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("data")
    with running(Options(port=0, virtual=True, data=data), LineLog(SystemClock())) as server:
        yield server


def test_every_request_to_our_own_surface_is_answered_in_json(server: Server, cases: Cases) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
    for seed in cases(900):
        method, target, body = drawn(Draw(seed))
        said = f"{method} {target} {body!r}"
        if any(re.search(pattern, said) for pattern in KNOWN):
            continue

        connection.request(method, target, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()

        assert 200 <= response.status < 500, f"{said}: {response.status} {content!r}"
        is_bytes = response.getheader("content-type") == "application/octet-stream"
        assert is_bytes or response.status == 204 or isinstance(json.loads(content), dict), said
    connection.close()


def drawn(draw: Draw) -> tuple[str, str, bytes]:
    """Method, target and body of a request that is nearly one, or far from it."""
    method, path = draw.choice(ROUTES)
    if draw.chance(0.1):
        method = draw.choice(METHODS)
    path, *labelled = path.split("{")
    if labelled or draw.chance(0.05):
        path += quote(draw.choice(TEXTS)[:200], errors="surrogatepass", safe=draw.one_of("", "/%"))
    if draw.chance(0.4):
        pairs = [(draw.choice(PARAMETERS), draw.text()[:300]) for _ in range(draw.randrange(4))]
        written = [f"{name}={quote(text, errors='surrogatepass')}" for name, text in pairs]
        path += "?" + "&".join(written)
    return method, path, _body(draw) if method in {"POST", "PUT", "PATCH"} else b""


def _body(draw: Draw) -> bytes:
    if draw.chance(0.1):
        return draw.randbytes(draw.randrange(40))
    document: dict[str, object] = {draw.choice(MEMBERS): _value(draw) for _ in range(draw.randrange(4))}
    if draw.chance(0.5):
        document |= {"target": "arn:aws:sqs:*:*:orders", "error": "ThrottlingException"}
    body = json_bytes(document if draw.chance(0.9) else draw.anything(), draw)
    return draw.changed(body) if draw.chance(0.2) else body


def _value(draw: Draw) -> object:
    """A value that does not move time by years: how far a clock may go is the business of other tests."""
    value = draw.anything()
    is_large = isinstance(value, int | float) and not isinstance(value, bool) and 3_600 < value < 10**10
    is_literal = isinstance(value, Literal) and value.text[:1].isdigit() and len(value.text) < 300
    return 1 if is_large or is_literal else value
