"""The letters that a run has received: each once, hidden while the run works, and shown again at the end if they stay.

Receipts stand in a file: a hundred thousand of them are too many for the memory. A letter whose time is over is left
alone: an older receipt may show a message again that somebody else has received meanwhile.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import IO, Any, Protocol, TypeVar

from botocore.exceptions import ClientError

from redrive.core.clock import SECOND_MS, Instant
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.letter import Letter
from redrive.deadletters.peek import BATCH, depth_of
from redrive.handler.failures import Kind, classify

MARGIN_MS = 10 * SECOND_MS
"""How long before the end of its time a letter is no longer taken for hidden: a request takes time."""

T = TypeVar("T")
R = TypeVar("R")


class Spread(Protocol):
    """Calls a function for each item, perhaps in threads; the results stand in the order of the items."""

    def __call__(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterable[R]: ...


@dataclass(frozen=True, slots=True)
class Held:
    """A letter in hand, until when it is hidden, and from when on it may be worked on."""

    letter: Letter
    hidden_until: Instant
    due_at: Instant = 0


class Hidden:
    """Receives the letters of a queue, and keeps the receipts of those that stay."""

    def __init__(
        self, sqs: Any, url: str, file: IO[str], *, hidden_s: int, wait_s: int, now: Callable[[], Instant]
    ) -> None:
        """`file` is an empty one for the receipts; `wait_s` is how long a receive waits for messages."""
        self._sqs = sqs
        self._url = url
        self._file = file
        self._hidden_s = hidden_s
        self._wait_s = wait_s
        self._now = now
        self._seen: set[str] = set()
        self.is_fifo = depth_of(sqs, url).is_fifo

    def receive(self, receives: int, spread: Spread, is_gone: Callable[[str], bool]) -> list[Held]:
        """Letters that were not seen before. What comes again is left hidden, unless it should be gone.

        Errors: ClientError.
        """
        until = self._now() + self._hidden_s * SECOND_MS - MARGIN_MS
        found = list(self._receive(0))
        if len(found) == BATCH:
            for messages in (map if self.is_fifo else spread)(self._more, range(1, receives)):
                found += messages
        fresh = []
        for held in (Held(read_letter(message), until) for message in found):
            message_id = held.letter.message_id
            if message_id in self._seen and not is_gone(message_id):
                self.keep(held)
            else:
                self._seen.add(message_id)
                fresh.append(held)
        return fresh

    @property
    def seen(self) -> AbstractSet[str]:
        """The ids of all letters that were received."""
        return self._seen

    def forget(self, held: Held) -> None:
        """A letter whose time is over: it comes again as a new one."""
        self._seen.discard(held.letter.message_id)

    def keep(self, held: Held) -> None:
        """Remember a letter that stays in the queue."""
        self._file.write(f"{held.hidden_until} {held.letter.receipt}\n")

    def show_again(self) -> None:
        """Make all letters visible that stay and are still hidden. Errors: ClientError."""
        self._file.seek(0)
        now = self._now()
        lines = (line.split() for line in self._file)
        receipts = (receipt for until, receipt in lines if int(until) > now)
        while batch := list(itertools.islice(receipts, BATCH)):
            entries = [
                {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
                for number, receipt in enumerate(batch)
            ]
            self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)

    def delete(self, letters: Sequence[Held], spread: Spread) -> Iterator[str]:
        """Delete letters; yields the ids of those that are gone. Errors: ClientError."""
        batches = [letters[first : first + BATCH] for first in range(0, len(letters), BATCH)]
        for gone in spread(self._delete, batches):
            yield from gone

    def _delete(self, batch: Sequence[Held]) -> Sequence[str]:
        entries = [{"Id": str(number), "ReceiptHandle": held.letter.receipt} for number, held in enumerate(batch)]
        answer = self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
        return [batch[int(one["Id"])].letter.message_id for one in answer.get("Successful", [])]

    def _more(self, number: int) -> Sequence[Any]:
        """Further messages; none if that is throttled, so that those of the same round are not forgotten."""
        try:
            return self._receive(number)
        except ClientError as error:
            if classify(error) is not Kind.THROTTLED:
                raise
            return []

    def _receive(self, _: int) -> Sequence[Any]:
        answer = self._sqs.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=BATCH, VisibilityTimeout=self._hidden_s,
            WaitTimeSeconds=self._wait_s, MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"],
        )  # fmt: skip
        messages: Sequence[Any] = answer.get("Messages", [])
        return messages
