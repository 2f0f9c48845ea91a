"""The instruments of this house measure: planted defects are seen, and cases become small."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from tests.fuzz.examples import EXAMPLES
from tests.fuzz.protocols import request_of
from tests.fuzz.shrinking import shrink
from tests.fuzz.test_http_bytes import answers
from tests.fuzz.values import Draw
from tests.fuzz.watch import BrokenPromiseError, Watched
from tests.fuzz.work import HangError, ending, lines_run

MODELS = Models()
LIST_QUEUES = HttpRequest("POST", "/", "", {"x-amz-target": "AmazonSQS.ListQueues"}, b"{}")


@dataclasses.dataclass
class Planted:
    """A gateway that does one thing wrong."""

    world: World
    answer: HttpResponse
    sql: str = "SELECT 1"
    times: int = 1

    def respond(self, _: HttpRequest) -> HttpResponse:
        for _number in range(self.times):
            self.world.store.connection.execute(self.sql)
        return self.answer


@pytest.mark.parametrize(
    ("answer", "sql", "times"),
    [
        (HttpResponse(500, (), b""), "SELECT 1", 1),
        (HttpResponse(501, (), b"{}"), "SELECT 1", 1),
        (HttpResponse(400, (), b"{}"), "SELECT 1", 1),
        (HttpResponse(200, (), b"{}"), "SELECT 1", 1_000),
        (HttpResponse(400, (("x-amzn-ErrorType", "A"),), b'{"__type":"A"}'), "DELETE FROM messages", 1),
    ],
    ids=["5xx", "501 of no name", "no code", "much SQL", "refused yet changed"],
)
def test_broken_promise_is_seen(answer: HttpResponse, sql: str, times: int) -> None:
    watched = Watched()
    watched.world.gateway = Planted(watched.world, answer, sql, times)  # type: ignore[assignment]

    with pytest.raises(BrokenPromiseError):
        watched.call(LIST_QUEUES, operation=MODELS.service("sqs").operations["ListQueues"])


def test_kept_promise_is_no_finding() -> None:
    watched = Watched()

    answer = watched.call(LIST_QUEUES, operation=MODELS.service("sqs").operations["ListQueues"])

    assert len(answer["QueueUrls"]) == 4


@pytest.mark.parametrize(("service", "name"), EXAMPLES)
def test_examples_are_understood_in_every_protocol(service: str, name: str) -> None:
    """An example that is refused would let its operation go untested."""
    model = MODELS.service(service)
    operation = model.operations[name]
    for protocol in model.spec.protocols:
        watched = Watched()
        example = dict(EXAMPLES[service, name])
        if service == "kms" and "KeyId" in example:
            # Most operations on keys take no alias, and the key of the furniture has an id that nobody chose.
            example["KeyId"] = watched.world.client("kms").describe_key(KeyId=example["KeyId"])["KeyMetadata"]["KeyId"]
        request = request_of(model, operation, protocol, example, Draw(1))
        assert "Error" not in watched.call(request, operation=operation, protocol=protocol)


def _loop() -> None:
    while True:
        pass


def test_call_without_end_is_ended_in_python_and_in_regular_expressions() -> None:
    with pytest.raises(HangError), ending(0.05):
        _loop()
    with pytest.raises(HangError), ending(0.05):
        re.fullmatch("(a|a)*b", "a" * 60)


def test_lines_are_counted_the_same_each_time() -> None:
    def work() -> None:
        for _ in range(10):
            ""

    assert lines_run(work) == lines_run(work) >= 20


def test_failing_case_becomes_the_smallest_that_fails() -> None:
    case: list[dict[str, Any]] = [{"a": "needle", "b": ["hay"] * 20}, {"c": "straw"}, {"a": b"bytes"}]

    smallest = shrink(case, lambda candidate: any("d" in str(item.get("a")) for item in candidate))

    assert smallest == [{"a": "d"}]


def test_answers_that_are_no_answers_are_seen() -> None:
    whole = b"HTTP/1.1 200 OK\r\nX-Seq: 0\r\nContent-Length: 2\r\n\r\nhi"

    assert list(answers(whole, ["GET"])) == [(200, 0)]
    for broken in (whole + b"x", whole[:-1], b"hello\r\n\r\n"):
        with pytest.raises(AssertionError):
            list(answers(broken, ["GET"]))
