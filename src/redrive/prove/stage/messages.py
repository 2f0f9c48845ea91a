"""The messages of a trigger: sent, duplicated, redriven, and left.

They wait in a queue, in a stream, or, as events, in Lambda's own queue for asynchronous invocations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import cast

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import Bug
from redrive.delivery.sources.targets import queue_url
from redrive.prove.stage.positions import event_with, has_unread, positions, read_again, told
from redrive.prove.stage.records import put_record
from redrive.prove.stage.stage import Stage, Waiting
from redrive.prove.stage.trigger import Trigger

Left = tuple[int, Instant, Waiting, object]
"""The type of a saved state; the last member is that of a kind of messages."""


RECEIVE_MAX = 10
_AGAIN_DIGITS = 4
"""The last digits of an event's id: they count the events when it is published again."""
BATCH_MEMBERS = ("KinesisBatchInfo", "DDBStreamBatchInfo")
"""The members of a failure's record that say which records of a stream it is about."""
RECORD_MEMBERS = frozenset({"requestContext", "requestPayload", "version"})
"""What tells the record of a destination from an event in a dead-letter queue."""


class Messages(ABC):
    """Which of a trigger's messages were sent, and which are left."""

    def __init__(self, stage: Stage, trigger: Trigger) -> None:
        self._stage = stage
        self._trigger = trigger
        self._sent = 0
        self.sent_at = stage.now
        """When the message was sent, or redriven from the dead-letter queue: its retention counts from then."""
        self.waiting = Waiting(is_pending=False, dead=0)
        """The messages left in the queue, and in the dead-letter queue, at the end of the last leg."""

    def save(self) -> Left:
        """Save the state between two legs."""
        return self._sent, self.sent_at, self.waiting, None

    def load(self, left: Left) -> None:
        """Restore a saved state."""
        self._sent, self.sent_at, self.waiting = left[:3]

    def send(self, number: int) -> None:
        """Send the message with this number; once more, if it was sent before."""
        self._send(self._trigger.bodies[number], number)
        self._sent += 1

    def redrive(self) -> None:
        """Redrive the dead letters to where they came from."""
        self.sent_at = self._stage.now
        self._redrive()

    def republish(self, number: int) -> None:
        """Send the event with this number under another event id, as its producer does that publishes it again."""
        event_id = self._trigger.event_id(number)
        again = f"{event_id[:-_AGAIN_DIGITS]}{self._sent:0{_AGAIN_DIGITS}d}"
        self._send(self._trigger.bodies[number].replace(event_id, again), number)
        self._sent += 1

    def told(self, act: str, number: int) -> str:
        """What comes again by an act, for the user; empty if the kind of the trigger says it."""
        return ""

    def told_given_up(self, count: int) -> str:
        """What became of what was given up, for the user; empty if the kind of the trigger says it."""
        return ""

    def read_again(self, number: int) -> None:
        """Lose the checkpoints of a mapping from a stream. Errors: Bug if there is none."""
        raise Bug(f"checkpoint {number} of what has none")

    def next_due(self) -> Instant | None:
        """The next instant at which something is due."""
        return self._stage.next_due()

    def turn(self) -> bool:
        """One round of what is due now, and its runs; returns whether anything was due."""
        return self._stage.turn()

    def settle(self) -> None:
        """Do what is due now."""
        self._stage.settle()

    @abstractmethod
    def look(self) -> Waiting:
        """Read what is left now."""

    @abstractmethod
    def show_again(self, handle: str) -> bool:
        """Deliver again a message in flight under this receipt; False if it is not in flight any more."""

    @abstractmethod
    def hold_again(self, handle: str) -> None:
        """Make the older receipt valid for the message again."""

    @abstractmethod
    def _send(self, body: str, number: int) -> None: ...

    @abstractmethod
    def _redrive(self) -> None: ...


class QueueMessages(Messages):
    """The messages of a queue."""

    def look(self) -> Waiting:
        return self._stage.waiting(self._trigger.queue_arn, self._trigger.dead_letter_arn)

    def show_again(self, handle: str) -> bool:
        return self._stage.show_again(self._trigger.queue_url, handle)

    def hold_again(self, handle: str) -> None:
        self._stage.hold_again(self._trigger.queue_arn, handle)

    def _send(self, body: str, number: int) -> None:
        message = self._trigger.message(number).as_sent(is_fifo=self._trigger.is_fifo)
        self._stage.send(self._sent, QueueUrl=self._trigger.queue_url, **message)

    def _redrive(self) -> None:
        self._stage.call("sqs", "StartMessageMoveTask", SourceArn=self._trigger.dead_letter_arn)


class AsynchronousEvents(Messages):
    """Events that a bus delivers to the function: Lambda keeps them, and invokes the function.

    A bus that delivers an event a second time invokes the function with the same event under another request id.
    """

    def look(self) -> Waiting:
        return self._stage.waiting_events(self._trigger.function_name, self._trigger.dead_letter_arn)

    def show_again(self, handle: str) -> bool:
        return False

    def hold_again(self, handle: str) -> None:
        """Events have no receipts."""

    def _send(self, body: str, number: int) -> None:
        self._stage.invoke(self._sent, self._trigger.function_name, body)

    def _redrive(self) -> None:
        """Invoke the function with each event that a dead letter holds, then delete the letter."""
        url = queue_url(self._trigger.dead_letter_arn)
        while letters := self._stage.call(
            "sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=RECEIVE_MAX, WaitTimeSeconds=0
        ).get("Messages"):  # fmt: skip
            for letter in cast("list[Document]", letters):
                self._stage.invoke(self._sent, self._trigger.function_name, self._event_in(str(letter["Body"])))
                self._sent += 1
                self._stage.call("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=letter["ReceiptHandle"])

    def _event_in(self, body: str) -> str:
        return event_of(body)


class StreamRecords(AsynchronousEvents):
    """The records of a stream. Whoever redrives what was given up reads the records again, and invokes the function.

    The letters name records and do not have them: so they are worth something only while the stream keeps those.
    """

    def __init__(self, stage: Stage, trigger: Trigger) -> None:
        super().__init__(stage, trigger)
        stage.more_deciding = lambda tx: "".join(told(tx))
        self._beginning = stage.step(("positions",), lambda tx: positions(tx, trigger.mapping))

    def look(self) -> Waiting:
        waiting, mapping = super().look(), self._trigger.mapping
        is_unread = self._stage.step(("unread",), lambda tx: has_unread(tx, mapping))
        return Waiting(waiting.is_pending or is_unread, waiting.dead)

    def redrive(self) -> None:
        """Invoke the function with the records. They age from when they were put."""
        self._redrive()

    def read_again(self, number: int) -> None:
        """Lose the mapping's checkpoints: the records come again."""
        self._stage.step(("read again",), lambda tx: read_again(tx, self._trigger.mapping, self._beginning))

    def _send(self, body: str, number: int) -> None:
        put_record(self._stage, self._trigger.stream_arn, body)

    def _event_in(self, body: str) -> str:
        letter = load_json(body)
        found = next((letter[name] for name in BATCH_MEMBERS if name in letter), None)
        if found is None:
            return event_of(body)  # An earlier redrive has failed, and the letter has its event.
        event = self._stage.step(("event with", body), lambda tx: event_with(tx, self._trigger.mapping, found))
        return '{"Records":[]}' if event is None else event.decode()


def event_of(body: str) -> str:
    """The event in a dead letter of a function: the letter's body, or a part of a destination's record."""
    letter = load_json(body)
    is_record = isinstance(letter, dict) and letter.keys() >= RECORD_MEMBERS
    return dump_json(letter["requestPayload"]) if is_record else body
