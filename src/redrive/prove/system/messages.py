"""What is on its way in a system, in any queue, stream or promise of the engine; and its dead letters, in any queue.

One event comes in. What comes again, comes again where it came in, or at the hop where a run stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import Bug
from redrive.delivery.outside.invocation import Invocation
from redrive.delivery.sources.targets import queue_url
from redrive.languages.schedule import At
from redrive.prove.play.faults import Act
from redrive.prove.play.running import Run
from redrive.prove.stage.envelopes import read_message
from redrive.prove.stage.messages import BATCH_MEMBERS, RECEIVE_MAX, RECORD_MEMBERS, Left, Messages, event_of
from redrive.prove.stage.positions import event_with, has_unread, positions, read_again, told
from redrive.prove.stage.stage import SCOPE, Stage, Waiting
from redrive.prove.stage.trigger import Trigger
from redrive.prove.system.entrances import Entrance, Names, Way
from redrive.prove.system.incoming import send_in
from redrive.prove.system.wiring import Wiring, on_failure
from redrive.services.scheduler.model.schedule import Schedule
from redrive.services.sns.model.topic import TopicSequence
from redrive.services.sns.order import Lane
from redrive.services.sqs.model.queue import Queue
from redrive.services.sqs.visibility import next_visible
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import INSIDE, OUTSIDE

_STATES = (Schedule, TopicSequence, Lane)
"""Resources that change while functions run, beside the positions in streams."""
_SEPARATOR = " "
"""Between the ARN of a queue and a receipt handle."""
_FIFO = ".fifo"
_COMES_AGAIN = {
    Way.SCHEDULE: "the schedule {name} fires a second time for the same instant",
    Way.RULE: "the event is published a second time, with the same event id",
    Way.BUCKET: "the object is put into the bucket {name} a second time, with the same key and the same content",
    Way.QUEUE: "the message comes to the queue {name} a second time, with the same body and another message id",
    Way.TOPIC: "the message is published to the topic {name} a second time",
    Way.STREAM: "the record is put into the stream {name} a second time, under another sequence number",
    Way.API: "the caller sends the request to {name} a second time",
    Way.FUNCTION: "the function {name} is invoked with the event a second time",
}


@dataclass(slots=True)
class SystemRun(Run):
    """A run of a function of a system. `payload` is what it was given, `through` says by which way."""

    payload: bytes = b""
    through: str = ""


@dataclass(frozen=True, slots=True)
class Circuit:
    """A deployed system with its entrance. `clients` is the queue of requests whose callers were told of an error."""

    wiring: Wiring
    entrance: Entrance
    names: Names
    clients: str = ""
    letters: tuple[str, ...] = field(init=False)
    """The ARNs of the queues with dead letters."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "letters", tuple(self.wiring.letters))


class SystemMessages(Messages):
    """The messages of a system: what came in, what is on its way, and the dead letters of all its hops."""

    def __init__(self, stage: Stage, trigger: Trigger, circuit: Circuit, running: Sequence[Run]) -> None:
        super().__init__(stage, trigger)
        self._circuit = circuit
        self._running = running
        self._queues = circuit.wiring.queues
        self._mappings = circuit.wiring.streams
        stage.more_deciding = _decided
        self.functions: Mapping[str, str] = {}
        """Which function has had each asynchronous request."""
        self._beginnings = [
            stage.step(("positions", one["UUID"]), lambda tx, one=one: positions(tx, str(one["UUID"])))  # type: ignore[misc]
            for one in self._mappings
        ]

    def save(self) -> Left:
        return (*super().save()[:3], self.functions)

    def load(self, left: Left) -> None:
        super().load(left)
        self.functions = cast("Mapping[str, str]", left[3])

    def has_run(self, invocation: Invocation) -> None:
        """Remember which function has had a request: a dead letter names the request alone."""
        self.functions = {**self.functions, invocation.request_id: invocation.function_name}

    def look(self) -> Waiting:
        """Read whether anything is on its way, and how many dead letters lie in all their queues."""

        def step(tx: Transaction) -> Waiting:
            is_pending = (
                tx.deliveries.next((INSIDE, OUTSIDE)) is not None
                or any(next_visible(tx, arn) is not None for arn in self._queues)
                or any(has_unread(tx, str(one["UUID"])) for one in self._mappings)
                or any(self._will_fire(one) for _, one in tx.resources.everywhere(Schedule))
            )
            return Waiting(is_pending, sum(_count(tx, arn) for arn in self._circuit.letters))

        return self._stage.step(("waiting in the system",), step)

    def _will_fire(self, schedule: Schedule) -> bool:
        """Whether a schedule that a function has made will invoke a function of the system, once."""
        is_once = schedule.next_at is not None and isinstance(schedule.settings.parsed, At)
        return is_once and self._circuit.wiring.reach(str(schedule.settings.target["Arn"])).inside

    def told(self, act: str, number: int) -> str:
        """What comes again by an act, for the user."""
        entrance = self._circuit.entrance
        if act == Act.REDRIVE.value:
            return self._told_redriven()
        if act == Act.REREAD.value:
            table = self._circuit.names[_source_name(self._mappings[number])]
            return f"the checkpoints of the mapping from the stream of {table} are lost: its records come again"
        if act == Act.REPUBLISH.value:
            return ""
        if number >= len(self._trigger.bodies):
            run = self._current()
            return f"what run {run.number} was given is delivered once more, under another id, as {run.through} may do"
        return _COMES_AGAIN[entrance.way].format(name=entrance.name)

    def told_given_up(self, count: int) -> str:
        """What became of what was given up, for the user."""
        if self._circuit.clients:
            return "what could not be done was given up: its caller was told of an error, or its letters lie in " + (
                self._told_letters()
            )
        what = "a dead letter lies" if count == 1 else f"{count} dead letters lie"
        return f"what could not be done was given up: {what} in {self._told_letters()}"

    def send(self, number: int) -> None:
        """Send the text with this number. A number behind the last one is a record that the run under way was given."""
        if number < len(self._trigger.bodies):
            super().send(number)
            return
        run = self._current()
        if run.invocation is not None:
            self._stage.invoke(self._sent, run.function_name, run.payload.decode())
        else:
            record = load_json(run.payload)["Records"][number - len(self._trigger.bodies)]
            url = queue_url(str(record["eventSourceARN"]))
            self._stage.send(self._sent, QueueUrl=url, **read_message(dump_json(record)).as_sent(is_fifo=False))
        self._sent += 1

    def read_again(self, number: int) -> None:
        """Lose the checkpoints of a mapping from a stream."""
        uuid = str(self._mappings[number]["UUID"])
        self._stage.step(("read again", uuid), lambda tx: read_again(tx, uuid, self._beginnings[number]))

    def show_again(self, handle: str) -> bool:
        arn, _, receipt = handle.partition(_SEPARATOR)
        return self._stage.show_again(queue_url(arn), receipt)

    def hold_again(self, handle: str) -> None:
        arn, _, receipt = handle.partition(_SEPARATOR)
        self._stage.hold_again(arn, receipt)

    def _send(self, body: str, number: int) -> None:
        if self._circuit.entrance.way is Way.QUEUE:
            message = self._trigger.message(number).as_sent(is_fifo=self._trigger.is_fifo)
            self._stage.send(self._sent, QueueUrl=self._trigger.queue_url, **message)
        else:
            send_in(self._stage, self._circuit.entrance, body, self._sent)

    def _redrive(self) -> None:
        """Send each dead letter back to where it came from, then delete it."""
        for arn in self._circuit.letters:
            url = queue_url(arn)
            asked = {"MaxNumberOfMessages": RECEIVE_MAX, "WaitTimeSeconds": 0, "AttributeNames": ["All"]}
            while letters := self._stage.call(
                "sqs", "ReceiveMessage", QueueUrl=url, MessageAttributeNames=["All"], **asked
            ).get("Messages"):
                for letter in cast("list[Document]", letters):
                    self._return(arn, letter)
                    self._stage.call("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=letter["ReceiptHandle"])

    def _return(self, arn: str, letter: Document) -> None:
        source = letter.get("Attributes", {}).get("DeadLetterQueueSourceArn")
        if source is None:
            function, event = self._event_of(arn, letter)
            self._stage.invoke(self._sent, function, event)
        else:
            more: Document = {}
            if letter.get("MessageAttributes"):
                more["MessageAttributes"] = letter["MessageAttributes"]
            if "MessageGroupId" in letter["Attributes"]:
                more["MessageGroupId"] = letter["Attributes"]["MessageGroupId"]
            if str(source).endswith(_FIFO):
                more["MessageDeduplicationId"] = f"redriven-{self._sent}"
            self._stage.send(self._sent, QueueUrl=queue_url(str(source)), MessageBody=letter["Body"], **more)
        self._sent += 1

    def _event_of(self, arn: str, letter: Document) -> tuple[str, str]:
        """The function that a letter is about, and the event with which it is invoked again."""
        body = str(letter["Body"])
        record = load_json(body)
        found = record if isinstance(record, dict) else {}
        info = next((found[name] for name in BATCH_MEMBERS if name in found), None)
        context = found.get("requestContext", {}) if found.keys() & (RECORD_MEMBERS | {*BATCH_MEMBERS}) else {}
        function = str(context.get("functionArn", "")) if isinstance(context, dict) else ""
        if info is None:
            return function or self._owner(arn, letter), event_of(body)
        mapping = next(
            one for one in self._mappings
            if str(one["EventSourceArn"]).startswith(info["streamArn"]) and str(one["FunctionArn"]).startswith(function)
        )  # fmt: skip
        uuid = str(mapping["UUID"])
        event = self._stage.step(("event with", body), lambda tx: event_with(tx, uuid, info))
        return str(mapping["FunctionArn"]), '{"Records":[]}' if event is None else event.decode()

    def _owner(self, arn: str, letter: Document) -> str:
        """The function whose dead letter it is: the only one with this queue, or the one that had the request."""
        request = letter.get("MessageAttributes", {}).get("RequestID", {}).get("StringValue", "")
        known = self.functions.get(str(request))
        owners = [
            part.function_name
            for part in self._circuit.wiring.parts.taking_part.values()
            if arn in (part.function.get("DeadLetterConfig", {}).get("TargetArn"), on_failure(part.invoking))
        ]
        if not (known or owners):
            raise Bug(f"a dead letter of nobody in {arn}")
        return known or owners[0]

    def _current(self) -> SystemRun:
        run = self._running[-1]
        if not isinstance(run, SystemRun):
            raise Bug("a run that is not of a system")
        return run

    def _told_redriven(self) -> str:
        others = [one for one in self._circuit.letters if one != self._circuit.clients]
        callers = "the callers that were told of an error ask again" if self._circuit.clients else ""
        letters = f"the dead letters in {self._told_letters()} go back to where they came from" if others else ""
        return "; ".join(filter(None, (letters, callers)))

    def _told_letters(self) -> str:
        letters = [self._circuit.names[one] for one in self._circuit.letters if one != self._circuit.clients]
        return ", ".join(letters) or "no queue"


def _source_name(mapping: Document) -> str:
    """The name of the stream or the table of a mapping."""
    return str(mapping["EventSourceArn"]).split("/")[1]


def _count(tx: Transaction, arn: str) -> int:
    queue = tx.resources.get(Queue, SCOPE, arn.rpartition(":")[2])
    if queue is None:
        return 0
    counts = tx.messages.counts(queue.contents, tx.now)
    return counts.visible + counts.in_flight + counts.delayed


def _decided(tx: Transaction) -> str:
    """What decides what is delivered next, beside the rows of the store: positions in streams, orders, schedules."""
    states = (repr(state) for kind in _STATES for _, state in tx.resources.everywhere(kind))
    return "".join([*told(tx), *states])
