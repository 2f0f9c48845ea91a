"""The journal of a run: what is about to be done with letters, and what was done, in a file that survives a kill.

Each line is a fact about letters, by their message ids:

    {"sending": […], "to": …}     written, and on disk, before the request goes out
    {"sent": {id: new id}}        the destination has accepted them; on disk before anything is deleted
    {"refused": {id: code}}       it has not accepted them, and has not got them
    {"overridden": {id: gate}}    a gate refused them, and the user overrode it with a reason
    {"discarded": […]}            the user does not want them, and an export has them
    {"deleted": […]}              they are gone from the dead-letter queue
    {"undoing": […]}              written, and on disk, before they are sent back to the dead-letter queue
    {"undone": {id: new id}}      they are there again; an empty id: they were taken back and are nowhere
    {"repairing": …}              written, and on disk, before a repair is done; then {"repaired": …}
    {"unrepaired": …}             it is undone
    {"stage": 2}                  a stage of a recovery begins: what came back until now may be sent again
    {"to_move": {id: digest}}     the letters that a message move task will find, with a digest of their content
    {"moving": …}, {"moved": …}   a message move task was asked for, and where to; what SQS says of it

A letter that was `sending` when the process ended is doubtful: whether it was accepted is not known. A letter that was
sent or discarded is only deleted when it comes again, also if it was deleted before: SQS may deliver a deleted message.

A last line without its end was being written when the process ended. It is cut off: what it announces was not begun.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import IO

from redrive.core.clock import Instant
from redrive.core.documents import Document

FORMAT = 1


class MalformedJournal(ValueError):
    """A file that is no journal, or the journal of another queue."""


class Known(enum.Enum):
    """What a journal knows of a letter."""

    SENDING = "sending"
    SENT = "sent"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class Sent:
    """A letter that was accepted: where, and under which id."""

    to: str
    new_id: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """A request that went out, and whose answer is not known: where, and when it may have been sent first."""

    to: str
    at: Instant


class Journal:
    """The facts of a file. Made by `open_journal`; one process uses it at a time."""

    def __init__(self, file: IO[bytes], sync: Callable[[], None]) -> None:
        """`sync` returns when everything written is on disk."""
        self._file = file
        self._sync = sync
        self._known: dict[str, Known] = {}
        self._doubts: dict[str, Doubt] = {}
        self._older_doubts: set[str] = set()
        self._sent_as: dict[str, str] = {}
        self._undeleted: set[str] = set()
        self._sent: dict[str, Sent] = {}
        self._undoing: set[str] = set()
        self._to_move: dict[str, str] = {}
        self._stage = 0
        self._resendable: frozenset[str] = frozenset()
        self._repairs: dict[str, Document] = {}
        self._repaired: set[str] = set()
        self.move: Document | None = None
        """The last facts of the message move task of this plan; None if none was asked for."""

    def known(self, message_id: str) -> Known | None:
        """What the journal knows of a letter; None: nothing, or that it was refused."""
        return self._known.get(message_id)

    def came_from(self, *ids: str) -> str | None:
        """The letter that was sent under one of these ids: a message with such an id has failed again."""
        return next((self._sent_as[one] for one in ids if one in self._sent_as), None)

    @property
    def returning(self) -> frozenset[str]:
        """The letters that were sent under an id by which they would be known if they come back."""
        return frozenset(self._sent_as.values())

    def begin_stage(self, number: int, at: Instant) -> frozenset[str]:
        """Begin a stage of a recovery, or go on with it: the letters that earlier stages have sent.

        What this stage sends, and comes back, is no part of them, also after a kill. On disk when this returns.
        """
        if number != self._stage:
            self._record({"stage": number, "at": at}, durable=True)
        return self._resendable

    @property
    def doubts(self) -> Mapping[str, Doubt]:
        """The letters that may or may not have been accepted."""
        return self._doubts

    @property
    def undeleted(self) -> frozenset[str]:
        """The letters that were sent or discarded, and may still be in the dead-letter queue."""
        return frozenset(self._undeleted)

    @property
    def sent_letters(self) -> Mapping[str, Sent]:
        """The letters that were accepted and not undone."""
        return self._sent

    @property
    def discarded_letters(self) -> frozenset[str]:
        """The letters that were discarded, and not restored."""
        return frozenset(one for one, known in self._known.items() if known is Known.DISCARDED)

    @property
    def undoing_letters(self) -> frozenset[str]:
        """The letters that were being sent back when a process ended: they may be in the dead-letter queue again."""
        return frozenset(self._undoing)

    @property
    def repairs(self) -> list[Document]:
        """The repairs that were done, or begun when a process ended, and not undone; the first done first."""
        return list(self._repairs.values())

    def is_repaired(self, repair: Document) -> bool:
        """Whether a repair was done to its end, and not undone."""
        return _text_of(repair) in self._repaired

    def repairing(self, repair: Document, at: Instant) -> None:
        """Announce a repair. On disk when this returns."""
        self._record({"repairing": repair, "at": at}, durable=True)

    def repaired(self, repair: Document, at: Instant) -> None:
        """Record that a repair is done. On disk when this returns."""
        self._record({"repaired": repair, "at": at}, durable=True)

    def unrepaired(self, repair: Document, at: Instant) -> None:
        """Record that a repair is undone. On disk when this returns."""
        self._record({"unrepaired": repair, "at": at}, durable=True)

    def undoing(self, message_ids: Iterable[str], at: Instant) -> None:
        """Announce that letters are sent back to the dead-letter queue. On disk when this returns."""
        self._record({"undoing": list(message_ids), "at": at}, durable=True)

    def undone(self, new_ids: Mapping[str, str], at: Instant) -> None:
        """Record letters that are in the dead-letter queue again, with their new ids. On disk when this returns."""
        self._record({"undone": dict(new_ids), "at": at}, durable=True)

    @property
    def moved_letters(self) -> Mapping[str, str]:
        """The letters that a message move task has found, and that were not undone: the digests of their content."""
        return self._to_move

    def to_move(self, digests: Mapping[str, str], at: Instant) -> None:
        """Record the letters that a message move task will find: it gives them new ids, and keeps no list."""
        self._record({"to_move": dict(digests), "at": at}, durable=False)

    def moving(self, from_arn: str, to_arn: str, at: Instant) -> None:
        """Announce a message move task. On disk when this returns."""
        self._record({"moving": from_arn, "to": to_arn, "at": at}, durable=True)

    def moved(self, told: Document, at: Instant) -> None:
        """Record what SQS says of the task: its status, and how many messages it has moved."""
        self._record({"moved": told, "at": at}, durable=True)

    def sending(self, message_ids: Iterable[str], to: str, at: Instant) -> None:
        """Announce a request. On disk when this returns. A doubt keeps the time of its first request."""
        self._record({"sending": list(message_ids), "to": to, "at": at}, durable=True)

    def sent(self, new_ids: Mapping[str, str], at: Instant) -> None:
        """Record the letters that were accepted, and the ids that they have there. Call `durable` before deleting."""
        self._record({"sent": dict(new_ids), "at": at}, durable=False)

    def refused(self, codes: Mapping[str, str], at: Instant) -> None:
        """Record the letters that were not accepted: they may be sent again."""
        self._record({"refused": dict(codes), "at": at}, durable=False)

    def overridden(self, gates: Mapping[str, str], reason: str, at: Instant) -> None:
        """Record the letters that a gate refused and the user sends anyway. On disk when this returns."""
        self._record({"overridden": dict(gates), "reason": reason, "at": at}, durable=True)

    def discarded(self, message_ids: Iterable[str], reason: str, at: Instant) -> None:
        """Record the letters that an export has. On disk when this returns."""
        self._record({"discarded": list(message_ids), "reason": reason, "at": at}, durable=True)

    def deleted(self, message_ids: Iterable[str], at: Instant) -> None:
        """Record the letters that were deleted. If this line is lost, they are deleted again."""
        self._record({"deleted": list(message_ids), "at": at}, durable=False)

    def durable(self) -> None:
        """Return when everything recorded is on disk."""
        self._sync()

    def _record(self, fact: Document, *, durable: bool) -> None:
        self._file.write(json.dumps(fact, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        if durable:
            self._sync()
        self._take(fact)

    def _take(self, fact: Document) -> None:
        match fact:
            case {"sending": list(ids), "to": str(to), "at": int(at)}:
                for one in ids:
                    if one in self._doubts:
                        self._older_doubts.add(one)
                    self._known[one] = Known.SENDING
                    self._doubts.setdefault(one, Doubt(to, at))
            case {"sent": dict(new_ids)}:
                for one, new_id in new_ids.items():
                    doubt = self._doubts.get(one)
                    self._sent[one] = Sent("" if doubt is None else doubt.to, new_id)
                    self._settle(one, Known.SENT)
                    if new_id:
                        self._sent_as[new_id] = one
            case {"refused": dict(codes)}:
                # A refusal answers the last request. What an earlier one did is as unknown as before.
                for one in codes.keys() - self._older_doubts:
                    self._known.pop(one, None)
                    self._doubts.pop(one, None)
            case {"discarded": list(ids)}:
                for one in ids:
                    self._settle(one, Known.DISCARDED)
            case {"deleted": list(ids)}:
                self._undeleted.difference_update(ids)
            case {"overridden": dict()}:
                pass
            case {"stage": int(number)}:
                self._stage = number
                self._resendable = self.returning
            case {"undoing": list(ids)}:
                self._undoing.update(ids)
            case {"undone": dict(new_ids)}:
                self._undoing.difference_update(new_ids)
                for one in new_ids:
                    self._to_move.pop(one, None)
                    self._sent.pop(one, None)
                    self._known.pop(one, None)
            case {"repairing": dict(repair)}:
                self._repairs[_text_of(repair)] = repair
            case {"repaired": dict(repair)}:
                self._repaired.add(_text_of(repair))
            case {"unrepaired": dict(repair)}:
                self._repairs.pop(_text_of(repair), None)
                self._repaired.discard(_text_of(repair))
            case {"to_move": dict(digests)}:
                self._to_move |= digests
            case {"moving": str()}:
                self.move = {**fact, "since": fact["at"]}
            case {"moved": dict()}:
                self.move = {**(self.move or {}), **fact}
            case _:
                raise MalformedJournal(f"it holds a line that this version does not know: {json.dumps(fact)[:80]}")

    def _settle(self, message_id: str, known: Known) -> None:
        self._known[message_id] = known
        self._doubts.pop(message_id, None)
        self._older_doubts.discard(message_id)
        self._undeleted.add(message_id)

    def load(self, lines: Iterable[bytes]) -> None:
        """Take the facts of an earlier run. Errors: MalformedJournal."""
        for number, line in enumerate(lines, 2):
            try:
                fact = json.loads(line)
            except ValueError:
                raise MalformedJournal(f"line {number} is no JSON") from None
            self._take(fact if isinstance(fact, dict) else {})


def open_journal(file: IO[bytes], sync: Callable[[], None], queue_url: str) -> Journal:
    """Open a journal for a queue, with what an earlier run has written. The file is open for reading and writing.

    Errors: MalformedJournal if it is no journal, or that of another queue.
    """
    file.seek(0)
    lines = file.readlines()
    if lines and not lines[-1].endswith(b"\n"):
        torn = lines.pop()
        if not lines and not _header(queue_url).startswith(torn):
            raise MalformedJournal("it is no journal of `redrive dlq`")
        file.seek(-len(torn), 2)
        file.truncate()
    journal = Journal(file, sync)
    if lines:
        _check(lines[0], queue_url)
        journal.load(lines[1:])
        file.seek(0, 2)
    else:
        file.write(_header(queue_url))
        file.flush()
        sync()
    return journal


def queue_of(file: IO[bytes]) -> str:
    """The URL of the queue whose journal a file is. Errors: MalformedJournal."""
    file.seek(0)
    return _head(file.readline())


def _text_of(repair: Document) -> str:
    return json.dumps(repair, sort_keys=True)


def _header(queue_url: str) -> bytes:
    return json.dumps({"redrive_journal": FORMAT, "queue": queue_url}).encode() + b"\n"


def _check(line: bytes, queue_url: str) -> None:
    if _head(line) != queue_url:
        raise MalformedJournal(f"it is the journal of {_head(line)}")


def _head(line: bytes) -> str:
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("redrive_journal") != FORMAT:
        raise MalformedJournal("it is no journal of `redrive dlq`")
    return str(head.get("queue"))
