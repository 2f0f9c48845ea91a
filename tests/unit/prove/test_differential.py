"""What a search remembers changes nothing: it plays the same histories as one that asks the engine each time.

And a slow search, which takes hardly two moments for the same and begins each leg anew, comes to the same verdict with
a history as short.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from redrive.core.errors import UserError
from redrive.prove.judge.judge import Judge, Violation
from redrive.prove.play.performance import Performance
from redrive.prove.process.subject import GivenSubject, NamedSubject, Subject
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.verdict import Verdict
from tests.unit.prove.conftest import example

Handler = Callable[[Any, Any], Any]

MAILS = "https://sqs.us-east-1.amazonaws.com/000000000000/mails"
EXAMPLES = ("check_then_mark", "message_id_as_key", "no_condition", "running_is_a_lease", "running_means_skip", "safe")


@dataclass
class Ends:
    """The different ends of the histories of a search."""

    seen: set[bytes] = field(default_factory=set)


@contextmanager
def watched(patch: pytest.MonkeyPatch) -> Iterator[Ends]:
    """Collects the ends of all histories."""
    ends, original = Ends(), Judge.at_end

    def at_end(judge: Judge, performance: Performance) -> Violation | None:
        ends.seen.add(performance.likeness())
        return original(judge, performance)

    with patch.context() as context:
        context.setattr(Judge, "at_end", at_end)
        yield ends


@contextmanager
def forgetful(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """While entered, the engine is asked each question anew."""
    with patch.context() as context:
        context.setattr(Stage, "remembers", property(lambda _: False, lambda *_: None), raising=False)
        yield


@contextmanager
def thorough(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """While entered, two moments are the same only if nothing at all is different, and none within a leg."""

    def everything(performance: Performance) -> object:
        return object() if performance.running else (performance.stage.digest(), performance.journal.traces)

    with forgetful(patch), patch.context() as context:
        context.setattr(Performance, "likeness", everything)
        context.setattr(Stage, "mark", lambda *_, **__: None)
        yield


def told(verdict: Verdict) -> tuple[object, ...]:
    """Everything that two equal searches have in common."""
    found = verdict.counterexample
    history = [] if found is None else [str(leg) for leg in found.history]
    rule = None if found is None else (found.violation.rule, found.violation.sentence)
    bounds = verdict.bounds
    return rule, history, verdict.effects, bounds.histories, bounds.merged, bounds.runs, bounds.is_finished


def length(verdict: Verdict) -> tuple[object, int]:
    """The rule that is broken, and with how many faults."""
    found = verdict.counterexample
    return (None, 0) if found is None else (found.violation.rule, sum(leg.faults for leg in found.history))


def searched_alike(subject: Subject, options: Options, patch: pytest.MonkeyPatch) -> Verdict:
    with watched(patch) as quick:
        verdict = prove(subject, options)
    with forgetful(patch), watched(patch) as slow:
        plain = prove(subject, options)

    assert told(verdict) == told(plain)
    assert quick.seen == slow.seen
    return verdict


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_searched_alike_and_as_thoroughly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = searched_alike(example(name), Options(faults=1), monkeypatch)

    with thorough(monkeypatch):
        assert length(prove(example(name), Options(faults=1))) == length(verdict)


def ledger_by(key: Callable[[Any], str]) -> Handler:
    """Counts each thing once, by its key."""

    def handler(event: Any, context: Any) -> None:
        table = boto3.client("dynamodb")
        try:
            table.put_item(
                TableName="done", Item={"id": {"S": key(event)}}, ConditionExpression="attribute_not_exists(id)"
            )
        except table.exceptions.ConditionalCheckFailedException:
            return
        boto3.client("sqs").send_message(QueueUrl=MAILS, MessageBody="done")

    return handler


KEYS: dict[Kind, Callable[[Any], str]] = {
    Kind.SQS: lambda event: str(event["Records"][0]["messageId"]),
    Kind.EVENTBRIDGE: lambda event: str(event["id"]),
    Kind.LAMBDA: lambda event: json.dumps(event, sort_keys=True),
    Kind.TASK: lambda event: json.dumps(event, sort_keys=True),
    Kind.KINESIS: lambda event: str(event["Records"][0]["kinesis"]["sequenceNumber"]),
    Kind.DYNAMODB: lambda event: str(event["Records"][0]["eventID"]),
    Kind.S3: lambda event: str(event["Records"][0]["s3"]["object"]["sequencer"]),
}


@pytest.mark.parametrize("kind", KEYS, ids=lambda kind: kind.value)
def test_each_kind_of_trigger_is_searched_alike(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = GivenSubject(ledger_by(KEYS[kind]))

    searched_alike(subject, Options(faults=1, trigger=kind), monkeypatch)


def test_function_that_invokes_itself_is_searched_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question within a question: neither is known again by its tables."""

    def handler(event: Any, context: Any) -> None:
        if "again" not in event:
            boto3.client("lambda").invoke(FunctionName="handler", Payload=b'{"again": true}')
        boto3.client("sqs").send_message(QueueUrl=MAILS, MessageBody="done")

    searched_alike(GivenSubject(handler), Options(faults=1, trigger=Kind.LAMBDA), monkeypatch)


def put_if_absent(event: Any, number: int) -> None:
    table = boto3.client("dynamodb")
    try:
        table.put_item(
            TableName="ledger", Item={"id": {"S": f"{number}"}}, ConditionExpression="attribute_not_exists(id)"
        )
    except table.exceptions.ConditionalCheckFailedException:
        return


def put(event: Any, number: int) -> None:
    boto3.client("dynamodb").put_item(TableName="rows", Item={"id": {"S": f"{number}"}, "by": {"S": "handler"}})


def put_new(event: Any, number: int) -> None:
    message_id = event["Records"][0]["messageId"]
    boto3.client("dynamodb").put_item(TableName="news", Item={"id": {"S": f"{number} {message_id}"}})


def add(event: Any, number: int) -> None:
    boto3.client("dynamodb").update_item(
        TableName="sums", Key={"id": {"S": "all"}}, UpdateExpression="ADD total :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )  # fmt: skip


def send(event: Any, number: int) -> None:
    boto3.client("sqs").send_message(QueueUrl=MAILS, MessageBody=f"{number}")


def post(event: Any, number: int) -> None:
    request = urllib.request.Request("https://api.example.com/charges", data=b"{}", method="POST")
    urllib.request.urlopen(request).read()


def stop_if_there(event: Any, number: int) -> bool:
    found = boto3.client("dynamodb").get_item(TableName="rows", Key={"id": {"S": "0"}})
    return "Item" in found


STEPS: Sequence[Callable[[Any, int], object]] = (put_if_absent, put, put_new, add, send, post, stop_if_there)


def program(steps: Sequence[Callable[[Any, int], object]], *, swallows: bool) -> Handler:
    """A handler that makes these steps; it may report a failed one as a message that stays."""

    def handler(event: Any, context: Any) -> object:
        for number, step in enumerate(steps):
            try:
                if step(event, number):
                    break
            except Exception:
                if not swallows:
                    raise
                return {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["messageId"]}]}
        return None

    return handler


@settings(
    max_examples=12, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4), swallows=st.booleans())
def test_made_up_handlers_are_searched_alike_and_as_thoroughly(
    steps: Sequence[Callable[[Any, int], object]], *, swallows: bool
) -> None:
    patch = pytest.MonkeyPatch()
    subject = GivenSubject(program(steps, swallows=swallows))
    try:
        verdict = searched_alike(subject, Options(faults=1), patch)
    except UserError:  # It changes nothing that can be seen.
        return

    with thorough(patch):
        assert length(prove(subject, Options(faults=1))) == length(verdict)


def test_search_with_more_faults_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    subject: NamedSubject = example("safe")

    searched_alike(subject, Options(faults=2), monkeypatch)
