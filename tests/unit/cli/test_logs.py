"""`redrive logs`: which events of which group."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from redrive.cli.logs import _events
from tests.unit.cli.conftest import Terminal
from tests.unit.cli.test_queues import role

GROUP = "/aws/lambda/hello"


@pytest.fixture
def logs(terminal: Terminal) -> Any:
    client = terminal.client("logs")
    client.create_log_group(logGroupName=GROUP)
    client.create_log_stream(logGroupName=GROUP, logStreamName="one")
    return client


def log(terminal: Terminal, client: Any, *messages: str) -> None:
    at = json.loads(terminal.run("clock", "show", "-o", "json").stdout)["now_ms"]
    events = [{"timestamp": at, "message": message} for message in messages]
    client.put_log_events(logGroupName=GROUP, logStreamName="one", logEvents=events)


def shown(terminal: Terminal, *arguments: str) -> list[str]:
    lines = terminal.run("logs", GROUP, "--json", *arguments).stdout.splitlines()
    return [json.loads(line)["message"] for line in lines]


def test_events_of_the_last_hour_are_shown_by_the_servers_clock(terminal: Terminal, logs: Any) -> None:
    log(terminal, logs, "old")
    terminal.advance(7200)
    log(terminal, logs, "new")

    assert shown(terminal) == ["new"]
    assert shown(terminal, "--since", "3h") == ["old", "new"]


def test_filter_is_a_pattern_of_cloudwatch_logs(terminal: Terminal, logs: Any) -> None:
    log(terminal, logs, "all is well", "ERROR: no", '{"level": "WARN"}')

    assert shown(terminal, "--filter", "ERROR") == ["ERROR: no"]
    assert shown(terminal, "--filter", '{ $.level = "WARN" }') == ['{"level": "WARN"}']


def test_text_has_a_line_for_each_event_with_its_time(terminal: Terminal, logs: Any) -> None:
    log(terminal, logs, "first\n", "second")

    lines = terminal.run("logs", GROUP).stdout.splitlines()

    assert [line.partition("Z  ")[2] for line in lines] == ["first", "second"]


def test_silence_says_how_far_back_the_last_event_is(terminal: Terminal, logs: Any) -> None:
    log(terminal, logs, "old")
    terminal.advance(3 * 86_400)

    done = terminal.run("logs", GROUP)

    assert done.stdout == ""
    assert "--since 4d" in done.stderr


def test_follow_shows_what_is_new_and_nothing_twice(terminal: Terminal, logs: Any) -> None:
    """An event may arrive later than its time says; between two looks time passes."""
    log(terminal, logs, "first")
    coming = iter([["second"], [], ["third", "fourth"]])

    def pause() -> None:
        log(terminal, logs, *(next(coming) or ["more"]))

    events = _events(logs, {"logGroupName": GROUP}, 0, follow=True, pause=pause)

    assert [event["message"] for event in itertools.islice(events, 5)] == ["first", "second", "more", "third", "fourth"]


def test_follow_waits_for_a_group_that_is_not_there_yet(terminal: Terminal) -> None:
    client = terminal.client("logs")

    def pause() -> None:
        client.create_log_group(logGroupName=GROUP)
        client.create_log_stream(logGroupName=GROUP, logStreamName="one")
        log(terminal, client, "first")

    events = _events(client, {"logGroupName": GROUP}, 0, follow=True, pause=pause)

    assert next(events)["message"] == "first"


def test_mistyped_function_is_guessed(terminal: Terminal) -> None:
    template = {
        "Resources": {
            "Hello": {
                "Type": "AWS::Lambda::Function",
                "Properties": {
                    "FunctionName": "hello", "Handler": "index.handler", "Runtime": "python3.11",
                    "Role": role(terminal, "lambda"), "Code": {"ZipFile": "def handler(event, context): pass\n"},
                },
            }
        }
    }  # fmt: skip
    terminal.deploy(template)

    mistyped, silent = terminal.run("logs", "helo"), terminal.run("logs", "hello")

    assert mistyped.exit_code == 2
    assert "Did you mean: redrive logs hello" in mistyped.stderr
    assert silent.exit_code == 1
    assert "hello has logged nothing yet" in silent.stderr
