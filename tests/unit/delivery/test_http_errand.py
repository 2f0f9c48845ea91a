"""A source whose deliveries are HTTP calls, end to end over loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from redrive.core.clock import MINUTE_MS
from redrive.core.log import SilentLog
from redrive.core.retry import Backoff, Failed, FailureKind, RetryPolicy, Succeeded
from redrive.core.scope import Scope
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.history.runs import Run, run_of
from redrive.delivery.outside.http_call import HttpCall, HttpEnding, HttpResult
from redrive.delivery.sources.call import Later
from redrive.delivery.sources.classify import judge_answer
from redrive.delivery.sources.source import Source
from redrive.engine.engine import Engine
from redrive.engine.virtual import VirtualTime
from redrive.invoke.http_calls import HttpCalls
from redrive.store.api import Transaction
from redrive.store.tables.attempts import RunState
from redrive.store.tables.deliveries import OUTSIDE, Delivery
from redrive.testing.world import World

POLICY = RetryPolicy(retries_max=3, backoff=Backoff(steps_ms=(MINUTE_MS,), jitter=0))


class Hooks(Source):
    """Calls a URL with a body."""

    name = "hooks"

    def __init__(self) -> None:
        self.asked_to_wait: list[int] = []
        self.waits_ms: list[int] = []

    def render(self, tx: Transaction, delivery: Delivery) -> HttpCall | Later:
        if self.waits_ms:
            self.asked_to_wait.append(delivery.attempts)
            return Later(tx.now + self.waits_ms.pop(0))
        return HttpCall(delivery.target_arn, headers=(("X-Attempt", str(delivery.attempts)),), body=b"event")


class Subscriber(BaseHTTPRequestHandler):
    """Answers with the next status; the last one again and again."""

    statuses: list[int]
    seen: list[tuple[str | None, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.headers["X-Attempt"], body))
        self.send_response(self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0])
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"said")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Fixture:
    """A world whose engine calls a subscriber on this machine."""

    def __init__(self) -> None:
        class One(Subscriber):
            statuses = [200]  # noqa: RUF012 - each test has a class of its own.
            seen = []  # noqa: RUF012 - as above.

        self.handler = One
        self.server = HTTPServer(("127.0.0.1", 0), self.handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.world = World(seed=1)
        store, made = self.world.store, self.world.engine
        self.source = Hooks()
        workers = [DeliveryWorker([self.source], SilentLog())]
        engine = Engine(store.run, made.registry, workers, made.invoker, SilentLog(), http=HttpCalls())
        self.time = VirtualTime(engine, self.world.clock)

    def deliver(self, url: str, *, minutes: int = 0) -> Run:
        """Promise a call, let time pass, and answer the history."""
        self.deliver_later(url, minutes=minutes)
        run = self.world.store.run(lambda tx: run_of(tx, "call"))
        assert run is not None
        return run

    def deliver_later(self, url: str, *, minutes: int = 0) -> None:
        """Promise a call, which may have no history yet, and let time pass."""
        now = self.world.now
        scope = Scope("000000000000", "us-east-1")
        delivery = Delivery("call", scope, "hooks", "arn:topic", url, {}, POLICY, OUTSIDE, due_at=now, first_at=now)
        self.world.store.run(lambda tx: tx.deliveries.put(delivery))
        self.time.advance_to(now + minutes * MINUTE_MS)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.world.close()


@pytest.fixture
def hooks() -> Iterator[Fixture]:
    hooks = Fixture()
    yield hooks
    hooks.close()


def test_call_that_fails_is_made_again_until_it_succeeds(hooks: Fixture) -> None:
    hooks.handler.statuses = [503, 429, 204]

    run = hooks.deliver(hooks.url, minutes=2)

    assert hooks.handler.seen == [("1", b"event"), ("2", b"event"), ("3", b"event")]
    assert [record.code for record in run.records] == ["Http503", "Http429", ""]
    assert run.records[0].message == "said"
    assert run.state is RunState.DELIVERED


def test_source_that_asks_to_be_asked_later_uses_up_no_attempt(hooks: Fixture) -> None:
    """Not even with a policy that allows no retry: nothing was tried yet."""
    hooks.source.waits_ms = [MINUTE_MS] * 5

    run = hooks.deliver(hooks.url, minutes=5)

    assert hooks.source.asked_to_wait == [1] * 5
    assert hooks.handler.seen == [("1", b"event")]
    assert [record.ended_at for record in run.records] == [hooks.world.now]


def test_source_that_always_asks_to_be_asked_later_ends_with_the_age_of_the_delivery(hooks: Fixture) -> None:
    hooks.source.waits_ms = [10 * MINUTE_MS] * 1_000

    run = hooks.deliver(hooks.url, minutes=25 * 60)

    assert hooks.handler.seen == []
    assert [record.code for record in run.records] == ["MaximumEventAgeInSeconds"]


def test_source_is_asked_once_in_an_instant(hooks: Fixture) -> None:
    """Even if it asks to be asked at once: time has to pass, or the worker would turn for ever."""
    hooks.source.waits_ms = [0, -1, 0, 0]

    hooks.deliver_later(hooks.url)

    assert hooks.source.asked_to_wait == [1]


def test_call_to_another_machine_is_given_up_without_being_made(hooks: Fixture) -> None:
    run = hooks.deliver("http://192.0.2.1/")

    assert [(record.code, record.verdict) for record in run.records] == [("HttpRefused", "gave up")]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FailureKind.PERMANENT), (404, FailureKind.PERMANENT), (302, FailureKind.PERMANENT),
        (408, FailureKind.TRANSIENT), (429, FailureKind.THROTTLED), (500, FailureKind.TRANSIENT),
        (503, FailureKind.TRANSIENT),
    ],
)  # fmt: skip
def test_answer_counts_as_its_status_says(status: int, kind: FailureKind) -> None:
    outcome = judge_answer(HttpResult(HttpEnding.ANSWERED, status))

    assert isinstance(outcome, Failed)
    assert outcome.kind is kind


def test_answers_of_success_are_those_of_2xx() -> None:
    assert judge_answer(HttpResult(HttpEnding.ANSWERED, 202)) == Succeeded({"StatusCode": 202})


@pytest.mark.parametrize("ending", [HttpEnding.TIMED_OUT, HttpEnding.FAILED])
def test_call_without_an_answer_is_made_again(ending: HttpEnding) -> None:
    outcome = judge_answer(HttpResult(ending, error="nobody"))

    assert outcome == Failed("HttpNotAnswered", "nobody", FailureKind.TRANSIENT)
