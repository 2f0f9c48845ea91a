"""Takes back what a run has done, as far as that is possible: a table first, and deeds after somebody has said yes.

    discarded                       restored from the export to the dead-letter queue
    sent to a queue, waits there    moved back to the dead-letter queue, or deleted
    moved by a move task            the same, by its content: SQS has given it a new id, and keeps no list
    sent to a queue, gone           a consumer has it, or had it: nothing can be undone
    sent elsewhere                  an invocation, an execution, an event, a message of a topic cannot be taken back
    doubtful                        nobody knows where it is: nothing is done

A message that waits is found by receiving the whole target queue, which hides its messages for the time of the look,
and counts as a receive. A letter comes back as a new message, under a new id: what a redrive policy, or a service, said
of its failure is not restored, unless an export has it.

As in a run, the journal on disk says what is about to be sent back before that is sent, and a message is deleted in the
target queue only after its return is on disk: a kill never loses one.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.deadletters.destinations import To, read_destination
from redrive.deadletters.journal import Journal
from redrive.deadletters.letter import Letter
from redrive.deadletters.moving import CLOCKS_DIFFER_MS, digest_of
from redrive.deadletters.peek import looking

ENTRIES_MAX = 10
BATCH_BYTES_MAX = 1024 * 1024
"""The most messages of one request, and their size together."""


class Undo(enum.Enum):
    """What can be undone of a letter."""

    RESTORE = "restore from the export"
    MOVE_BACK = "waits in the target queue: move it back"
    GONE = "left the target queue, or is hidden there: nothing can be undone"
    NEVER = "cannot be taken back"
    DOUBTFUL = "doubtful: where it is is not known"
    HALF = "was being undone when that was killed: look for it in both queues"
    LOST = "was discarded, and the export does not have it"

    @property
    def is_possible(self) -> bool:
        """Whether something is done for such a letter."""
        return self in {Undo.RESTORE, Undo.MOVE_BACK}


@dataclass(slots=True)
class Undoing:
    """What can be undone of a run. The messages found in target queues stay hidden while this is used."""

    answers: dict[str, Undo] = field(default_factory=dict)
    """By the ids of the letters."""
    targets: dict[str, str] = field(default_factory=dict)
    """By the ids of the letters that were sent: where."""
    waiting: dict[str, tuple[str, Letter]] = field(default_factory=dict)
    """By the ids of the letters: the URL of the target queue, and the message there."""
    exported: dict[str, Document] = field(default_factory=dict)

    @property
    def counts(self) -> Mapping[tuple[Undo, str], int]:
        """How many letters have the same answer, by the answer and by where they were sent."""
        return Counter((answer, self.targets.get(one, "")) for one, answer in self.answers.items())

    def of(self, answer: Undo) -> list[str]:
        """The letters with an answer."""
        return [one for one, told in self.answers.items() if told is answer]


def judged(
    journal: Journal, exported: Iterable[Document], look: Callable[[str], Iterable[tuple[str, Letter]]]
) -> Undoing:  # fmt: skip
    """Say of each letter of a journal what can be undone.

    `exported` are the lines of the export; `look` receives all messages of a queue, named as in a destination, each
    with the URL of the queue. Errors: ClientError.
    """
    found = Undoing()
    discarded = journal.discarded_letters
    found.exported = {str(one["message_id"]): one for one in exported if str(one.get("message_id")) in discarded}
    for one in discarded:
        found.answers[one] = Undo.RESTORE if one in found.exported else Undo.LOST
    by_queue: dict[str, dict[str, str]] = {}
    for one, sent in journal.sent_letters.items():
        found.targets[one] = sent.to
        to = read_destination(sent.to) if sent.to else None
        if to is None or to.kind is not To.QUEUE:
            found.answers[one] = Undo.NEVER
        else:
            found.answers[one] = Undo.GONE
            by_queue.setdefault(to.name, {})[sent.new_id] = one
    for name, letters in by_queue.items():
        for url, message in look(name):
            if (one := letters.get(message.message_id, "")) and one not in found.waiting:
                found.waiting[one] = url, message
                found.answers[one] = Undo.MOVE_BACK
    if journal.move is not None and journal.moved_letters and journal.move.get("to"):
        _judge_moved(found, journal, look)
    found.answers |= dict.fromkeys(journal.doubts, Undo.DOUBTFUL)
    found.answers |= dict.fromkeys(journal.undoing_letters & found.answers.keys(), Undo.HALF)
    return found


def _judge_moved(
    found: Undoing, journal: Journal, look: Callable[[str], Iterable[tuple[str, Letter]]]
) -> None:  # fmt: skip
    """Find the messages that a move task has made in the source queue: equal ones are taken for one another."""
    assert journal.move is not None
    to, since = f"{To.QUEUE.value}:{journal.move['to']}", int(journal.move["since"]) - CLOCKS_DIFFER_MS
    by_digest: dict[str, list[str]] = {}
    for one, digest in journal.moved_letters.items():
        found.targets[one] = to
        found.answers[one] = Undo.GONE
        by_digest.setdefault(digest, []).append(one)
    for url, message in look(journal.move["to"]):
        letters = by_digest.get(digest_of(message))
        if letters and message.sent_at is not None and message.sent_at >= since:
            one = letters.pop()
            found.waiting[one] = url, message
            found.answers[one] = Undo.MOVE_BACK


def restore(found: Undoing, sqs: Any, queue: str, journal: Journal, now: Callable[[], Instant]) -> int:
    """Send discarded letters to the dead-letter queue again; answers how many. Errors: ClientError."""
    entries = ((one, _of_export(found.exported[one])) for one in found.of(Undo.RESTORE))
    return sum(len(_sent_back(sqs, queue, batch, journal, now)) for batch in _batches(entries))


def move_back(found: Undoing, sqs: Any, queue: str, journal: Journal, now: Callable[[], Instant]) -> int:
    """Move messages that wait in their target queue to the dead-letter queue; answers how many. Errors: ClientError."""
    entries = ((one, _of_message(found.waiting[one][1])) for one in found.of(Undo.MOVE_BACK))
    count = 0
    for batch in _batches(entries):
        back = _sent_back(sqs, queue, batch, journal, now)
        _delete(sqs, [found.waiting[one] for one in back])
        count += len(back)
    return count


def delete(found: Undoing, sqs: Any, journal: Journal, now: Callable[[], Instant]) -> int:
    """Delete messages that wait in their target queue: then they are nowhere. Errors: ClientError."""
    waiting = found.of(Undo.MOVE_BACK)
    for first in range(0, len(waiting), ENTRIES_MAX):
        batch = waiting[first : first + ENTRIES_MAX]
        journal.undoing(batch, now())
        _delete(sqs, [found.waiting[one] for one in batch])
        journal.undone(dict.fromkeys(batch, ""), now())
    return len(waiting)


def all_messages(
    sqs: Any, url: str, *, hidden_s: int, now: Callable[[], Instant], wait_s: int
) -> Iterator[tuple[str, Letter]]:  # fmt: skip
    """All messages of a queue that can be received, which are shown again when the iteration ends."""
    with looking(sqs, url, hidden_s=hidden_s, now=now, wait_s=wait_s) as look:
        for message in look.letters():
            yield url, message


def _sent_back(
    sqs: Any, queue: str, batch: Sequence[tuple[str, Document]], journal: Journal, now: Callable[[], Instant]
) -> list[str]:  # fmt: skip
    """Send letters to the dead-letter queue; answers those that it has accepted."""
    journal.undoing([one for one, _ in batch], now())
    is_fifo = queue.endswith(".fifo")
    entries = [
        {"Id": str(number), **entry, **(_group(one, entry) if is_fifo else {})}
        for number, (one, entry) in enumerate(batch)
    ]
    answer = sqs.send_message_batch(QueueUrl=queue, Entries=entries)
    accepted = {batch[int(told["Id"])][0]: str(told["MessageId"]) for told in answer.get("Successful", [])}
    journal.undone(accepted, now())
    return list(accepted)


def _group(letter_id: str, entry: Document) -> Document:
    return {"MessageGroupId": entry.get("MessageGroupId") or letter_id, "MessageDeduplicationId": f"undo-{letter_id}"}


def _delete(sqs: Any, messages: Sequence[tuple[str, Letter]]) -> None:
    by_queue: dict[str, list[str]] = {}
    for url, message in messages:
        by_queue.setdefault(url, []).append(message.receipt)
    for url, receipts in by_queue.items():
        entries = [{"Id": str(number), "ReceiptHandle": receipt} for number, receipt in enumerate(receipts)]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)


def _batches(entries: Iterable[tuple[str, Document]]) -> Iterator[list[tuple[str, Document]]]:
    batch: list[tuple[str, Document]] = []
    size = 0
    for one, entry in entries:
        length = len(str(entry).encode())
        if batch and (len(batch) == ENTRIES_MAX or size + length > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append((one, entry))
        size += length
    if batch:
        yield batch


def _of_export(told: Document) -> Document:
    attributes = {name: _attribute(one) for name, one in (told.get("attributes") or {}).items() if one}
    return _entry(str(told["body"]), attributes, str(told.get("group_id") or ""))


def _of_message(message: Letter) -> Document:
    return _entry(message.body, message.attributes, message.group_id)


def _entry(body: str, attributes: Mapping[str, Any], group_id: str) -> Document:
    entry: Document = {"MessageBody": body}
    if attributes:
        entry["MessageAttributes"] = dict(attributes)
    if group_id:
        entry["MessageGroupId"] = group_id
    return entry


def _attribute(told: Any) -> Document:
    return {name: told[name] for name in ("DataType", "StringValue", "BinaryValue") if name in told}
