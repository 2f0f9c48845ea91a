"""Users of a simulated engine. Each acts repeatedly, handles failures as real clients do, and informs the checkers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import Conflict, ServiceError
from redrive.sim.checkers.groups import by_group
from redrive.sim.checkers.happenings import (
    Accepted,
    Deleting,
    Handled,
    LeftMessage,
    Occurred,
    Reached,
    Received,
    Recorded,
    Tried,
)
from redrive.sim.checkers.rules import key_of
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.users.functions import Handler, HandlerFailed, HandlerRun
from redrive.sim.weather import AnswerLost, Hazard
from redrive.sim.world import Simulation

POISON = "poison"
"""Part of the keys of work that always fails."""

RECEIVE_MAX = 10
RETRY_MS = SECOND_MS
DRAIN_VISIBILITY_S = 43_200


def event(key: str) -> str:
    """A piece of work as JSON text."""
    return dump_json({"key": key})


class Producer:
    """Submits work before `until`. Submits it again when no answer comes, so work may arrive twice."""

    def __init__(
        self, simulation: Simulation, name: str, hand_in: Callable[[str], object], *, dice: Dice, gap_ms: int,
        poison_share: float, until: Instant,
    ) -> None:  # fmt: skip
        """`hand_in` makes the call for a key."""
        self.name = name
        self._simulation = simulation
        self._hand_in = hand_in
        self._dice = dice
        self._gap_ms = gap_ms
        self._poison_share = poison_share
        self._until = until
        self._count = 0
        self._unanswered: str | None = None

    def act(self) -> Instant | None:
        """Submit the next piece of work, or again the one without an answer."""
        simulation = self._simulation
        key = self._unanswered or self._next_key()
        if key is None:
            return None
        simulation.observe(Tried(key, simulation.now))
        try:
            self._hand_in(key)
        except (Conflict, AnswerLost):
            self._unanswered = key
            return simulation.now + RETRY_MS
        self._unanswered = None
        simulation.observe(Accepted(key))
        simulation.trace.write(simulation.now, "accepted", key=key)
        return simulation.now + self._dice.between(1, 2 * self._gap_ms)

    def _next_key(self) -> str | None:
        if self._simulation.now >= self._until:
            return None
        self._count += 1
        kind = f"{POISON}-" if self._dice.chance(self._poison_share) else ""
        return f"{self.name}-{kind}{self._count}"


Handle = Callable[[Document], None]
"""Does the work of one message. Errors: HandlerFailed."""


class Consumer:
    """Receives messages, works on them for a while, deletes the finished ones. Ends when its queue is empty."""

    def __init__(
        self, simulation: Simulation, name: str, client: Client, queue_url: str, handle: Handle, *, dice: Dice,
        visibility_s: int, until: Instant,
    ) -> None:  # fmt: skip
        """`until`: the consumer does not end before this instant."""
        self.name = name
        self._simulation = simulation
        self._client = client
        self._queue_url = queue_url
        self._handle = handle
        self._dice = dice
        self._visibility_s = visibility_s
        self._until = until
        self._in_hand: Sequence[Document] = ()

    def act(self) -> Instant | None:
        """Finish the messages in hand, or receive more."""
        simulation = self._simulation
        if self._in_hand:
            for message in self._in_hand:
                self._finish(message)
            self._in_hand = ()
            return simulation.now + SECOND_MS
        try:
            self._in_hand = receive(simulation, self._client, self._queue_url, visibility_s=self._visibility_s)
        except (Conflict, AnswerLost):
            return simulation.now + RETRY_MS
        if self._in_hand:
            dawdles = simulation.weather.strikes(Hazard.DAWDLE)
            longest_s = 3 * self._visibility_s if dawdles else self._visibility_s // 2
            return simulation.now + self._dice.between(1, longest_s * SECOND_MS)
        if simulation.now >= self._until and is_empty(simulation.reliable, self._queue_url):
            return None
        return simulation.now + self._dice.between(SECOND_MS, MINUTE_MS)

    def _finish(self, message: Document) -> None:
        simulation = self._simulation
        try:
            self._handle(message)
            key = key_of(message["Body"])
            if key is not None:
                simulation.observe(Deleting(key))
            self._client.call("sqs", "DeleteMessage", QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"])
        except (HandlerFailed, ServiceError, Conflict, AnswerLost) as error:
            # A FIFO queue refuses an expired receipt with a ServiceError: the message comes back.
            simulation.trace.write(simulation.now, "kept", message=message["MessageId"], error=type(error).__name__)


class Redriver:
    """Sends dead letters back to their queue: once for each piece of work, and only before `until`."""

    def __init__(
        self, simulation: Simulation, name: str, client: Client, *, from_url: str, to_url: str, gap_ms: int,
        until: Instant,
    ) -> None:  # fmt: skip
        self.name = name
        self._simulation = simulation
        self._client = client
        self._from_url = from_url
        self._to_url = to_url
        self._gap_ms = gap_ms
        self._until = until
        self._redriven: set[str] = set()

    def act(self) -> Instant | None:
        """Redrive a batch: receive, send, delete."""
        simulation = self._simulation
        if simulation.now >= self._until:
            return None
        try:
            for message in receive(simulation, self._client, self._from_url, visibility_s=60):
                self._redrive(message)
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "redrive failed", error=type(error).__name__)
        return simulation.now + self._gap_ms

    def _redrive(self, message: Document) -> None:
        """Send a dead letter, then delete it. Errors: Conflict, AnswerLost."""
        key = key_of(message["Body"])
        if key is not None and key not in self._redriven:
            self._redriven.add(key)
            self._client.call("sqs", "SendMessage", QueueUrl=self._to_url, MessageBody=message["Body"])
            self._client.call("sqs", "DeleteMessage", QueueUrl=self._from_url, ReceiptHandle=message["ReceiptHandle"])


def work_on(simulation: Simulation, key: str) -> None:
    """Do a piece of work. Errors: HandlerFailed: always for poison, and sometimes in bad weather."""
    if POISON in key:
        raise HandlerFailed(f"{key} cannot be done")
    if simulation.weather.strikes(Hazard.FLAKY):
        raise HandlerFailed(f"{key} failed this time")
    simulation.observe(Handled(key))


def message_handler(simulation: Simulation) -> Handle:
    """The handler for a consumer of ordinary messages."""
    return lambda message: work_on(simulation, load_json(message["Body"])["key"])


def occurrence_handler(simulation: Simulation) -> Handle:
    """The handler for a consumer of a schedule's messages. Reports each occurrence."""

    def handle(message: Document) -> None:
        body = load_json(message["Body"])
        sent_at = int(message["Attributes"]["SentTimestamp"])
        simulation.observe(Occurred(body["schedule"], body["scheduled_at"], message["MessageId"], sent_at))

    return handle


def reached(body: Document, id: str, at: Instant) -> Reached:
    """The happening for a message of a schedule with a retry policy. `id` is its id at its target."""
    return Reached(body["schedule"], body["scheduled_at"], int(body["attempt"]), id, at)


def reached_handler(simulation: Simulation) -> Handle:
    """The handler for a consumer of such messages."""
    return lambda message: simulation.observe(reached(load_json(message["Body"]), message["MessageId"], simulation.now))


def alarm_handler(simulation: Simulation) -> Handler:
    """A function for such events."""
    return lambda run: simulation.observe(reached(run.event, run.request_id, simulation.now))


def event_handler(simulation: Simulation) -> Handler:
    """A function for asynchronous events."""
    return lambda run: work_on(simulation, run.event["key"])


def batch_handler(
    simulation: Simulation, client: Client, table: str, *, reports_failures: bool, in_order: bool = False
) -> Handler:
    """A function for batches of messages. Its effect is a conditional write: one for each key.

    `in_order`: the function stops at the first failure and leaves all later messages in the queue, too.
    """

    def handle(run: HandlerRun) -> Document:
        failed = []
        records = run.event["Records"]
        for position, record in enumerate(records):
            key = load_json(record["body"])["key"]
            try:
                work_on(simulation, key)
                _record(simulation, client, table, key)
            except (HandlerFailed, Conflict, AnswerLost):
                if not reports_failures:
                    raise
                if in_order:
                    failed = [{"itemIdentifier": left["messageId"]} for left in records[position:]]
                    break
                failed.append({"itemIdentifier": record["messageId"]})
        return {"batchItemFailures": failed}

    return handle


def receive(simulation: Simulation, client: Client, queue_url: str, *, visibility_s: int) -> Sequence[Document]:
    """Receive a batch. The checkers are informed at the commit. Errors: Conflict, AnswerLost."""

    def seen(answer: Document) -> None:
        given = answer.get("Messages", ())
        hidden_until = simulation.now + visibility_s * SECOND_MS
        for message in given:
            count = int(message["Attributes"]["ApproximateReceiveCount"])
            simulation.observe(Received(message["MessageId"], count, simulation.now, hidden_until))
        _tell_groups(simulation, given, hidden_until)

    answer = client.call_seen(
        seen, "sqs", "ReceiveMessage", QueueUrl=queue_url, MaxNumberOfMessages=RECEIVE_MAX,
        VisibilityTimeout=visibility_s, WaitTimeSeconds=0, MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )  # fmt: skip
    messages: Sequence[Document] = answer.get("Messages", ())
    if messages:
        ids = ",".join(message["MessageId"][:8] for message in messages)
        simulation.trace.write(simulation.now, "received", queue=queue_url.rsplit("/", 1)[-1], messages=ids)
    return messages


def _tell_groups(simulation: Simulation, messages: Sequence[Document], hidden_until: Instant) -> None:
    """Report the messages of a receive by group. Messages of standard queues have no sequence number,
    and those of rules no key."""
    members = [
        (message["Attributes"]["MessageGroupId"], load_json(message["Body"])["key"], message["MessageId"])
        for message in messages
        if "SequenceNumber" in message["Attributes"] and key_of(message["Body"]) is not None
    ]
    for received in by_group(members, simulation.now, hidden_until):
        simulation.observe(received)


def is_empty(client: Client, queue_url: str) -> bool:
    """Whether a queue holds no message at all, visible or not."""
    answer = client.call("sqs", "GetQueueAttributes", QueueUrl=queue_url, AttributeNames=["All"])
    names = ("", "NotVisible", "Delayed")
    return not any(int(answer["Attributes"][f"ApproximateNumberOfMessages{name}"]) for name in names)


def drain(simulation: Simulation, queue_url: str) -> list[LeftMessage]:
    """All messages that a queue still holds, read by the client without hazards."""
    left: list[LeftMessage] = []
    while messages := receive(simulation, simulation.reliable, queue_url, visibility_s=DRAIN_VISIBILITY_S):
        left += [_left(queue_url, message) for message in messages]
    return left


def _left(queue_url: str, message: Document) -> LeftMessage:
    attributes = message.get("MessageAttributes", {})
    return LeftMessage(
        queue=queue_url.rsplit("/", 1)[-1], message_id=message["MessageId"], body=message["Body"],
        sent_at=int(message["Attributes"]["SentTimestamp"]),
        source_queue=message["Attributes"].get("DeadLetterQueueSourceArn", ""),
        attributes={name: value["StringValue"] for name, value in attributes.items()},
    )  # fmt: skip


def _record(simulation: Simulation, client: Client, table: str, key: str) -> None:
    """Record the effect of a piece of work, unless it is recorded already. The checkers are informed at the commit.

    Errors: Conflict, AnswerLost.
    """
    try:
        client.call_seen(
            lambda _: simulation.observe(Recorded(key)),
            "dynamodb", "PutItem", TableName=table, Item={"key": {"S": key}},
            ConditionExpression="attribute_not_exists(#key)", ExpressionAttributeNames={"#key": "key"},
        )  # fmt: skip
    except ServiceError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
