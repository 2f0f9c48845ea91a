"""kill -9 at any moment: nothing that was accepted is lost, nothing is stuck for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.e2e.conftest import ServerProcess

Start = Callable[..., ServerProcess]

SENDERS = 4


class Sender(threading.Thread):
    """Sends numbered messages one after another, and keeps those that were accepted, until the server is gone."""

    def __init__(self, sqs: Any, queue_url: str, name: str) -> None:
        super().__init__()
        self.accepted: list[str] = []
        self._sqs, self._queue_url, self._prefix = sqs, queue_url, name

    def run(self) -> None:
        number = 0
        while True:
            number += 1
            body = f"{self._prefix}-{number}"
            try:
                self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=body)
            except (BotoCoreError, ClientError):
                return
            self.accepted.append(body)


def drain(sqs: Any, queue_url: str) -> list[str]:
    """All messages of a queue, deleted as they are received."""
    bodies: list[str] = []
    while messages := sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10).get("Messages"):
        bodies += [message["Body"] for message in messages]
        entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
        assert "Failed" not in sqs.delete_message_batch(QueueUrl=queue_url, Entries=entries)
    return bodies


@pytest.mark.parametrize("after", [30, 200])
def test_every_message_that_was_accepted_survives_kill_9_under_load(start: Start, tmp_path: Path, after: int) -> None:
    options = ("--data", str(tmp_path / "data"))
    server = start(*options)
    queue_url = server.client("sqs").create_queue(QueueName="orders")["QueueUrl"]
    senders = [Sender(server.client("sqs"), queue_url, f"s{number}") for number in range(SENDERS)]
    for sender in senders:
        sender.start()
    while sum(len(sender.accepted) for sender in senders) < after:
        server.client("sqs").list_queues()
    server.kill()
    for sender in senders:
        sender.join()

    again = start(*options)
    url = again.client("sqs").get_queue_url(QueueName="orders")["QueueUrl"]
    kept = drain(again.client("sqs"), url)

    accepted = [body for sender in senders for body in sender.accepted]
    assert set(accepted) <= set(kept)
    assert len(kept) - len(set(kept)) == 0
    assert len(kept) <= len(accepted) + SENDERS


def test_message_in_flight_when_the_server_died_comes_back(start: Start, tmp_path: Path) -> None:
    options = ("--clock", "virtual", "--data", str(tmp_path / "data"))
    server = start(*options)
    sqs = server.client("sqs")
    url = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "60"})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    assert sqs.receive_message(QueueUrl=url)["Messages"]
    server.kill()

    again = start(*options)
    sqs = again.client("sqs")
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    again.redrive("clock", "advance", "60s")

    message = sqs.receive_message(QueueUrl=url, MessageSystemAttributeNames=["All"])["Messages"][0]
    assert (message["Body"], message["Attributes"]["ApproximateReceiveCount"]) == ("hello", "2")
