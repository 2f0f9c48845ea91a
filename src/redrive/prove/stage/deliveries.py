"""What feeds a handler, by what it reads of its event; and the message or the event that it is given.

A queue may carry notifications of S3 or of a topic, and a topic those of S3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.documents import dump_json
from redrive.prove.guess.contents import PLAIN_FILE, FileContent
from redrive.prove.guess.reading import EventPath, Reading
from redrive.prove.guess.record_samples import sample_object
from redrive.prove.stage.notifications import sample_notification
from redrive.prove.stage.stage import SCOPE
from redrive.prove.stage.trigger import SAMPLE_EVENT, Kind
from redrive.services.sns.model.envelope import lambda_record, notification

_RECORD: EventPath = ("Records", 0)
_S3: EventPath = (*_RECORD, "s3")
_BODY: EventPath = (*_RECORD, "body")
_TOPICS: EventPath = (*_RECORD, "Sns")
_KINDS: Mapping[EventPath, Kind] = {
    _S3: Kind.S3, _BODY: Kind.SQS, _TOPICS: Kind.SNS, (*_RECORD, "dynamodb"): Kind.DYNAMODB,
    (*_RECORD, "kinesis"): Kind.KINESIS, ("detail",): Kind.EVENTBRIDGE, ("detail-type",): Kind.EVENTBRIDGE,
    ("requestContext",): Kind.API, ("httpMethod",): Kind.API, ("pathParameters",): Kind.API,
    ("queryStringParameters",): Kind.API, ("rawPath",): Kind.API, ("body",): Kind.API,
}  # fmt: skip
_CLASSES: Mapping[str, Kind] = {
    "S3Event": Kind.S3, "SQSEvent": Kind.SQS, "SNSEvent": Kind.SNS, "EventBridgeEvent": Kind.EVENTBRIDGE,
    "DynamoDBStreamEvent": Kind.DYNAMODB, "KinesisStreamEvent": Kind.KINESIS, "APIGatewayProxyEvent": Kind.API,
    "APIGatewayProxyEventV2": Kind.API, "APIGatewayRestResolver": Kind.API, "APIGatewayHttpResolver": Kind.API,
    "LambdaFunctionUrlEvent": Kind.API, "LambdaFunctionUrlResolver": Kind.API,
}  # fmt: skip
_TOPIC_ARN = f"arn:aws:sns:{SCOPE.region}:{SCOPE.account}:sample-topic"
_SUBSCRIPTION = f"{_TOPIC_ARN}:21be56ed-a058-49f5-8c98-aedd2564c486"
_HOST = f"sns.{SCOPE.region}.amazonaws.com"
SAMPLE_MESSAGE = '{"id":"sample-1"}'
"""A message of a topic whose keys are not known: JSON, which is a text as well."""
TRIGGER = "trigger"
"""The name of the guess at what feeds the handler."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The text that a handler is given, and what was guessed of it: each key with the line that reads it."""

    text: str
    guesses: Mapping[str, str] = field(default_factory=dict)


def kind_for(reading: Reading | None) -> tuple[Kind, str] | None:
    """What feeds a handler, and what says so; None if nothing that it reads does."""
    if reading is None:
        return None
    for prefix, kind in _KINDS.items():
        found = [path for path in reading.paths if path[: len(prefix)] == prefix]
        if found:
            return kind, f"{kind.value}, because {reading.paths[found[0]]} reads {_told(found[0])}"
    if reading.data_class in _CLASSES:
        kind = _CLASSES[reading.data_class]
        return kind, f"{kind.value}, because the handler reads a {reading.data_class}"
    if ("source",) in reading.paths:
        return Kind.EVENTBRIDGE, f"{Kind.EVENTBRIDGE.value}, because {reading.paths['source',]} reads ['source']"
    own = [path for path in reading.paths if path[0] != "Records"]
    if own and len(own) == len(reading.paths):
        return Kind.LAMBDA, f"{Kind.LAMBDA.value}, because {reading.paths[own[0]]} reads {_told(own[0])}"
    return None


def kind_of_event(text: str) -> Kind | None:
    """What feeds a function that is given this event; None if the event is no envelope of AWS."""
    try:
        event = json.loads(text)
    except ValueError:
        return None
    records = event.get("Records") if isinstance(event, dict) else None
    first = records[0] if isinstance(records, list) and records else None
    places: list[tuple[object, EventPath]] = [(first, _RECORD), (event, ())]
    for place, path in places:
        members = place if isinstance(place, dict) else {}
        for prefix, kind in _KINDS.items():
            if prefix[:-1] == path and prefix[-1] in members:
                return kind
    return None


def sample_message(reading: Reading | None, file: FileContent = PLAIN_FILE) -> Delivered:
    """The body of a message in a queue."""
    return _document(reading, _BODY, file) or Delivered(dump_json(SAMPLE_EVENT))


def sample_event_of_topic(reading: Reading | None, file: FileContent = PLAIN_FILE) -> Delivered | None:
    """The event with which a topic invokes a function; None if the handler reads none of a topic."""
    if reading is None or not (_reads(reading, _TOPICS) or reading.data_class == "SNSEvent"):
        return None
    inner = _document(reading, (*_TOPICS, "Message"), file) or Delivered(SAMPLE_MESSAGE)
    return Delivered(enveloped(inner.text), inner.guesses)


def enveloped(text: str) -> str:
    """The event with which a topic invokes a function for a message."""
    return lambda_record(_published(text), _HOST, _SUBSCRIPTION)


def _document(reading: Reading | None, at: EventPath, file: FileContent) -> Delivered | None:
    """The text at a path of the event, if the handler reads it as a document; None if it does not."""
    if reading is None or not _reads(reading, at):
        return None
    if _reads(reading, (*at, *_S3)):
        return Delivered(sample_notification(file.suffix))
    if any(path[len(at) :][:1] == ("Message",) for path in reading.paths if path[: len(at)] == at):
        inner = _document(reading, (*at, "Message"), file) or Delivered("sample message")
        return Delivered(dump_json(notification(_published(inner.text), "sqs", _HOST, _SUBSCRIPTION)), inner.guesses)
    made, added = sample_object(reading, at)
    if not made or made.keys() <= SAMPLE_EVENT.keys():
        return None
    return Delivered(dump_json(made), {f"{name} of the message": why for name, why in added.items()})


def _published(text: str) -> dict[str, object]:
    """A message of a topic. Nobody can verify its signature."""
    return {
        "id": "4c2e5c05-8f0d-5a0a-a4b1-0c1a2b3c4d5e", "topic": _TOPIC_ARN, "subject": "sample", "text": text,
        "at": "2025-01-01T00:00:00.000Z",
    }  # fmt: skip


def _reads(reading: Reading, prefix: EventPath) -> bool:
    return any(path[: len(prefix)] == prefix for path in reading.paths)


def _told(path: EventPath) -> str:
    return "".join(f"[{step!r}]" for step in path[:3])
