"""The event that comes into a system: given, or a sample for the function that it reaches first; and how it is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_row_id
from redrive.core.errors import Bug
from redrive.delivery.sources.targets import queue_url
from redrive.prove.guess.contents import PLAIN_FILE, FileContent, content_for
from redrive.prove.guess.reading import Reading
from redrive.prove.guess.record_samples import sample_changes, sample_data, sample_object
from redrive.prove.stage.deliveries import sample_event_of_topic, sample_message
from redrive.prove.stage.records import bodies_of_records, put_record, table_of
from redrive.prove.stage.rules import EVENT_ID, Fed, events_of, sample_event
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.stage import SCOPE, START, Stage
from redrive.prove.stage.trigger import Kind
from redrive.prove.system.entrances import KINDS, Entrance, Way
from redrive.prove.system.parts import Parts
from redrive.services.events.model.bus import BusReference
from redrive.services.events.model.event import Event
from redrive.services.events.model.inputs import Matched, render_input
from redrive.services.events.publish import publish
from redrive.services.scheduler.model.executions import Execution, execution_id, rendered_input
from redrive.store.api import Transaction

OBJECT = "sample-object"
_API_MEMBERS = ("body", "queryStringParameters", "pathParameters", "headers", "requestContext")


@dataclass(frozen=True, slots=True)
class Incoming:
    """The texts that are sent, what they are about for the user, and what was guessed of them.

    For a bucket a text is `{"key": …, "body": …}`; for a table's stream and Kinesis it is a record.
    """

    bodies: tuple[str, ...]
    guesses: Mapping[str, str] = field(default_factory=dict)


def incoming(stage: Stage, entrance: Entrance, parts: Parts, given: tuple[str, ...] | None) -> Incoming:
    """What comes in by an entrance. Errors: UserError if what is given does not fit."""
    part = parts[entrance.functions[0]]
    file = content_for(part.subject.file)
    match entrance.way:
        case Way.SCHEDULE:
            return Incoming(given or (_scheduled(entrance),))
        case Way.RULE:
            return _of_rule(entrance, part.reading, given)
        case Way.BUCKET:
            return Incoming(given, {}) if given else Incoming((_object(entrance, file),), {"object": file.told})
        case Way.STREAM | Way.TABLE:
            return _records(stage, entrance, part.reading, given)
        case Way.QUEUE:
            message = sample_message(part.reading, file)
            return Incoming(given or (message.text,), {} if given else message.guesses)
        case Way.TOPIC:
            return Incoming(given, {}) if given else _published(part.reading)
        case Way.API:
            return Incoming(given, {}) if given else _requested(part.reading)
        case Way.FUNCTION:
            made, added = sample_object(part.reading, ())
            told = {f"{name} of the event": why for name, why in added.items()}
            return Incoming(given, {}) if given else Incoming((dump_json(made or {"id": "sample-1"}),), told)


def is_the_same_text(entrance: Entrance, kind: Kind) -> bool:
    """Whether what comes in is the text that a function is proved with by itself, where this feeds it."""
    match entrance.way:
        case Way.QUEUE:
            return kind.is_queue
        case Way.RULE:
            return kind is Kind.EVENTBRIDGE and len(entrance.functions) == 1
        case Way.API | Way.FUNCTION:
            return not (kind.is_queue or kind.is_stream)
        case _:
            return False


def send_in(stage: Stage, entrance: Entrance, body: str, number: int) -> None:
    """Send it, as whoever is outside does. `number` counts what was sent in this history. Errors: ServiceError."""
    match entrance.way:
        case Way.RULE:
            _publish(stage, entrance, body, number)
        case Way.BUCKET:
            put = json.loads(body)
            stage.call("s3", "PutObject", Bucket=entrance.place, Key=put["key"], Body=put["body"].encode())
        case Way.STREAM | Way.TABLE:
            put_record(stage, entrance.place, body)
        case _:
            send_to(stage, entrance.place, body, number)


def send_to(stage: Stage, arn: str, body: str, number: int) -> None:
    """Send a text to a queue, a topic, or as an event to a function."""
    if ":sqs:" in arn:
        fifo = {"MessageGroupId": "prove", "MessageDeduplicationId": "prove"} if arn.endswith(".fifo") else {}
        stage.send(number, QueueUrl=queue_url(arn), MessageBody=body, **fifo)
    elif ":sns:" in arn:
        fifo = {"MessageGroupId": "prove", "MessageDeduplicationId": "prove"} if arn.endswith(".fifo") else {}
        stage.call("sns", "Publish", TopicArn=arn, Message=body, **fifo)
    elif ":lambda:" in arn:
        stage.invoke(number, arn, body)
    else:
        raise Bug(f"an entrance to {arn}")


def _publish(stage: Stage, entrance: Entrance, body: str, number: int) -> None:
    """Put an event on a bus, as its publisher does, AWS's own services among them; all rules of the bus see it."""
    document = json.loads(body)

    def step(tx: Transaction) -> None:
        key = new_row_id(tx.entropy, tx.now)
        publish(tx, BusReference(SCOPE, entrance.place), [Event(key, document)])

    stage.step(("publish", number, body), step)


def _scheduled(entrance: Entrance) -> str:
    """What a schedule sends to its target."""
    if entrance.rule is None:
        arn = str(entrance.document["Arn"])
        execution = Execution(arn, SCOPE, execution_id(arn, START, 0), START, entrance.document["Target"])
        return rendered_input(execution, 1)
    event = sample_event(Fed(entrance.rule.document, entrance.document), Wanted()).text
    rule = entrance.rule
    return render_input(entrance.document, Matched(event, START, str(rule.document["Arn"]), rule.name))


def _of_rule(entrance: Entrance, reading: Reading, given: tuple[str, ...] | None) -> Incoming:
    """Events that the rule matches. Its targets shape them when they are delivered."""
    if entrance.rule is None:
        raise Bug("an entrance by a rule has none")
    fed = Fed(entrance.rule.document, entrance.rule.targets[0])
    if given is not None:
        return Incoming(events_of(given, fed))
    made = sample_event(fed, Wanted(None, reading))
    return Incoming((made.text,), made.guesses)


def _object(entrance: Entrance, file: FileContent) -> str:
    """An object that the first notification of the bucket takes."""
    prefix, suffix = "", f".{file.suffix}"
    for name in ("LambdaFunctionConfigurations", "QueueConfigurations", "TopicConfigurations"):
        for configuration in entrance.document.get(name, [])[:1]:
            for rule in configuration.get("Filter", {}).get("Key", {}).get("FilterRules", []):
                prefix = str(rule["Value"]) if rule["Name"].lower() == "prefix" else prefix
                suffix = str(rule["Value"]) if rule["Name"].lower() == "suffix" else suffix
    body = (file if suffix.endswith(file.suffix) else PLAIN_FILE).body
    return dump_json({"key": f"{prefix}{OBJECT}{suffix}", "body": body.decode()})


def _records(
    stage: Stage, entrance: Entrance, reading: Reading, given: tuple[str, ...] | None
) -> Incoming:  # fmt: skip
    kind = KINDS[entrance.way]
    if given is not None:
        return Incoming(bodies_of_records(given, kind))
    if entrance.way is Way.STREAM:
        sample = sample_data(reading)
    else:
        described = stage.call("dynamodb", "DescribeTable", TableName=table_of(entrance.place))["Table"]
        types = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
        sample = sample_changes(
            reading, {one["AttributeName"]: types[one["AttributeName"]] for one in described["KeySchema"]}
        )
    first = sample.records[:1]  # One event in: a second version of the same thing is a second event.
    return Incoming(tuple(body for one in first for body in bodies_of_records((dump_json(one),), kind)), sample.guesses)


def _published(reading: Reading) -> Incoming:
    """The text of a message of a topic."""
    event = sample_event_of_topic(reading)
    if event is None:
        message = sample_message(reading)
        return Incoming((message.text,), message.guesses)
    return Incoming((str(json.loads(event.text)["Records"][0]["Sns"]["Message"]),), event.guesses)


def _requested(reading: Reading) -> Incoming:
    """A request that an API gives a function, with what the function reads of it."""
    made, added = sample_object(reading, ())
    body, of_body = sample_object(reading, ("body",))
    event: Document = {
        "resource": "/", "path": "/", "httpMethod": "POST", "version": "1.0", "isBase64Encoded": False,
        "rawPath": "/", "headers": {"content-type": "application/json"}, "queryStringParameters": {},
        "pathParameters": {}, "stageVariables": {},
        "requestContext": {
            "requestId": f"{EVENT_ID}{0:012d}", "stage": "prod", "httpMethod": "POST", "path": "/",
            "http": {"method": "POST", "path": "/"}, "identity": {"sourceIp": "192.0.2.10"},
        },
    }  # fmt: skip
    for name, value in made.items():
        event[name] = (
            {**event[name], **value}
            if isinstance(event.get(name), dict) and isinstance(value, dict)
            else (event.get(name) or value)
        )
    event["body"] = dump_json(body or {"id": "sample-1"})
    guesses = {f"{name} of the event": why for name, why in added.items() if name.partition(".")[0] in _API_MEMBERS}
    return Incoming((dump_json(event),), {**guesses, **{f"{name} of the body": why for name, why in of_body.items()}})
