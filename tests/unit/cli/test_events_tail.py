"""`redrive events tail`: events as they come, and what became of each target, until all are settled."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from redrive.cli.endpoint import ask
from redrive.cli.events_tail import Tailing
from redrive.cli.surface import Surface
from tests.unit.cli.conftest import Terminal
from tests.unit.cli.test_queues import archive

ARN = "arn:aws:sqs:us-east-1:000000000000"
ANYBODY = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}


def put_rule(terminal: Terminal, *targets: str, name: str = "orders") -> None:
    events = terminal.client("events")
    events.put_rule(Name=name, EventPattern='{"source":["shop"]}')
    documents = [{"Id": str(number), "Arn": arn} for number, arn in enumerate(targets)]
    events.put_targets(Rule=name, Targets=documents)


def put_event(terminal: Terminal, source: str = "shop") -> None:
    terminal.client("events").put_events(Entries=[{"Source": source, "DetailType": "Order", "Detail": "{}"}])


def told(terminal: Terminal, count: int, *between: Callable[[], object]) -> list[Any]:
    """What a tail of `count` events tells; one thing happens whenever it waits, and later time passes."""
    happens = iter(between)

    def wait() -> None:
        next(happens, lambda: terminal.advance(300))()

    tailing = Tailing(Surface(terminal.endpoint_url), "us-east-1", "", count, wait)
    tailing.start()
    return list(tailing.documents())


@pytest.fixture
def queue(terminal: Terminal) -> str:
    policy = json.dumps({"Version": "2012-10-17", "Statement": [ANYBODY]})
    terminal.client("sqs").create_queue(QueueName="q", Attributes={"Policy": policy})
    return f"{ARN}:q"


def test_event_comes_with_its_rules_and_then_the_outcome_of_each_target(terminal: Terminal, queue: str) -> None:
    put_rule(terminal, queue, f"{ARN}:missing")

    event, *outcomes = told(terminal, 1, lambda: put_event(terminal))

    assert (event["type"], [rule["name"] for rule in event["rules"]]) == ("event", ["orders"])
    assert {one["event_id"] for one in outcomes} == {event["event"]["id"]}
    assert sorted((one["target"], one["rule"], one["state"]) for one in outcomes) == [
        (f"{ARN}:missing", "orders", "dropped"), (queue, "orders", "delivered"),
    ]  # fmt: skip


def test_retries_are_shown_one_after_the_other(terminal: Terminal, queue: str) -> None:
    put_rule(terminal, queue)
    ask(terminal.endpoint_url, "faults", {"target": queue, "error": "ThrottlingException", "times": 1})

    def put_and_retry() -> None:
        put_event(terminal)
        terminal.advance(300)

    _, first, second = told(terminal, 1, put_and_retry)

    assert (first["state"], first["attempt"], first["error"]) == ("retrying", 1, "ThrottlingException")
    assert first["next"] is not None
    assert (second["state"], second["attempt"]) == ("delivered", 2)


def test_event_that_matches_no_rule_is_shown_and_not_followed(terminal: Terminal) -> None:
    shown = told(terminal, 2, lambda: put_event(terminal, "bank"), lambda: put_event(terminal, "shop"))

    assert [(one["type"], one["event"]["source"], one["rules"]) for one in shown] == [
        ("event", "bank", []), ("event", "shop", []),
    ]  # fmt: skip


def test_run_of_a_function_that_accepted_the_event_is_shown_too(terminal: Terminal) -> None:
    """A function has its event when Lambda has accepted; its error comes later."""
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = terminal.client("iam").create_role(RoleName="runs", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    functions = terminal.client("lambda")
    arn = functions.create_function(
        FunctionName="work", Runtime="python3.12", Handler="index.nothing", Role=role, Code={"ZipFile": archive()},
    )["FunctionArn"]  # fmt: skip
    functions.add_permission(
        FunctionName="work", StatementId="s", Action="lambda:InvokeFunction", Principal="events.amazonaws.com"
    )
    functions.put_function_event_invoke_config(FunctionName="work", MaximumRetryAttempts=0)
    terminal.advance(1)
    put_rule(terminal, arn)

    _, call, run = told(terminal, 1, lambda: put_event(terminal))

    assert (call["kind"], call["rule"], call["state"]) == ("events", "orders", "delivered")
    assert (run["kind"], run["rule"], run["target"], run["state"]) == ("lambda", None, arn, "gave up")


def test_tail_goes_on_after_a_reset_of_the_server(terminal: Terminal) -> None:
    gap, event = told(terminal, 1, lambda: ask(terminal.endpoint_url, "reset", {}), lambda: put_event(terminal))

    assert (gap["type"], event["type"]) == ("gap", "event")


def test_tail_that_is_over_is_forgotten_by_the_server(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    class Watched(Surface):
        """Remembers the tails that were started."""

        def start_tail(self, **given: Any) -> Any:
            answer = super().start_tail(**given)
            started.append(answer["tail"])
            return answer

    tailing = Tailing(Watched(terminal.endpoint_url), "us-east-1", "", 1, lambda: put_event(terminal))
    tailing.start()
    list(tailing.documents())

    with pytest.raises(Exception, match="There is no tail"):
        Surface(terminal.endpoint_url).get_tail(tail=started[0])


def test_lines_of_json_go_to_a_pipe_and_sentences_to_a_terminal(
    terminal: Terminal, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    put_rule(terminal, queue)
    monkeypatch.setattr("redrive.cli.events_tail._pause", lambda: put_event(terminal))

    lines = [json.loads(line) for line in terminal.run("events", "tail", "-n", "1").stdout.splitlines()]
    text = terminal.run("events", "tail", "-n", "1", "-o", "text").stdout

    assert [line["type"] for line in lines] == ["event", "outcome"]
    assert "orders → sqs q" in text
    assert "orders → sqs q: attempt 1: delivered" in text
