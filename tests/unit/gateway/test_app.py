"""Every request gets an answer: refused, too many, too large, or a defect of ours."""

from __future__ import annotations

import asyncio
import errno
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from redrive.core.clock import Instant
from redrive.core.entropy import Entropy, SeededEntropy
from redrive.core.sessions import Issuer
from redrive.engine.driver import VirtualDrive
from redrive.engine.engine import Runner
from redrive.engine.node import Facts, ServerNode
from redrive.engine.node_store import StoreFile
from redrive.gateway.admin import Admin
from redrive.gateway.app import (
    ADMIN_AT_ONCE_MAX,
    ADMIN_BODY_BYTES_MAX,
    ADMIN_WAITING_MAX,
    LARGE_BODY_BYTES,
    LARGE_BODY_COMMAS_MAX,
    LARGE_BYTES_WAITING_MAX,
    App,
)
from redrive.gateway.chain import Gateway
from redrive.gateway.guard import Guard
from redrive.gateway.http.ports import Body
from redrive.gateway.identity import Identity
from redrive.services.kms import making
from redrive.services.kms.model.secrets import PrivateKey, new_private_key
from redrive.services.kms.model.specs import KeySpec
from redrive.store.api import Step
from redrive.store.bodies import RowBodies
from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from tests.support.commits import end_commits, served_commits

ACCOUNT = "000000000000"
ADMIN_MAX = ADMIN_AT_ONCE_MAX + ADMIN_WAITING_MAX
TIMES_MAX = 1_000_000_000
JSON_CALL = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.CreateQueue"}
FORM_CALL = {"content-type": "application/x-www-form-urlencoded"}


class Kept:
    """A reply that keeps the answer."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[HttpResponse] = asyncio.get_running_loop().create_future()

    @property
    def is_wanted(self) -> bool:
        return True

    def send(self, response: HttpResponse) -> None:
        self.answer.set_result(response)

    def begin(self, head: HttpResponse, *, length: int | None = None) -> Body:
        raise AssertionError(f"this answer is whole, and does not begin with {head}")


class Lines:
    """A log that keeps its errors."""

    def __init__(self) -> None:
        self.errors: list[dict[str, object]] = []

    def info(self, event: str, **facts: object) -> None: ...

    def warning(self, event: str, **facts: object) -> None: ...

    def error(self, event: str, **facts: object) -> None:
        self.errors.append(facts)


class Broken:
    """An entropy that fails as it is told to, the first time that it is drawn from; then it says who draws."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self._real = SeededEntropy(1)
        self.threads: list[str] = []

    def hex(self, length: int) -> str:
        self.threads.append(threading.current_thread().name)
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._real.hex(length)

    def ordered(self, now: Instant) -> str:
        return f"{now:012x}{self.hex(20)}"

    def uniform(self, low: float, high: float) -> float:
        return self._real.uniform(low, high)

    def fork(self, name: str) -> Entropy:
        return self


class House:
    """An app, on the loop that runs."""

    def __init__(self, world: World, *, run: Runner | None, entropy: Entropy) -> None:
        self.log = Lines()
        self.group = served_commits(world.store)
        drive = VirtualDrive(world.engine, world.clock, self.log, keep=lambda *_: None)
        node = ServerNode(
            Facts(ACCOUNT, "memory"), world.clock, drive, reset=world.store.reset, file=StoreFile(None, None),
            nodes=lambda: (),
        )  # fmt: skip
        models = Models()
        identity = Identity(Issuer(world.store.secret), account=ACCOUNT, clocks=[world.clock])
        gateway = Gateway(world.engine, models, identity=identity, entropy=entropy, log=self.log)
        admin = Admin(
            world.engine.registry, models, node, identity, run=run or self.group.run, account=ACCOUNT,
            clock=world.clock, entropy=SeededEntropy(3),
        )  # fmt: skip
        self.app = App(
            gateway, world.engine, self.group, admin, world.clock,
            bodies=RowBodies(self.group.run),
            guard=Guard(address="127.0.0.1", origins=["http://app.test"]), entropy=SeededEntropy(2), log=self.log,
        )  # fmt: skip

    def begin(self, method: str, target: str, body: bytes = b"", **headers: str) -> asyncio.Future[HttpResponse]:
        path, _, query = target.partition("?")
        reply = Kept()
        self.app.handle(HttpRequest(method, path, query, {"host": "localhost"} | headers, body), reply)
        return reply.answer

    async def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> HttpResponse:
        return await self.begin(method, target, body, **headers)

    async def close(self) -> None:
        self.app.close()
        await end_commits(self.group)


Play = Callable[..., None]


@pytest.fixture
def play() -> Iterator[Play]:
    """Runs a scenario in a house of its own."""
    world = World()

    def play_one(
        scenario: Callable[[House], Awaitable[None]], *, run: Runner | None = None, entropy: Entropy | None = None
    ) -> None:
        async def run_one() -> None:
            house = House(world, run=run, entropy=entropy or SeededEntropy(3))
            try:
                async with asyncio.timeout(10):
                    await scenario(house)
            finally:
                await house.close()

        asyncio.run(run_one())

    yield play_one
    world.close()


def of(response: HttpResponse) -> Any:
    return json.loads(response.body)


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/_redrive/faults", b"[" * 200_000),
        ("/_redrive/faults", b'{"target": "\\ud800", "error": "X", "times": 1}'),
        ("/_redrive/faults", b'{"target": "a", "error": "\\udfff", "times": 1}'),
        ("/_redrive/faults", b'{"target": "a", "error": "X", "times": ' + b"9" * 5_000 + b"}"),
        ("/_redrive/faults", b'{"target": "a", "error": "X", "times": ' + b"9" * 400 + b"}"),
        ("/_redrive/faults", b'{"target": "a", "error": "X", "times": %d}' % (TIMES_MAX + 1)),
        ("/_redrive/faults", b'{"target": "a", "error": "X", "rate": 1e999}'),
        ("/_redrive/faults", b'{"target": "a", "error": "X", "rate": NaN}'),
        ("/_redrive/faults", b"\xff\xfe"),
        ("/_redrive/clock", b'{"advance_s": ' + b"9" * 5_000 + b"}"),
        ("/_redrive/clock", b'{"advance_s": ' + b"9" * 4_000 + b"}"),
        ("/_redrive/clock", b'{"advance_s": -Infinity}'),
        ("/_redrive/clock", b'{"to": "\\ud800"}'),
        ("/_redrive/clock", b'{"to": ' + b"[" * 900 + b"]" * 900 + b"}"),
        ("/_redrive/clock", b'{"to": "99999-01-01T00:00:00Z"}'),
        ("/_redrive/schedules/trigger", b'{"schedule": "\\ud800"}'),
    ],
)
def test_what_no_surface_of_ours_can_use_is_refused_in_a_sentence(play: Play, target: str, body: bytes) -> None:
    async def scenario(house: House) -> None:
        answer = await house.ask("POST", target, body)

        assert answer.status == 400, answer
        assert 10 < len(of(answer)["error"]) < 500

    play(scenario)


@pytest.mark.parametrize(
    "query", ["limit=" + "5" * 5_000, "limit=0", "limit=-1", "limit=\u0661\u0662" * 50, "x" * 9_999]
)
def test_number_in_a_query_is_refused_in_a_sentence(play: Play, query: str) -> None:
    async def scenario(house: House) -> None:
        answer = await house.ask("GET", f"/_redrive/schedules?{query}")

        assert answer.status == 400
        assert len(of(answer)["error"]) < 500

    play(scenario)


def test_defect_of_our_surface_is_answered_with_an_id_that_the_log_has(play: Play) -> None:
    """Such a request was once never answered."""

    def broken(step: Step[Any]) -> Any:
        raise LookupError("as the test wants")

    async def scenario(house: House) -> None:
        answer = await house.ask("GET", "/_redrive/faults")

        assert answer.status == 500
        assert [facts["request_id"] for facts in house.log.errors] == [of(answer)["id"]]
        assert "LookupError" in str(house.log.errors[0]["error"])

    play(scenario, run=broken)


@pytest.mark.parametrize(
    ("headers", "shape"),
    [
        (JSON_CALL, r'"__type":"InternalFailure"'),
        (FORM_CALL, r"<ErrorResponse .*<Code>InternalFailure</Code>"),
        ({"content-type": "application/json"}, r'"message":'),
        ({"smithy-protocol": "rpc-v2-cbor"}, r"InternalFailure"),
    ],
)
def test_defect_is_answered_in_the_shape_of_the_protocol(play: Play, headers: dict[str, str], shape: str) -> None:
    async def scenario(house: House) -> None:
        answer = await house.ask("POST", "/", b"{}", **headers)

        assert answer.status == 500
        assert re.search(shape, answer.body.decode("latin-1"))
        assert dict(answer.headers)["x-amzn-RequestId"] == house.log.errors[0]["request_id"]

    play(scenario, entropy=Broken(LookupError("as the test wants")))


def test_out_of_descriptors_is_told_to_try_again_and_works_then(play: Play) -> None:
    async def scenario(house: House) -> None:
        first = await house.ask("POST", "/", b'{"QueueName": "q"}', **JSON_CALL)
        second = await house.ask("POST", "/", b'{"QueueName": "q"}', **JSON_CALL)

        assert (first.status, of(first)["__type"]) == (503, "ServiceUnavailableException")
        assert second.status == 200

    play(scenario, entropy=Broken(OSError(errno.EMFILE, "Too many open files")))


@pytest.mark.parametrize("path", ["/_redrive/health", "/_redrive/clock", "/_redrive/faults"])
def test_head_is_answered_where_get_is(play: Play, path: str) -> None:
    async def scenario(house: House) -> None:
        assert (await house.ask("HEAD", path)).status == 200

    play(scenario)


def test_slow_requests_to_our_surface_are_bounded_and_health_answers_meanwhile(play: Play) -> None:
    gate = threading.Event()

    def slow(step: Step[Any]) -> Any:
        gate.wait(10)
        return {"faults": []}

    async def scenario(house: House) -> None:
        waiting = [house.begin("GET", "/_redrive/faults") for _ in range(ADMIN_MAX)]
        refused = await house.ask("GET", "/_redrive/faults")
        health = await house.ask("GET", "/_redrive/health")
        gate.set()

        assert (refused.status, health.status) == (503, 200)
        assert {(await answer).status for answer in waiting} == {200}
        assert (await house.ask("GET", "/_redrive/faults")).status == 200

    play(scenario, run=slow)


def test_body_for_our_surface_is_at_most_a_mebibyte(play: Play) -> None:
    async def scenario(house: House) -> None:
        answer = await house.ask("POST", "/_redrive/faults", b" " * (ADMIN_BODY_BYTES_MAX + 1))

        assert answer.status == 413

    play(scenario)


@pytest.mark.parametrize(
    ("body", "headers", "is_elsewhere"),
    [
        (b'{"QueueName": "q"}', {}, False),
        (b'{"QueueName": "q"}' + b" " * LARGE_BODY_BYTES, {}, True),
        (b"not gzip", {"content-encoding": "gzip"}, True),  # What it becomes is not known before it is inflated.
    ],
)
def test_large_body_is_understood_off_the_event_loop(
    play: Play, body: bytes, headers: dict[str, str], is_elsewhere: bool
) -> None:
    entropy = Broken()

    async def scenario(house: House) -> None:
        await house.ask("POST", "/", body, **JSON_CALL, **headers)

        assert all(name.startswith("redrive-decode") is is_elsewhere for name in entropy.threads[:1])

    play(scenario, entropy=entropy)
    assert entropy.threads


def test_primes_of_a_key_are_searched_for_while_others_are_answered(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search waits until another request was answered, which no search inside of a transaction would survive."""
    answered = threading.Event()

    def patient_search(spec: KeySpec) -> PrivateKey:
        assert answered.wait(5)
        return new_private_key(spec)

    monkeypatch.setattr(making, "new_private_key", patient_search)
    call = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "TrentService.CreateKey"}

    async def scenario(house: House) -> None:
        waiting = house.begin("POST", "/", b'{"KeySpec":"RSA_2048","KeyUsage":"SIGN_VERIFY"}', **call)
        other = await house.ask("POST", "/", b'{"QueueName":"q"}', **JSON_CALL)
        is_early = waiting.done()
        answered.set()
        made = await waiting

        assert (is_early, other.status, made.status) == (False, 200, 200)
        assert of(made)["KeyMetadata"]["KeySpec"] == "RSA_2048"

    play(scenario)


def test_body_of_millions_of_values_is_not_parsed(play: Play) -> None:
    async def scenario(house: House) -> None:
        answer = await house.ask("POST", "/", b"[" + b"0," * (LARGE_BODY_COMMAS_MAX + 1) + b"0]", **JSON_CALL)

        assert answer.status == 413

    play(scenario)


def test_large_bodies_that_wait_have_a_limit_together(play: Play) -> None:
    async def scenario(house: House) -> None:
        body = bytes(LARGE_BYTES_WAITING_MAX // 4)
        waiting = [house.begin("POST", "/", body, **JSON_CALL) for _ in range(4)]
        refused = await house.ask("POST", "/", body, **JSON_CALL)

        assert (refused.status, of(refused)["__type"]) == (503, "ServiceUnavailableException")
        assert {(await answer).status for answer in waiting} == {400}

    play(scenario)


@pytest.mark.parametrize(("headers", "shape"), [(JSON_CALL, r'"__type"'), (FORM_CALL, r"<Code>AccessDenied")])
def test_refused_page_gets_an_error_that_sdks_read_and_nothing_happens(
    play: Play, headers: dict[str, str], shape: str
) -> None:
    async def scenario(house: House) -> None:
        answer = await house.ask("POST", "/", b'{"QueueName": "q"}', **headers, origin="https://evil.example")

        assert answer.status == 403
        assert "The header Origin says" in answer.body.decode()
        assert "--allow-origin" in answer.body.decode()
        assert re.search(shape, answer.body.decode())
        assert "Access-Control-Allow-Origin" not in dict(answer.headers)
        listed = await house.ask("POST", "/", b"{}", **JSON_CALL | {"x-amz-target": "AmazonSQS.ListQueues"})
        assert of(listed) == {}

    play(scenario)


@pytest.mark.parametrize(("name", "status"), [("q", 200), ("no name", 400)])
def test_allowed_page_may_read_answers_and_errors(play: Play, name: str, status: int) -> None:
    async def scenario(house: House) -> None:
        body = json.dumps({"QueueName": name}).encode()
        answer = await house.ask("POST", "/", body, **JSON_CALL, origin="http://app.test")

        assert answer.status == status
        assert dict(answer.headers)["Access-Control-Allow-Origin"] == "http://app.test"

    play(scenario)


def test_preflight_is_answered_with_nothing_but_headers(play: Play) -> None:
    async def scenario(house: House) -> None:
        asked = {"origin": "http://app.test", "access-control-request-method": "POST"}
        answer = await house.ask("OPTIONS", "/", b"", **asked)

        assert (answer.status, answer.body) == (204, b"")
        assert dict(answer.headers)["Access-Control-Allow-Origin"] == "http://app.test"

    play(scenario)
