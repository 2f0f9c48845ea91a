"""Requests over HTTP are effects: answered in the process, struck by faults, and known again by their keys."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
import urllib3

from redrive.core.errors import UserError
from redrive.prove.calls.given import NOTHING_GIVEN, given_of, read_given
from redrive.prove.judge.judge import Rule
from redrive.prove.play.faults import parse_history
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short
from redrive.prove.process.exchange import HttpAnswer, HttpAsked
from redrive.prove.process.http import answered_http
from redrive.prove.process.subject import GivenSubject, subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import usual_trigger
from redrive.prove.tell.export import as_test
from tests.unit.prove.conftest import Prover

CHARGES = "https://api.example.com/charges"
ORDER = '{"order": "o-1"}'
KEPT = given_of({"http": [{"request": f"POST {CHARGES}", "body": {"id": "ch_1"}, "key_memory_h": 24 * 60}]})


def by_urllib(method: str, url: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.loads(answer.read())


def by_http_client(method: str, url: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
    connection = http.client.HTTPSConnection("api.example.com")
    connection.request(method, "/charges", iter([json.dumps(body).encode()]), headers, encode_chunked=True)
    return json.loads(_unless_failed(connection.getresponse()).read())


def by_urllib3(method: str, url: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
    answer = urllib3.PoolManager(retries=False).request(method, url, json=body, headers=headers)
    return json.loads(_unless_failed(answer).data)


def by_requests(method: str, url: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
    answer = pytest.importorskip("requests").request(method, url, json=body, headers=headers, timeout=5)
    answer.raise_for_status()
    return answer.json()


def by_httpx(method: str, url: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
    answer = pytest.importorskip("httpx").request(method, url, json=body, headers=headers)
    answer.raise_for_status()
    return answer.json()


def by_httpx_async(method: str, url: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
    async def send() -> Any:
        async with pytest.importorskip("httpx").AsyncClient() as client:
            answer = await client.request(method, url, json=body, headers=headers)
            answer.raise_for_status()
            return answer.json()

    return asyncio.run(send())


def by_aiohttp(method: str, url: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
    async def send() -> Any:
        async with (
            pytest.importorskip("aiohttp").ClientSession(raise_for_status=True) as session,
            session.request(method, url, json=body, headers=headers) as answer,
        ):
            return await answer.json()

    return asyncio.run(send())


def _unless_failed(answer: Any) -> Any:
    assert answer.status < 400
    return answer


Send = Callable[[str, str, dict[str, Any], dict[str, str]], Any]
LIBRARIES = [by_urllib, by_http_client, by_urllib3, by_requests, by_httpx, by_httpx_async, by_aiohttp]
MODULES = {by_requests: "requests", by_httpx: "httpx", by_httpx_async: "httpx", by_aiohttp: "aiohttp"}


@pytest.fixture(params=LIBRARIES, ids=lambda send: str(send.__name__))
def send(request: pytest.FixtureRequest) -> Send:
    """Sends a request by one of the libraries, and raises for a status of 400 and more."""
    if request.param in MODULES:
        pytest.importorskip(MODULES[request.param])
    found: Send = request.param
    return found


def order_of(event: Any) -> str:
    return str(json.loads(event["Records"][0]["body"])["order"])


def test_request_without_a_key_is_repeated(proved: Prover, send: Send) -> None:
    def handler(event: Any, context: Any) -> None:
        send("POST", CHARGES, {"order": order_of(event)}, {})

    verdict = proved(handler, bodies=(ORDER,))

    assert verdict.effects == {f"POST {CHARGES}": 1}
    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE
    assert verdict.counterexample.violation.sentence.startswith(f"POST {CHARGES} (Body.order='o-1')")
    assert "Send an idempotency key" in verdict.counterexample.advice


def test_request_with_a_key_of_the_message_is_safe_while_the_api_remembers(proved: Prover, send: Send) -> None:
    def handler(event: Any, context: Any) -> None:
        assert send("POST", CHARGES, {}, {"Idempotency-Key": order_of(event)})["id"] == "ch_1"

    verdict = proved(handler, bodies=(ORDER,), given=KEPT)

    assert verdict.counterexample is None
    assert verdict.effects == {f"POST {CHARGES}": 1}


def test_key_is_forgotten_after_a_day_unless_it_is_said(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        by_urllib("POST", CHARGES, {"idempotency_key": order_of(event)}, {})

    verdict = proved(handler, bodies=(ORDER,))

    assert verdict.counterexample is not None
    assert [step.at for step in verdict.counterexample.steps][-1] == "+3d"
    assert "knows the key again for 24 h" in verdict.counterexample.advice
    assert "24 h" in verdict.assumptions["memory of api.example.com"]


def test_key_of_the_attempt_is_no_key(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        by_urllib("POST", CHARGES, {}, {"Idempotency-Key": context.aws_request_id})

    verdict = proved(handler, bodies=(ORDER,), given=KEPT)

    assert verdict.counterexample is not None
    assert "Each attempt sends another idempotency key" in verdict.counterexample.advice


@pytest.mark.parametrize(
    ("method", "body"), [("PUT", {"paid": "yes"}), ("DELETE", {}), ("PATCH", {"paid": "yes"})], ids=str
)
def test_request_that_sets_the_same_again_is_safe(proved: Prover, method: str, body: dict[str, Any]) -> None:
    def handler(event: Any, context: Any) -> None:
        by_urllib(method, f"{CHARGES}/{order_of(event)}", body, {})

    verdict = proved(handler, bodies=(ORDER,))

    assert verdict.counterexample is None
    assert verdict.effects == {f"{method} {CHARGES}/o-1": 1}


def test_request_that_reads_is_no_effect_unless_it_is_declared(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        connection = http.client.HTTPConnection("api.example.com", 8080)
        connection.request("GET", "/next?queue=a")
        _unless_failed(connection.getresponse())
        boto3.client("dynamodb").put_item(TableName="done", Item={"id": {"S": order_of(event)}})

    verdict = proved(handler, bodies=(ORDER,))
    declared = proved(handler, bodies=(ORDER,), effects=("http:GET:api.example.com:8080/next*",))

    assert verdict.counterexample is None
    assert verdict.effects == {"item in done": 1}
    assert declared.counterexample is not None
    assert "GET http://api.example.com:8080/next" in declared.counterexample.violation.sentence


def test_ignored_request_is_no_effect(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        by_urllib("POST", CHARGES, {"query": "{ orders }"}, {})
        boto3.client("dynamodb").put_item(TableName="done", Item={"id": {"S": order_of(event)}})

    assert proved(handler, bodies=(ORDER,), ignored=("http:POST:api.example.com/*",)).counterexample is None


def test_status_that_nobody_checks_loses_the_work(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        urllib3.PoolManager(retries=False).request("PUT", CHARGES, json={"order": order_of(event)})

    verdict = proved(handler, bodies=(ORDER,))

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ALL
    assert "answered with status 429" in verdict.counterexample.advice


FAULTS = {
    "crash-before": "died", "lost": "timeout", "throttled": "429", "outage": "503", "unreached": "refused",
    "bad-gateway": "502",
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_looks_as_it_does_from_a_real_server(send: Send, fault: str) -> None:
    """What the handler meets is told in the record that it writes."""
    met: list[str] = []

    def handler(event: Any, context: Any) -> None:
        try:
            send("POST", CHARGES, {}, {})
        except Exception as error:
            chain = [error, error.__cause__, error.__context__, *error.args]
            met.append(" ".join(f"{type(one).__name__} {one!r}" for one in chain).lower())
            raise

    performance = Performance(GivenSubject(handler), seed=0)
    performance.begin(usual_trigger(performance.stage, (ORDER,)))
    with performance.entered(Short(performance.stage)):
        performance.play(parse_history([f"deliver {fault} http:POST api.example.com/charges #1"])[0])
    took_effect = {trace.kind for trace in performance.journal.traces}
    performance.close()

    assert took_effect == ({f"POST {CHARGES}"} if fault in {"lost", "bad-gateway"} else set())
    word = FAULTS[fault]
    if word == "died":
        assert met == []
    elif word in {"timeout", "refused"}:
        assert word in met[0] or (word == "refused" and "connect" in met[0])
    elif send not in (by_http_client, by_urllib3):
        assert word in met[0]


def test_given_answer_is_answered_and_an_error_is_no_effect(proved: Prover) -> None:
    given = given_of(
        {
            "http": [
                {"request": f"POST {CHARGES}?kind=a*", "status": 409, "body": "no"},
                {"request": "GET https://*", "headers": {"X-Limit": 5}, "body": [1, 2]},
            ]
        }
    )

    def handler(event: Any, context: Any) -> None:
        with urllib.request.urlopen("https://api.example.com/limits") as answer:
            assert (answer.headers["x-limit"], json.load(answer)) == ("5", [1, 2])
        with pytest.raises(urllib.error.HTTPError, match="409"):
            by_urllib("POST", f"{CHARGES}?kind=abc", {}, {})

    with pytest.raises(UserError, match="changes nothing that can be seen"):
        proved(handler, bodies=(ORDER,), given=given)


def test_answer_that_nobody_gives_has_what_the_handler_reads_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import json, urllib.request\n"
        "def fetch(url):\n"
        "    body = urllib.request.urlopen(url).read().decode()\n"
        "    return json.loads(body)\n"
        "def handler(event, context):\n"
        "    user = fetch('https://api.example.com/users/1')\n"
        "    urllib.request.urlopen('https://api.example.com/mails', user['address']['email'].encode())\n"
    )

    verdict = prove(subject_of("app:handler", tmp_path), Options(faults=0))

    assert verdict.effects == {"POST https://api.example.com/mails": 1}
    told = verdict.assumptions["answer of GET https://api.example.com/users/1"]
    assert '{"address": {"email": "someone@example.com"}}' in told


def test_what_is_no_http_is_refused(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        socket.create_connection(("203.0.113.1", 80))

    with pytest.raises(UserError, match="opens a connection to"):
        proved(handler)


@pytest.mark.parametrize(
    "reach",
    [
        lambda one: one.connect(("203.0.113.1", 80)),
        lambda one: one.connect_ex(("203.0.113.1", 80)),
        lambda one: one.sendto(b"a", ("203.0.113.1", 80)),
        lambda _: socket.gethostbyname("api.example.com"),
        lambda _: socket.getaddrinfo("api.example.com", 80),
    ],
    ids=["connect", "connect_ex", "sendto", "gethostbyname", "getaddrinfo"],
)
def test_sockets_stay_shut_while_requests_are_answered(proved: Prover, reach: Callable[[socket.socket], Any]) -> None:
    def handler(event: Any, context: Any) -> None:
        by_urllib("PUT", CHARGES, {}, {})
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, pytest.raises(ConnectionError, match="no conn"):
            reach(one)

    assert proved(handler).effects == {f"PUT {CHARGES}": 1}


def test_credentials_of_a_machine_are_not_answered(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        with pytest.raises(urllib.error.URLError, match="no connection"):
            urllib.request.urlopen("http://169.254.169.254/latest/meta-data/")
        by_urllib("PUT", CHARGES, {}, {})

    assert proved(handler).counterexample is None


def test_certificates_of_the_machine_are_not_read_for_each_request(
    proved: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[None] = []
    original = ssl.SSLContext.load_default_certs

    def counting(context: ssl.SSLContext, *purpose: Any) -> None:
        read.append(None)
        original(context, *purpose)

    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", counting)
    requests: list[str] = []

    def handler(event: Any, _: Any) -> None:
        requests.append(str(by_urllib("PUT", CHARGES, {"id": 1}, {})))

    proved(handler, faults=1)

    assert len(requests) > 5
    assert len(read) <= 1


def test_connections_are_their_own_again_afterwards() -> None:
    class Own(http.client.HTTPConnection):
        def connect(self) -> None:
            raise AssertionError

    before = {one: one.__dict__["connect"] for one in (http.client.HTTPConnection, http.client.HTTPSConnection, Own)}
    asked: list[HttpAsked] = []

    def answer(one: HttpAsked) -> HttpAnswer:
        asked.append(one)
        return HttpAnswer(204, (), b"")

    with answered_http(answer):
        connection = Own("api.example.com")
        connection.request("POST", "/a?b=c", b"d", {"X-E": "f"})
        assert connection.getresponse().status == 204

    assert {one: one.__dict__["connect"] for one in before} == before
    assert (asked[0].method, asked[0].url, asked[0].body) == ("POST", "http://api.example.com/a?b=c", b"d")
    assert asked[0].headers["x-e"] == "f"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("http: {}", "is a list, and not an object"),
        ("tables: []", "no section 'tables'"),
        ("http: [{request: charges}]", "no method and URL"),
        ("http: [{request: 'GET https://a', status: 99}]", "no status"),
        ("http: [{request: 'GET https://a', answer: 1}]", "no member 'answer'"),
        ("http: [{request: 'GET https://a', key_memory_h: long}]", "number of hours"),
        ("http: [", "neither JSON nor YAML"),
    ],
)
def test_file_that_gives_no_answers_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "given.yaml").write_text(text)

    with pytest.raises(UserError, match=says):
        read_given(tmp_path / "given.yaml")


def test_exported_test_gives_the_same_answers(proved: Prover) -> None:
    given = given_of({"http": [{"request": f"POST {CHARGES}", "status": 201}]})

    def handler(event: Any, context: Any) -> None:
        by_urllib("POST", CHARGES, {"order": order_of(event)}, {})

    text = as_test(proved(handler, bodies=(ORDER,), given=given), Options(given=given))

    assert f"given={given.document!r}," in text
    assert "given=" not in as_test(proved(handler, bodies=(ORDER,)), Options(given=NOTHING_GIVEN))
