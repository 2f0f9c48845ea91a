"""The example of dead letters that go back to the bus: what becomes of each file, and its other files one by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.conftest import ROOT, ServerProcess

EXAMPLE = ROOT / "examples" / "events-dead-letters"
FAILED = "failed: ValueError: invalid literal for int() with base 10: "


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


@pytest.fixture(scope="module")
def told() -> Any:
    """What the example says to a pipe. It starts its own server."""
    environment = {name: value for name, value in os.environ.items() if name != "AWS_ENDPOINT_URL"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py")],
        capture_output=True, text=True, timeout=300, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def did(told: Any, key: str) -> list[tuple[int, str, str]]:
    """When the function ran for a file, what source the event had, and what it did."""
    return [(one["at_s"], one["source"], one["did"]) for one in told["files"][key]]


def test_file_whose_function_failed_is_done_after_its_letter_was_sent_again(told: Any) -> None:
    assert did(told, "some/file/path/foo.txt") == [(0, "aws.s3", "imported 12")]
    for key, content, way in (("in/comma.csv", "1,200", "imported 1200"), ("in/listing.csv", "5,600", "imported 5600")):
        failed = FAILED + repr(content)
        assert did(told, key) == [
            (0, "aws.s3", failed), (60, "aws.s3", failed), (180, "aws.s3", failed), (601, "retry", way),
        ]  # fmt: skip


def test_event_that_is_sent_again_has_a_new_id_and_the_same_event_id_of_cloudtrail(told: Any) -> None:
    runs = told["files"]["in/comma.csv"]

    assert len({one["id"] for one in runs}) == 2
    assert len({one["eventID"] for one in runs}) == 1


def test_file_that_is_gone_fails_again_and_its_letter_comes_back(told: Any) -> None:
    assert told["letters"] == {
        "first": 2, "sent_by_the_command": 2, "sent_by_the_listing": 2, "left": ["in/gone.csv"],
    }  # fmt: skip
    assert [source for _, source, _ in did(told, "in/gone.csv")] == ["aws.s3"] * 3 + ["retry"] * 6
    assert "NoSuchKey" in did(told, "in/gone.csv")[-1][2]


def test_calls_that_the_rule_or_the_trail_leaves_out_are_never_told(told: Any) -> None:
    assert [did(told, key) for key in ("in/copy.csv", "in/parts.csv", "in/elsewhere.csv")] == [[], [], []]
    assert told["told_by_s3"] == ["in/comma.csv", "in/gone.csv", "in/listing.csv", "some/file/path/foo.txt"]


def test_event_has_all_that_the_article_s_has(told: Any) -> None:
    printed = json.loads((EXAMPLE / "events" / "put-object.json").read_text("utf-8"))

    def shape(one: Any) -> Any:
        if isinstance(one, dict):
            return {name: shape(value) for name, value in one.items()}
        return [shape(value) for value in one] if isinstance(one, list) else type(one).__name__

    def has(there: Any, wanted: Any) -> bool:
        if isinstance(wanted, dict):
            return all(name in there and has(there[name], value) for name, value in wanted.items())
        return bool(there == wanted)

    assert has(shape(told["an_event"]), shape(printed))


def test_article_s_code_and_texts_go_as_its_files_say(told: Any) -> None:
    listings = told["listings"]
    assert listings.pop("listing-dead-letter.json").startswith("no JSON: ")
    assert listings == {
        "source aws.s3": "NotAuthorizedForSourceException: Not authorized for the source.",
        "resend.json": "0 entries failed",
        "listing.py": "one entry of two is refused: the other one is sent 2 times in two runs",
    }


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

    assert told["rules"] == {"file-arrived": 2, "asks-for-the-source": 1, "asks-for-retries": 1}
