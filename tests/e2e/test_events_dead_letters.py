"""The example of dead letters that go back to the bus: in both times, and its files one by one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.conftest import ROOT, ServerProcess

EXAMPLE = ROOT / "examples" / "events-dead-letters"
Start = Callable[..., ServerProcess]


def run(server: ServerProcess, program: str, *arguments: str) -> str:
    """Run a program of the example against a server; answers what it prints."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / program), *arguments],
        capture_output=True, text=True, timeout=120, check=False, env=server.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def queue(server: ServerProcess, name: str) -> str:
    """Make a queue that everybody may send to; answers its URL."""
    anybody = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [anybody]})
    url: str = server.client("sqs").create_queue(QueueName=name, Attributes={"Policy": policy})["QueueUrl"]
    return url


def take(server: ServerProcess, url: str) -> list[Any]:
    """The bodies of what is in a queue, of ten messages at most, which are deleted."""
    sqs = server.client("sqs")
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    for message in found:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return [json.loads(message["Body"]) for message in found]


@pytest.fixture
def caught(server: ServerProcess) -> str:
    """The URL of a queue that gets all events from the source `retry`."""
    url = queue(server, "caught")
    events = server.client("events")
    events.put_rule(Name="retried", EventPattern='{"source":["retry"],"detail":{"eventSource":["s3.amazonaws.com"]}}')
    events.put_targets(Rule="retried", Targets=[{"Id": "q", "Arn": "arn:aws:sqs:us-east-1:000000000000:caught"}])
    return url


@pytest.mark.parametrize("options", [(), ("--clock", "virtual")], ids=["real", "virtual"])
def test_file_whose_function_failed_is_done_after_its_letter_was_sent_again(
    start: Start, options: tuple[str, ...]
) -> None:  # fmt: skip
    told = run(start(*options), "run.py").splitlines()

    assert [line for line in told if not line.startswith("  ")] == [
        "1. Two files arrive, and the function for them fails",
        "2. The function is mended, and the dead letters are sent again",
        "3. Both are done",
    ]
    assert "  the queue dead-letters has 2" in told
    assert "  the queue dead-letters has 0" in told
    assert told[-2:] == ["  a.csv, from retry", "  b.csv, from retry"]


def test_entry_written_by_hand_is_sent_by_the_aws_cli(server: ServerProcess, caught: str) -> None:
    answer = server.aws(
        "events", "put-events", "--entries", f"file://{EXAMPLE / 'resend.json'}", "--endpoint-url", server.endpoint_url
    )
    server.redrive("clock", "advance", "1s")

    (event,) = take(server, caught)
    assert answer["FailedEntryCount"] == 0
    assert event["detail"]["requestParameters"]["key"] == "some/file/path/foo.txt"
    assert (event["source"], event["time"]) == ("retry", "2021-04-07T19:16:15Z")


def test_listing_sends_a_whole_queue_and_leaves_it_empty(server: ServerProcess, caught: str) -> None:
    letters = queue(server, "letters")
    body = (EXAMPLE / "events" / "put-object.json").read_text("utf-8")
    for _ in range(3):
        server.client("sqs").send_message(QueueUrl=letters, MessageBody=body)

    run(server, "listing.py", "letters")
    server.redrive("clock", "advance", "1s")

    assert [event["source"] for event in take(server, caught)] == ["retry"] * 3
    assert take(server, letters) == []


def test_event_of_the_example_hits_the_rule_of_its_template(server: ServerProcess) -> None:
    told = json.loads(
        server.redrive("events", "test", str(EXAMPLE / "events"), "--template", str(EXAMPLE / "template.yaml"))
    )

    assert told["rules"] == {"file-arrived": 1}
