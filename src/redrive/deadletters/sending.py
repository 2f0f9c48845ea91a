"""Sends letters to a destination, once each: what was accepted, what was refused, and what nobody knows.

A request is never repeated here, and the clients must not repeat it either: a repetition after a lost answer may send a
letter twice. What AWS deduplicates is sent with what it deduplicates by, and `repeatable_ms` says for how long:

    a FIFO queue             the deduplication id is the letter's message id       5 minutes
    a standard workflow      the name of the execution has the message id          as long as AWS keeps it: 90 days
    RedriveExecution         the client token is the letter's message id           15 minutes
    all others               nothing

A batch of records is given to a function as its mapping gives it: the request waits for the function's answer.

Sources: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html;
https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import DAY_MS, MINUTE_MS
from redrive.core.documents import Document, load_json
from redrive.deadletters.bus_events import OF_AWS, refused_source
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.executions import redrive, start
from redrive.deadletters.letter import Origin
from redrive.deadletters.outcomes import Accepted, Parcel, Refused, SendOutcome, Unknown, outcome_of, refused
from redrive.deadletters.putting import put
from redrive.deadletters.sources import Client
from redrive.handler.failures import Kind

BATCH = 10
"""The most entries of SendMessageBatch and PutEvents."""

FIFO_REPEATABLE_MS = 5 * MINUTE_MS
NAME_REPEATABLE_MS = 90 * DAY_MS
TOKEN_REPEATABLE_MS = 15 * MINUTE_MS
CLOCKS_DIFFER_MS = 30 * 1_000
"""How much earlier than AWS a repetition is taken for too late: both clocks differ, and a request takes time."""

TOO_LARGE = frozenset({"BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", "RequestEntityTooLarge"})


class Sender:
    """Sends letters. `client` makes clients that do not repeat requests (`total_max_attempts` is 1)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._clients: dict[str, Any] = {}
        self._urls: dict[str, str] = {}
        self._repeatable: dict[Destination, int] = {}

    def batch(self, to: Destination) -> int:
        """How many letters one request takes."""
        return BATCH if to.kind in {To.QUEUE, To.BUS} else 1

    def prepare(self, to: Destination) -> None:
        """Look up what sending needs, so that threads may send afterwards. Errors: ClientError."""
        self._of(_service(to))
        if to.kind is To.QUEUE:
            self._url(to.name)
        self.repeatable_ms(to)

    def repeatable_ms(self, to: Destination) -> int:
        """How long after a request the destination takes the same letter for the same; 0 if it does not."""
        if to not in self._repeatable:
            self._repeatable[to] = self._asked_repeatable_ms(to)
        return self._repeatable[to]

    def send(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        """Send letters, no more than `batch` of them; the outcomes stand in their order."""
        try:
            return self._request(to, parcels)
        except (ClientError, BotoCoreError) as error:
            outcome: SendOutcome = outcome_of(error)
        if isinstance(outcome, Refused) and outcome.code in TOO_LARGE and len(parcels) > 1:
            half = len(parcels) // 2
            return [*self.send(to, parcels[:half]), *self.send(to, parcels[half:])]
        return [outcome] * len(parcels)

    def _request(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        match to.kind:
            case To.QUEUE:
                return self._to_queue(to, parcels)
            case To.BUS:
                return self._to_bus(to, parcels)
            case To.FUNCTION:
                return self._to_function(to, parcels)
            case To.TOPIC:
                return self._to_topic(to, parcels)
            case To.STATE_MACHINE:
                return self._to_state_machine(to, parcels)
            case To.STREAM:
                return self._to_stream(to, parcels)
            case To.EXECUTION:
                return [redrive(self._of("stepfunctions"), parcels[0], to.name)]
            case To.API:
                return self._to_api(to, parcels)

    def _to_queue(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        url = self._url(to.name)
        entries = [{"Id": str(number), **_message(one, url)} for number, one in enumerate(parcels)]
        answer = self._of("sqs").send_message_batch(QueueUrl=url, Entries=entries)
        outcomes: dict[str, SendOutcome] = {
            one["Id"]: Accepted(one["MessageId"]) for one in answer.get("Successful", [])
        }
        for one in answer.get("Failed", []):
            outcomes[one["Id"]] = refused(one["Code"], one.get("Message", ""), is_ours=bool(one["SenderFault"]))
        return [outcomes.get(entry["Id"], Unknown("the answer does not name it")) for entry in entries]

    def _to_bus(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        outcomes: list[SendOutcome | None] = []
        entries: list[Document] = []
        for one in parcels:
            entry = _entry(one.text, to.name)
            if isinstance(entry, Refused):
                outcomes.append(entry)
            else:
                outcomes.append(None)
                entries.append(entry)
        answered = iter(self._of("events").put_events(Entries=entries)["Entries"] if entries else ())
        return [outcome or _of_entry(next(answered, {})) for outcome in outcomes]

    def _to_function(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        if parcels[0].letter.work.batch is not None:
            return [self._answered_batch(to, parcels[0])]
        answer = self._of("lambda").invoke(
            FunctionName=to.name, InvocationType="Event", Payload=parcels[0].text.encode()
        )
        return [Accepted(_request_id(answer))]

    def _answered_batch(self, to: Destination, parcel: Parcel) -> SendOutcome:
        """Give a function a batch as its mapping does: its answer says whether the batch is done."""
        answer = self._of("lambda").invoke(
            FunctionName=to.name, InvocationType="RequestResponse", Payload=parcel.text.encode()
        )
        told = load_json(answer["Payload"].read() or b"null")
        if answer.get("FunctionError"):
            named = told if isinstance(told, dict) else {}
            code = str(named.get("errorType") or answer["FunctionError"])
            return Refused(code, str(named.get("errorMessage") or "the function failed"), Kind.PERMANENT)
        failures = told.get("batchItemFailures") if isinstance(told, dict) else None
        if failures:
            return Refused("BatchItemFailures", f"the function has failed {len(failures)} records", Kind.PERMANENT)
        return Accepted(_request_id(answer))

    def _to_topic(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        return [Accepted(self._of("sns").publish(TopicArn=to.name, Message=parcels[0].text)["MessageId"])]

    def _to_state_machine(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        return [start(self._of("stepfunctions"), to.name, parcels[0])]

    def _to_stream(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        return [put(self._of("kinesis"), to.name, parcels[0])]

    def _to_api(self, to: Destination, parcels: Sequence[Parcel]) -> Sequence[SendOutcome]:
        client = self._of(_service(to))
        operation = next((name for name in client.meta.method_to_api_mapping if name == xform_name(to.operation)), None)
        if operation is None:
            return [Refused("NoOperation", f"{to.name} has no operation {to.operation}", Kind.PERMANENT)]
        shape = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[operation]).input_shape
        try:
            params = load_json(parcels[0].text)
        except ValueError as error:
            return [Refused("NoRequest", f"the work is no JSON: {error}", Kind.PERMANENT)]
        answer = getattr(client, operation)(**_spelled(shape, params))
        if answer.get("FunctionError"):
            return [Refused(str(answer["FunctionError"]), "the function failed", Kind.PERMANENT)]
        return [Accepted(str(answer.get("MessageId") or _request_id(answer)))]

    def _asked_repeatable_ms(self, to: Destination) -> int:
        if to.kind is To.QUEUE and to.name.endswith(".fifo"):
            return FIFO_REPEATABLE_MS - CLOCKS_DIFFER_MS
        if to.kind is To.EXECUTION:
            return TOKEN_REPEATABLE_MS - CLOCKS_DIFFER_MS
        if to.kind is To.STATE_MACHINE:
            try:
                told = self._of("stepfunctions").describe_state_machine(stateMachineArn=to.name)
            except ClientError:
                return 0  # Whether it is a standard workflow is not known.
            return NAME_REPEATABLE_MS - CLOCKS_DIFFER_MS if told.get("type") == "STANDARD" else 0
        return 0

    def _url(self, name: str) -> str:
        """The URL of a queue, by its URL, ARN or name. Errors: ClientError."""
        if "://" in name:
            return name
        if name not in self._urls:
            *_, account, queue = ["", *name.rsplit(":", 2)[-2:]]
            owner = {"QueueOwnerAWSAccountId": account} if name.startswith("arn:") else {}
            self._urls[name] = str(self._of("sqs").get_queue_url(QueueName=queue, **owner)["QueueUrl"])
        return self._urls[name]

    def _of(self, service: str) -> Any:
        if service not in self._clients:
            client = self._client(service)
            if (client.meta.config.retries or {}).get("total_max_attempts") != 1:
                raise ValueError(f"the client of {service} repeats requests: set total_max_attempts to 1")
            self._clients[service] = client
        return self._clients[service]


_SERVICES: Mapping[To, str] = {
    To.QUEUE: "sqs", To.BUS: "events", To.FUNCTION: "lambda", To.TOPIC: "sns", To.STATE_MACHINE: "stepfunctions",
    To.STREAM: "kinesis", To.EXECUTION: "stepfunctions",
}  # fmt: skip
_OF_SCHEDULER: Mapping[str, str] = {"sfn": "stepfunctions", "eventbridge": "events", "cloudwatchlogs": "logs"}
"""Services that a universal target of Scheduler names otherwise than boto3."""


def _service(to: Destination) -> str:
    """The name of the client that sends."""
    return _SERVICES.get(to.kind) or _OF_SCHEDULER.get(to.name, to.name)


def _message(parcel: Parcel, url: str) -> Document:
    """The entry of a message. Attributes that a service wrote about the failure are not part of the work."""
    letter = parcel.letter
    is_message = letter.origin in {Origin.QUEUE, Origin.UNKNOWN}
    entry: Document = {"MessageBody": parcel.text}
    if is_message and letter.attributes:
        entry["MessageAttributes"] = dict(letter.attributes)
    if url.endswith(".fifo"):
        entry |= {
            "MessageGroupId": letter.group_id or letter.message_id,
            "MessageDeduplicationId": letter.message_id,
        }
    elif letter.origin is Origin.QUEUE and letter.group_id:
        entry["MessageGroupId"] = letter.group_id
    return entry


def _entry(text: str, bus: str) -> Document | Refused:
    """The entry of PutEvents that sends an event again."""
    try:
        event = load_json(text)
    except ValueError:
        event = None
    if not (isinstance(event, dict) and "source" in event and "detail-type" in event and "detail" in event):
        return Refused("NoEvent", "the work is no event", Kind.PERMANENT)
    source = str(event["source"])
    if source.startswith(OF_AWS):
        return Refused("NotAuthorizedForSource", refused_source(source), Kind.PERMANENT)
    kind, detail = str(event["detail-type"]), _json(event["detail"])
    entry: Document = {"EventBusName": bus, "Source": source, "DetailType": kind, "Detail": detail}
    if event.get("resources"):
        entry["Resources"] = event["resources"]
    if event.get("time"):
        entry["Time"] = event["time"]
    return entry


def _of_entry(answer: Mapping[str, Any]) -> SendOutcome:
    if answer.get("EventId"):
        return Accepted(str(answer["EventId"]))
    if not answer.get("ErrorCode"):
        return Unknown("the answer does not name it")
    code = str(answer["ErrorCode"])
    return refused(code, str(answer.get("ErrorMessage", "")), is_ours=not code.startswith("Internal"))


def _spelled(shape: Any, value: Any) -> Any:
    """Parameters in the spelling of the service's model: a universal target begins each name with a capital."""
    if shape is None:
        return value
    if shape.type_name == "structure" and isinstance(value, dict):
        members = {name[:1].lower() + name[1:]: name for name in shape.members}
        spelled = {name: members.get(name[:1].lower() + name[1:], name) for name in value}
        return {spelled[name]: _spelled(shape.members.get(spelled[name]), one) for name, one in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [_spelled(shape.member, one) for one in value]
    if shape.type_name == "map" and isinstance(value, dict):
        return {name: _spelled(shape.value, one) for name, one in value.items()}
    return value


def _request_id(answer: Mapping[str, Any]) -> str:
    return str(answer.get("ResponseMetadata", {}).get("RequestId", ""))


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
