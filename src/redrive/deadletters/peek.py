"""Looks into a dead-letter queue and leaves it as it was.

SQS has no operation that reads without receiving. A look receives each message once, and hides it for the time that the
look takes, so that the same message does not come twice. At the end the messages are shown again; if the look is killed
they come back by themselves when that time is over. Each look counts as a receive.

A message whose time is over is left alone at the end: in a standard queue an older receipt handle shows a message again
that somebody else has received meanwhile (docs/semantics/sqs.md).

Of a FIFO queue SQS gives no further message of a group while one of its messages is hidden: a look sees the first
messages of each group.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from redrive.core.clock import SECOND_MS, Instant
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.letter import Letter

BATCH = 10
"""The most messages of one receive."""

HIDDEN_S_MIN = 60
HIDDEN_S_MAX = 12 * 3_600
"""The longest time for which SQS hides a message."""

WAIT_S_ON_AWS = 2
"""How long a receive waits on AWS, whose many machines a receive that does not wait may miss. A server has one."""

LETTERS_PER_SECOND = 200
"""A slow look. It is hidden for longer than it should take at this rate."""

EMPTY_RECEIVES = 3
"""After so many receives without a message, one after the other, the queue is taken for empty: SQS asks a part of its
machines, and may miss messages of a queue that has few."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many messages a queue has, about."""

    visible: int
    hidden: int
    delayed: int
    is_fifo: bool
    arn: str

    @property
    def length(self) -> int:
        """All messages, whether or not they can be received now."""
        return self.visible + self.hidden + self.delayed


def depth_of(sqs: Any, url: str) -> Depth:
    """Ask how many messages a queue has. Errors: ClientError."""
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return Depth(
        int(told.get("ApproximateNumberOfMessages", 0)), int(told.get("ApproximateNumberOfMessagesNotVisible", 0)),
        int(told.get("ApproximateNumberOfMessagesDelayed", 0)), told.get("FifoQueue") == "true",
        told.get("QueueArn", ""),
    )  # fmt: skip


@contextmanager
def looking(
    sqs: Any, url: str, *, hidden_s: int, now: Callable[[], Instant], wait_s: int = 0
) -> Iterator[Look]:  # fmt: skip
    """One look at a queue, whose messages are shown again at the end, also if the look was broken off.

    `hidden_s` is for how long the messages of a look that is killed stay hidden, see `hidden_s_for`; `wait_s` how long
    a receive waits for messages: 0 where one machine has them all. Errors: ClientError.
    """
    # The receipts stand in a file: a hundred thousand of them are too many for the memory.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as receipts:
        look = Look(sqs, url, receipts, hidden_s=hidden_s, now=now, wait_s=wait_s)
        try:
            yield look
        finally:
            look.show_again()


class Look:
    """The letters of a queue, once. Made by `looking`."""

    def __init__(
        self, sqs: Any, url: str, receipts: IO[str], *, hidden_s: int, now: Callable[[], Instant], wait_s: int
    ) -> None:
        self._sqs = sqs
        self._url = url
        self._receipts = receipts
        self._hidden_s = hidden_s
        self._now = now
        self._wait_s = wait_s
        self._seen: set[str] = set()

    @property
    def seen(self) -> int:
        """How many letters the look has seen."""
        return len(self._seen)

    def letters(self, most: int | None = None) -> Iterator[Letter]:
        """The letters, each once, in the order in which SQS gives them. Errors: ClientError."""
        empty = 0
        while empty < EMPTY_RECEIVES and (most is None or self.seen < most):
            size = BATCH if most is None else min(BATCH, most - self.seen)
            asked_at = self._now()
            fresh = [one for one in self._receive(size) if one["MessageId"] not in self._seen]
            empty = 0 if fresh else empty + 1
            for message in fresh:
                self._seen.add(message["MessageId"])
                self._receipts.write(f"{asked_at} {message['ReceiptHandle']}\n")
            yield from map(read_letter, fresh)

    def show_again(self) -> None:
        """Make the messages of the look visible, those that it still hides. Errors: ClientError."""
        self._receipts.seek(0)
        hidden_since = self._now() - self._hidden_s * SECOND_MS
        asked = (line.split() for line in self._receipts)
        receipts = (receipt for asked_at, receipt in asked if int(asked_at) > hidden_since)
        while batch := list(itertools.islice(receipts, BATCH)):
            entries = [
                {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
                for number, receipt in enumerate(batch)
            ]
            self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)

    def _receive(self, size: int) -> Sequence[Any]:
        answer = self._sqs.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=size, VisibilityTimeout=self._hidden_s,
            WaitTimeSeconds=self._wait_s, MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"],
        )  # fmt: skip
        messages: Sequence[Any] = answer.get("Messages", [])
        return messages


def hidden_s_for(messages: int) -> int:
    """For how long the messages of a look are hidden, in seconds."""
    return max(HIDDEN_S_MIN, min(HIDDEN_S_MAX, HIDDEN_S_MIN + messages // LETTERS_PER_SECOND))
