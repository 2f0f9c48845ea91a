"""Sends dead letters from a queue to a bus again: nothing is deleted before the bus has accepted it.

What a crash leaves between both is in the journal: the message is deleted then, and its event is not sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redrive.cli.event_files import entry_of
from redrive.core.documents import Document, load_json
from redrive.core.errors import UserError
from redrive.handler.events import PutEventsReport

BATCH = 10
"""The most messages of a receive, and the most entries of PutEvents."""

HIDDEN_S = 300
"""How long received messages are hidden. Sending ten entries again and again ends long before."""

RECEIVES_MAX = 100_000

Send = Callable[[Sequence[Document]], PutEventsReport]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What is changed in an event before it is sent again; None leaves it as it was."""

    bus: str | None = None
    source: str | None = None
    source_prefix: str = ""
    source_suffix: str = ""

    def entry(self, letter: Letter) -> Document:
        """The entry that sends the event of a letter."""
        entry = dict(letter.entry)
        source = self.source if self.source is not None else str(entry["Source"])
        entry["Source"] = f"{self.source_prefix}{source}{self.source_suffix}"
        bus = self.bus or letter.bus
        return entry | ({"EventBusName": bus} if bus else {})


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of a dead-letter queue. `refusal` says why it holds no event; empty if it does."""

    message_id: str
    receipt: str
    entry: Document
    reason: str
    bus: str
    refusal: str = ""

    @staticmethod
    def of(message: Document) -> Letter:
        """Read a message that EventBridge, Lambda or somebody else has put into the queue."""
        attributes = {
            name: str(value.get("StringValue", "")) for name, value in (message.get("MessageAttributes") or {}).items()
        }
        reason = attributes.get("ERROR_CODE") or attributes.get("ErrorMessage") or ""
        path = attributes.get("RULE_ARN", "").partition(":rule/")[2]
        bus = path.split("/")[0] if "/" in path else ""
        entry: Document = {}
        refusal = ""
        try:
            entry = entry_of(event_of(str(message["Body"])), "The message")
        except UserError as error:
            refusal = error.what
        return Letter(message["MessageId"], message["ReceiptHandle"], entry, reason, bus, refusal)


def event_of(body: str) -> Document:
    """The event in a message: the body itself, or what a destination of Lambda has put around it. Errors: UserError."""
    try:
        document = load_json(body)
    except ValueError as error:
        raise UserError(f"The message is no JSON: {error}.") from error
    if isinstance(document, dict) and isinstance(document.get("requestPayload"), dict):
        document = document["requestPayload"]
    if not isinstance(document, dict):
        raise UserError("The message is no JSON object.")
    return document


@dataclass(slots=True)
class Journal:
    """The ids of messages whose events were accepted. With a file, it survives the end of the process."""

    path: Path | None = None
    accepted: set[str] = field(default_factory=set)

    @staticmethod
    def read(path: Path | None) -> Journal:
        """The journal in a file, which may not exist yet. Errors: UserError."""
        try:
            lines = path.read_text("utf-8").split() if path is not None and path.exists() else []
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"The journal {path} cannot be read: {error}.") from error
        return Journal(path, set(lines))

    def add(self, message_ids: Sequence[str]) -> None:
        """Record accepted messages, on disk if there is a file."""
        self.accepted.update(message_ids)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(f"{message_id}\n" for message_id in message_ids)


@dataclass(slots=True)
class Resent:
    """What became of the messages of a queue."""

    accepted: int = 0
    deleted: int = 0
    left: list[Document] = field(default_factory=list)

    def leave(self, letter: Letter, code: str, message: str) -> None:
        """Record a message that stays in the queue."""
        self.left.append({"message_id": letter.message_id, "code": code, "message": message})


def look(sqs: Any, url: str) -> list[Letter]:
    """Up to ten letters of a queue, which are visible again afterwards. SQS counts this as a receive."""
    letters = _received(sqs, url, wait_s=0)
    _show_again(sqs, url, letters)
    return letters


class Resending:
    """Sends all messages of a queue. `wait_s` is how long a receive waits for messages, `most` how many are sent."""

    def __init__(
        self, sqs: Any, url: str, send: Send, rewriting: Rewriting, journal: Journal, *, wait_s: int, most: int | None
    ) -> None:
        self._sqs = sqs
        self._url = url
        self._send = send
        self._rewriting = rewriting
        self._journal = journal
        self._wait_s = wait_s
        self._most = most
        self.result = Resent()

    def batches(self) -> Iterator[int]:
        """Send batch after batch until the queue has no more; yields how many messages each batch had.

        What was not accepted stays in the queue, and is visible again at the end, also after an interruption.
        """
        kept: list[Letter] = []
        seen: set[str] = set()
        try:
            for _ in range(RECEIVES_MAX):
                size = BATCH if self._most is None else min(BATCH, self._most - len(seen))
                received = _received(self._sqs, self._url, wait_s=self._wait_s, most=size) if size > 0 else []
                if not received:
                    return
                letters = [letter for letter in received if letter.message_id not in seen]
                seen.update(letter.message_id for letter in letters)
                kept += letters
                done = self._delivered(letters)
                kept = [letter for letter in kept if letter.message_id not in done]
                yield len(letters)
                if not letters:
                    return
        finally:
            _show_again(self._sqs, self._url, kept)

    def _delivered(self, letters: Sequence[Letter]) -> set[str]:
        """Send the events of a batch, then delete the messages that were accepted; answers the ids of these."""
        for letter in letters:
            if letter.refusal:
                self.result.leave(letter, "NoEvent", letter.refusal)
        known = [letter for letter in letters if letter.message_id in self._journal.accepted]
        fresh = [letter for letter in letters if not letter.refusal and letter not in known]
        accepted = list(known)
        if fresh:
            report = self._send([self._rewriting.entry(letter) for letter in fresh])
            for left in report.left:
                self.result.leave(fresh[left.place], left.code, left.message)
            sent = [fresh[one.place] for one in report.sent]
            self._journal.add([letter.message_id for letter in sent])
            self.result.accepted += len(sent)
            accepted += sent
        return self._deleted(accepted)

    def _deleted(self, letters: Sequence[Letter]) -> set[str]:
        if not letters:
            return set()
        entries = [{"Id": str(number), "ReceiptHandle": one.receipt} for number, one in enumerate(letters)]
        answer = self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
        for failed in answer.get("Failed", []):
            why = f"its event was sent; deleting it failed: {failed.get('Message', failed.get('Code'))}"
            self.result.leave(letters[int(failed["Id"])], "NotDeleted", why)
        done = {letters[int(one["Id"])].message_id for one in answer.get("Successful", [])}
        self.result.deleted += len(done)
        return done


def _received(sqs: Any, url: str, *, wait_s: int, most: int = BATCH) -> list[Letter]:
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=most, WaitTimeSeconds=wait_s, VisibilityTimeout=HIDDEN_S,
        MessageAttributeNames=["All"],
    )  # fmt: skip
    return [Letter.of(message) for message in answer.get("Messages", [])]


def _show_again(sqs: Any, url: str, letters: Sequence[Letter]) -> None:
    """Make messages visible at once."""
    for first in range(0, len(letters), BATCH):
        entries = [
            {"Id": str(number), "ReceiptHandle": letter.receipt, "VisibilityTimeout": 0}
            for number, letter in enumerate(letters[first : first + BATCH])
        ]
        sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
