"""`redrive events send` and `resend`: results entry by entry; nothing is deleted before it was accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Terminal

ARN = "arn:aws:sqs:us-east-1:000000000000"
EVENT = {"source": "shop", "detail-type": "Order", "detail": {"n": 1}, "time": "2021-04-07T19:16:15Z", "resources": []}
ANYBODY = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}


class Bus:
    """A server whose rule `all` sends every event to the queue `got`; `dead` is a queue of dead letters."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.sqs, self.events = terminal.client("sqs"), terminal.client("events")
        policy = json.dumps({"Version": "2012-10-17", "Statement": [ANYBODY]})
        for name in ("got", "dead"):
            self.sqs.create_queue(QueueName=name, Attributes={"Policy": policy})
        self.rule("all", f"{ARN}:got", {"source": [{"exists": True}]})

    def rule(self, name: str, target: str, pattern: Any, bus: str = "default") -> None:
        self.events.put_rule(Name=name, EventPattern=json.dumps(pattern), EventBusName=bus)
        document = {"Id": "1", "Arn": target, "DeadLetterConfig": {"Arn": f"{ARN}:dead"}}
        self.events.put_targets(Rule=name, Targets=[document], EventBusName=bus)

    def bury(self, *bodies: Any) -> None:
        """Put messages into the queue of dead letters."""
        for body in bodies:
            text = body if isinstance(body, str) else json.dumps(body)
            self.sqs.send_message(QueueUrl=self.url("dead"), MessageBody=text)

    def url(self, name: str) -> str:
        return str(self.sqs.get_queue_url(QueueName=name)["QueueUrl"])

    def take(self, name: str = "got") -> list[Any]:
        """The bodies of what is visible in a queue, which is empty afterwards."""
        self.terminal.advance(1)
        bodies: list[Any] = []
        while found := self.sqs.receive_message(QueueUrl=self.url(name), MaxNumberOfMessages=10).get("Messages"):
            bodies += [json.loads(message["Body"]) for message in found]
            for message in found:
                self.sqs.delete_message(QueueUrl=self.url(name), ReceiptHandle=message["ReceiptHandle"])
        return bodies

    def resend(self, *options: str) -> tuple[int, Any]:
        """Run the command on the dead letters; its exit code, and what it prints."""
        done = self.terminal.run("events", "resend", "--queue", "dead", *options)
        return done.exit_code, json.loads(done.stdout)


@pytest.fixture
def bus(terminal: Terminal) -> Bus:
    return Bus(terminal)


def test_each_event_of_a_file_is_sent_with_its_own_result(bus: Bus, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(json.dumps({**EVENT, "source": one}) for one in ("shop", "aws.s3", "bank")), "utf-8")

    done = bus.terminal.run("events", "send", str(path))

    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert (told["accepted"], told["failed"]) == (2, 1)
    assert [entry.get("code") for entry in told["entries"]] == [None, "NotAuthorizedForSourceException", None]
    assert sorted(event["source"] for event in bus.take()) == ["bank", "shop"]


def test_source_detail_type_and_bus_are_replaced_on_the_way(bus: Bus, tmp_path: Path) -> None:
    bus.events.create_event_bus(Name="orders")
    bus.rule("here", f"{ARN}:got", {"source": ["retry"]}, bus="orders")
    path = tmp_path / "event.json"
    path.write_text(json.dumps({**EVENT, "source": "aws.s3"}), "utf-8")

    bus.terminal.json("events", "send", str(path), "--source", "retry", "--bus", "orders", "--detail-type", "Again")

    (event,) = bus.take()
    assert (event["source"], event["detail-type"], event["detail"], event["time"]) == (
        "retry", "Again", {"n": 1}, "2021-04-07T19:16:15Z",
    )  # fmt: skip


def test_without_yes_nothing_is_sent_and_everything_stays(bus: Bus) -> None:
    bus.bury(EVENT)

    code, told = bus.resend("--source-suffix", ".retry")

    assert code == 4
    assert told["waiting"] == 1
    assert told["shown"][0]["entry"]["Source"] == "shop.retry"
    assert bus.take() == []
    assert bus.take("dead") == [EVENT]


def test_more_than_a_batch_is_sent_and_deleted(bus: Bus) -> None:
    bus.bury(*({**EVENT, "detail": {"n": n}} for n in range(23)))

    code, told = bus.resend("--yes", "--source", "retry", "--rate", "1000")

    assert (code, told) == (0, {"accepted": 23, "deleted": 23, "left": []})
    assert sorted(event["detail"]["n"] for event in bus.take()) == list(range(23))
    assert bus.take("dead") == []


def test_only_what_was_accepted_is_deleted(bus: Bus) -> None:
    """An event of AWS's own source, and a message that is no event, stay, and are visible again at once."""
    refused = {**EVENT, "source": "aws.s3"}
    bus.bury(EVENT, refused, {"no": "event"})

    code, told = bus.resend("--yes")

    assert code == 1
    assert (told["accepted"], told["deleted"]) == (1, 1)
    assert sorted(one["code"] for one in told["left"]) == ["NoEvent", "NotAuthorizedForSourceException"]
    assert [event["source"] for event in bus.take()] == ["shop"]
    assert sorted(bus.take("dead"), key=json.dumps) == sorted([{"no": "event"}, refused], key=json.dumps)


def test_prefix_makes_a_source_that_everybody_may_use(bus: Bus) -> None:
    bus.bury({**EVENT, "source": "aws.s3"})

    bus.resend("--yes", "--source-prefix", "retry-")

    assert [event["source"] for event in bus.take()] == ["retry-aws.s3"]


def test_letter_goes_back_to_the_bus_of_its_rule(bus: Bus) -> None:
    """A letter of EventBridge names the rule, and so the bus; the rule has another target by now."""
    bus.events.create_event_bus(Name="orders")
    bus.rule("orders", f"{ARN}:nowhere", {"source": ["shop"]}, bus="orders")
    entry = {"Source": "shop", "DetailType": "Order", "Detail": "{}", "EventBusName": "orders"}
    bus.events.put_events(Entries=[entry])
    bus.terminal.advance(1)
    bus.rule("orders", f"{ARN}:got", {"source": ["shop"]}, bus="orders")
    bus.events.remove_targets(Rule="all", Ids=["1"])

    _, shown = bus.resend()
    code, _ = bus.resend("--yes")

    assert shown["shown"][0]["failed_with"] == "NO_RESOURCE"
    assert shown["shown"][0]["entry"]["EventBusName"] == "orders"
    assert code == 0
    assert len(bus.take()) == 1


def test_event_of_a_destination_of_lambda_is_unwrapped(bus: Bus) -> None:
    bus.bury({"version": "1.0", "requestContext": {}, "requestPayload": EVENT})

    bus.resend("--yes")

    assert [event["detail"] for event in bus.take()] == [{"n": 1}]


def test_at_most_so_many_messages_are_sent(bus: Bus) -> None:
    bus.bury(*[EVENT] * 12)

    _, told = bus.resend("--yes", "--max", "11", "--rate", "1000")

    assert told["accepted"] == 11
    assert len(bus.take("dead")) == 1


def test_accepted_message_of_a_journal_is_deleted_and_not_sent_again(bus: Bus, tmp_path: Path) -> None:
    """A crash between both leaves it in the queue, and in the journal."""
    journal = tmp_path / "journal"
    bus.bury(EVENT)
    _, shown = bus.resend()
    journal.write_text(f"{shown['shown'][0]['message_id']}\n", "utf-8")
    bus.bury({**EVENT, "detail": {"n": 2}})

    _, told = bus.resend("--yes", "--journal", str(journal))

    assert told == {"accepted": 1, "deleted": 2, "left": []}
    assert [event["detail"] for event in bus.take()] == [{"n": 2}]
    assert len(journal.read_text("utf-8").split()) == 2


def test_queue_that_does_not_exist_is_named(bus: Bus) -> None:
    done = bus.terminal.run("events", "resend", "--queue", "daed")

    assert done.exit_code == 2
    assert "There is no queue daed." in done.stderr
