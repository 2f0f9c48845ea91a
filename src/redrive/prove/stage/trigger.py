"""The trigger of the handler: a queue, a stream, or events that invoke the function; and what it delivers."""

from __future__ import annotations

import base64
import enum
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from redrive.core.clock import DAY_MS, SECOND_MS
from redrive.core.documents import Document, dump_json
from redrive.core.errors import UserError
from redrive.prove.stage.envelopes import Message, read_message, record_texts
from redrive.prove.stage.retriers import Awaiting
from redrive.prove.stage.stage import SCOPE, Stage
from redrive.services.lambda_.model.mapping import REPORT_BATCH_ITEM_FAILURES

RECEIVES_MAX = 3
TIMEOUT_S = 30
CLEAN_RUNS_MAX = 20
VISIBILITY_S = 6 * TIMEOUT_S  # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
RETENTION_S = 14 * DAY_MS // SECOND_MS

SAMPLE_EVENT: Document = {
    "context": {
        "execution_id": "5068e532-bca5-4efc-be63-c93601fe6344",
        "schedule_arn": "arn:aws:scheduler:us-east-1:000000000000:schedule/default/hourly",
        "scheduled_time": "2025-01-01T00:00:00Z",
    },
    "payload": {"report": "daily-sales"},
}
"""The input of a schedule with context attributes, if no event is given."""

_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
    ],
}


_REPEATING = "aws.s3"
"""The source of events that says of itself that it may tell an event twice; the two differ in the event's id alone.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/EventNotifications.html
"""

DATA_MEMBERS = frozenset({"partitionKey", "data"})
"""The members of the body of a record of Kinesis."""


class Kind(enum.Enum):
    """What triggers the handler."""

    SQS = "sqs"
    EVENTBRIDGE = "eventbridge"
    LAMBDA = "lambda"
    KINESIS = "kinesis"
    DYNAMODB = "dynamodb"
    S3 = "s3"
    FIFO = "fifo"
    """A FIFO queue of SQS."""
    SNS = "sns"
    SCHEDULE = "schedule"
    """A schedule of EventBridge Scheduler."""
    TASK = "task"
    """A task of a state machine of Step Functions."""
    API = "api"
    """A REST API, an HTTP API or a function URL."""

    @property
    def is_queue(self) -> bool:
        """Whether a mapping from a queue gives the function batches of messages."""
        return self in {Kind.SQS, Kind.FIFO}

    @property
    def is_direct(self) -> bool:
        """Whether events invoke the function asynchronously, without a queue of the user's in front of it."""
        return self in {Kind.EVENTBRIDGE, Kind.LAMBDA, Kind.S3, Kind.SNS, Kind.SCHEDULE}

    @property
    def is_awaited(self) -> bool:
        """Whether somebody invokes the function, awaits its answer, and asks again if there is none."""
        return self in {Kind.TASK, Kind.API}

    @property
    def is_stream(self) -> bool:
        """Whether a mapping from a stream gives the function batches of records."""
        return self in {Kind.KINESIS, Kind.DYNAMODB}


@dataclass(frozen=True, slots=True)
class Trigger:
    """A queue or a stream that feeds a function, or events that invoke the function. Without dead letters,
    `dead_letter_arn` is empty.
    """

    function_name: str
    queue_arn: str
    queue_url: str
    dead_letter_arn: str
    timeout_ms: int
    retention_ms: int
    bodies: tuple[str, ...]
    receives_max: int = 0
    """How often a message is received before it is dead-lettered; 0 if it is received until its retention ends."""
    kind: Kind = Kind.SQS
    given: tuple[str, ...] = ()
    """The events as they were given, if a rule's target has shaped `bodies` of them."""
    guesses: Mapping[str, str] = field(default_factory=dict)
    """What was guessed of the event, of parameters and of variables, for the user."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that the handler reads and nobody has set, with guessed values."""
    stream_arn: str = ""
    mapping: str = ""
    """The UUID of the mapping from the stream, or from a queue that was made for the handler."""
    mappings: int = 0
    """In a system: how many mappings read streams."""
    clean_runs_max: int = CLEAN_RUNS_MAX
    """More runs than this without faults and without an empty queue: the work never ends."""
    messages: tuple[Message, ...] = ()
    """Of a queue, what was given of the messages besides their bodies; empty if nothing was."""
    awaiting: Awaiting | None = None
    """Who awaits the answers of the function, if anybody does."""
    fed_by: str = ""
    """What the template has in front of the function, for the user."""
    command: str = ""
    """The command that proves the handler again, to paste; empty for a callable."""
    is_concurrent: bool = False
    """Whether the second of two messages comes while the first is worked on, or after it, and never in one batch."""

    def message(self, number: int) -> Message:
        """The message with this number as its producer sends it."""
        return self.messages[number] if self.messages else Message(self.bodies[number])

    def reversed(self) -> Trigger:
        """The same with its messages in the other order."""
        return replace(self, bodies=self.bodies[::-1], given=self.given[::-1], messages=self.messages[::-1])

    @property
    def is_awaited(self) -> bool:
        """Whether somebody invokes the function and awaits its answer."""
        return self.kind.is_awaited

    @property
    def is_direct(self) -> bool:
        """Whether events invoke the function asynchronously, without a queue of the user's in front of it."""
        return self.kind.is_direct

    @property
    def is_stream(self) -> bool:
        """Whether a mapping from a stream gives the function batches of records."""
        return self.kind.is_stream

    def event_id(self, number: int) -> str:
        """The id of an event that its producer may publish again, if the function is given the id; otherwise empty.

        Of AWS's own services only S3 is taken for a producer that does so: it tells at least once. A client of an API
        that sends its request again does so under another id.
        """
        if self.kind in ID_OF:
            return ID_OF[self.kind](self.bodies[number])
        if self.kind is not Kind.EVENTBRIDGE:
            return ""
        event = json.loads(self.given[number])
        event_id = str(event.get("id", "")) if isinstance(event, dict) else ""
        source = str(event.get("source", "")) if event_id else ""
        may_repeat = bool(event_id) and (not source.startswith("aws.") or source == _REPEATING)
        return event_id if may_repeat and event_id in self.bodies[number] else ""

    @property
    def work_texts(self) -> tuple[str, ...]:
        """The bodies, without event ids under which the same work may come again; of records, what they say."""
        if self.is_stream:
            return tuple(map(record_text, self.bodies))
        pairs = ((body, self.event_id(number)) for number, body in enumerate(self.bodies))
        bodies = tuple(body.replace(event_id, "") if event_id else body for body, event_id in pairs)
        return (*bodies, *(message.texts for message in self.messages if message.texts))

    @property
    def noun(self) -> str:
        """What the trigger delivers."""
        if self.is_stream:
            return "record"
        if self.is_awaited:
            return "request" if self.kind is Kind.API else "task"
        return "event" if self.is_direct else "message"

    @property
    def source_name(self) -> str:
        """What has the messages: the queue, the stream, or the function whose events wait."""
        if self.is_stream:
            return self.stream_arn
        return self.queue_name if self.kind.is_queue else self.function_name

    @property
    def queue_name(self) -> str:
        """The name of the queue."""
        return self.queue_arn.rpartition(":")[2]

    @property
    def dead_letter_name(self) -> str:
        """The name of the dead-letter queue."""
        return self.dead_letter_arn.rpartition(":")[2]

    @property
    def is_fifo(self) -> bool:
        """Whether it is a FIFO queue."""
        return self.queue_arn.endswith(".fifo")

    @property
    def is_ordered(self) -> bool:
        """Whether what comes in it keeps its order."""
        return self.is_fifo or self.is_stream


def _id_of_topic(event: str) -> str:
    """The MessageId of an event of a topic."""
    try:
        return str(json.loads(event)["Records"][0]["Sns"]["MessageId"])
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


def _id_of_request(event: str) -> str:
    """The id of a request to an API."""
    try:
        return str(json.loads(event)["requestContext"]["requestId"])
    except (ValueError, KeyError, TypeError):
        return ""


ID_OF: Mapping[Kind, Callable[[str], str]] = {Kind.SNS: _id_of_topic, Kind.API: _id_of_request}
"""Where the id stands that an event has from its sender: with the same work it may come again under another one."""


def record_text(body: str) -> str:
    """What a record of a stream says: of Kinesis its data, if it is text."""
    document = json.loads(body)
    if document.keys() != DATA_MEMBERS:
        return body
    try:
        return base64.b64decode(document["data"]).decode()
    except UnicodeDecodeError:
        return body


def usual_trigger(
    stage: Stage, texts: tuple[str, ...], *, is_fifo: bool = False, reports_failures: bool = True
) -> Trigger:  # fmt: skip
    """A queue as Lambda's guide recommends: three receives, six times the function's timeout, a dead-letter queue.

    `reports_failures`: whether its mapping has ReportBatchItemFailures.
    """
    role_arn = create_role(stage)
    suffix, own = (".fifo", {"FifoQueue": "true"}) if is_fifo else ("", {})
    retention = {"MessageRetentionPeriod": str(RETENTION_S), **own}
    stage.call("sqs", "CreateQueue", QueueName=f"messages-dlq{suffix}", Attributes=retention)
    dead_letter_arn = f"arn:aws:sqs:{SCOPE.region}:{SCOPE.account}:messages-dlq{suffix}"
    redrive = dump_json({"deadLetterTargetArn": dead_letter_arn, "maxReceiveCount": RECEIVES_MAX})
    attributes = {"VisibilityTimeout": str(VISIBILITY_S), "RedrivePolicy": redrive, **retention}
    url = stage.call("sqs", "CreateQueue", QueueName=f"messages{suffix}", Attributes=attributes)["QueueUrl"]
    queue_arn = f"arn:aws:sqs:{SCOPE.region}:{SCOPE.account}:messages{suffix}"
    stage.call(
        "lambda", "CreateFunction", FunctionName="handler", Runtime="python3.12", Role=role_arn,
        Handler="index.handler", Timeout=TIMEOUT_S, Code={"ZipFile": empty_archive()},
    )  # fmt: skip
    mapping = stage.call(
        "lambda", "CreateEventSourceMapping", EventSourceArn=queue_arn, FunctionName="handler",
        FunctionResponseTypes=[REPORT_BATCH_ITEM_FAILURES] if reports_failures else [],
    )  # fmt: skip
    trigger = Trigger(
        "handler", queue_arn, url, dead_letter_arn, TIMEOUT_S * SECOND_MS, RETENTION_S * SECOND_MS, (), RECEIVES_MAX,
        mapping=str(mapping["UUID"]),
    )  # fmt: skip
    return with_messages(trigger, texts)


def with_messages(trigger: Trigger, texts: tuple[str, ...]) -> Trigger:
    """The trigger of a queue with its messages: bodies, or records with attributes."""
    messages = tuple(map(read_message, texts))
    bodies = tuple(one.body for one in messages)
    kind = Kind.FIFO if trigger.is_fifo else Kind.SQS
    if all(one == Message(one.body) for one in messages):
        return replace(trigger, bodies=bodies, kind=kind)
    return replace(trigger, bodies=bodies, messages=messages, given=texts, kind=kind)


def create_role(stage: Stage, actions: Sequence[str] = ("sqs:*",)) -> str:
    """The role of a function that is made for the handler; returns its ARN. It may do these actions."""
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]}
    role = stage.call("iam", "CreateRole", RoleName="handler", AssumeRolePolicyDocument=json.dumps(_TRUST))["Role"]
    stage.call(
        "iam", "PutRolePolicy", RoleName="handler", PolicyName="sources", PolicyDocument=json.dumps(allowed)
    )  # fmt: skip
    return str(role["Arn"])


def empty_archive() -> bytes:
    """The code of a function whose handler comes from elsewhere."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo("index.py"), "")
    return content.getvalue()


def bodies_of(event: object) -> tuple[str, ...]:
    """The messages of an event: those of an SQS event, or one message with the event as its body.

    A message of an SQS event that has more than a body is the record as a text.
    """
    records = event.get("Records") if isinstance(event, dict) else None
    if isinstance(records, list) and records and all(isinstance(one, dict) and "body" in one for one in records):
        return record_texts(records)
    return (event if isinstance(event, str) else dump_json(event),)


def read_event(file: Path) -> tuple[str, ...]:
    """The messages of an event file. Errors: UserError."""
    try:
        return bodies_of(json.loads(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The event {file} cannot be read: {error}.", exit_code=2) from error
    except ValueError as error:
        raise UserError(f"The event {file} is no JSON: {error}.", exit_code=2) from error
