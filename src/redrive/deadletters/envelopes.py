"""Reads the messages of dead-letter queues: who has written them, what failed, and what is to be run again.

    message attributes      which service has written it (languages/letters.py), and the error
    the body                an event, a notification, a record of an invocation or of a batch, a pointer, or anything
    what is inside          the same again: a notification of SNS that holds a record of Lambda, and so on

A message that nobody knows is read, too: its body is the work. Nothing here raises an exception for any message.

Sources: the pages named in languages/letters.py;
https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html;
https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html;
https://docs.aws.amazon.com/sns/latest/dg/sns-dead-letter-queues.html;
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-batching-concurrency.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.deadletters.letter import Batch, Failure, Form, Letter, Origin, Pointer, Work, execution_id
from redrive.languages.letters import LAMBDA, RULES, SCHEDULER, SUBSCRIBERS, LetterNames

LAYERS_MAX = 4
"""How many envelopes are opened: a record of Lambda, sent to a bus, sent to a topic, sent to a queue."""

POINTER_CLASSES = frozenset(
    {"software.amazon.payloadoffloading.PayloadS3Pointer", "com.amazon.sqs.javamessaging.MessageS3Pointer"}
)
"""What the extended clients of SQS and SNS write before the pointer to a body in S3."""

STATUS_CHANGE = "Step Functions Execution Status Change"
"""The events of which those that tell a failure are letters.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html
"""

FAILED_STATUSES = frozenset({"FAILED", "TIMED_OUT", "ABORTED"})

_OF_INVOCATIONS = frozenset(
    {"Lambda Function Invocation Result - Failure", "Lambda Function Invocation Result - Success"}
)
_EVENT = ("detail-type", "source", "detail")
_BATCHES = ("KinesisBatchInfo", "DDBStreamBatchInfo")

_Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Layer:
    """A body, or a text inside it, and the attributes that came with it."""

    text: str
    attributes: _Texts
    form: Form
    document: Mapping[str, object]
    """The text as JSON; empty if it is no object."""


def read_letter(message: Mapping[str, object]) -> Letter:
    """Read a message as ReceiveMessage of boto3 shows it, with all attributes of both kinds."""
    system = {name: str(value) for name, value in _mapping(message.get("Attributes")).items()}
    shown = {name: _mapping(value) for name, value in _mapping(message.get("MessageAttributes")).items()}
    body = str(message.get("Body", ""))
    letter = _read(_layer(body, {name: str(one.get("StringValue", "")) for name, one in shown.items()}), 0)
    letter = replace(
        letter, message_id=str(message.get("MessageId", "")), receipt=str(message.get("ReceiptHandle", "")),
        sent_at=_number(system.get("SentTimestamp", "")), received=_number(system.get("ApproximateReceiveCount")) or 0,
        group_id=system.get("MessageGroupId", ""), deduplication_id=system.get("MessageDeduplicationId", ""), body=body,
        attributes=shown,
    )  # fmt: skip
    moved_from = system.get("DeadLetterQueueSourceArn", "")
    return _moved(letter, moved_from) if moved_from else letter


def read_text(text: str) -> Letter:
    """Read what stands in an object of S3, or in a file: a record without a message around it."""
    return replace(_read(_layer(text, {}), 0), body=text)


def _moved(letter: Letter, queue_arn: str) -> Letter:
    """A message that a redrive policy has moved: the body is the work, whatever stands in it."""
    form = letter.wraps[0] if letter.wraps else letter.work.form
    work = Work(letter.body, form, letter.message_id, queue_arn, pointer=letter.work.pointer)
    failure = Failure(condition="maxReceiveCount", attempts=max(0, letter.received - 1))
    return replace(letter, origin=Origin.QUEUE, source_arn=queue_arn, failure=failure, work=work, wraps=())


def _read(layer: _Layer, depth: int) -> Letter:
    """What a layer and the layers inside it say. The attributes decide first, because a body may say anything."""
    for origin, names in _WRITERS.items():
        if _is_written_by(names, layer.attributes):
            return _by_attributes(layer, origin, names)
    if depth < LAYERS_MAX and (inside := _inside(layer)) is not None:
        found = _read(inside, depth + 1)
        if found.origin is not Origin.UNKNOWN:
            return replace(found, wraps=(layer.form, *found.wraps))
    match layer.form:
        case Form.INVOCATION:
            return _of_invocation(layer)
        case Form.BATCH:
            return _of_batch(layer)
        case Form.DELIVERY:
            return _of_subscriber(layer)
        case Form.EVENT if _tells_failure(layer.document):
            return _of_execution(layer)
        case Form.NOTIFICATION:
            topic_arn = _text(layer.document, "TopicArn")
            return _letter(
                Origin.SUBSCRIPTION, topic_arn, Work(layer.text, layer.form, _text(layer.document, "MessageId"))
            )
    return _letter(Origin.UNKNOWN, "", Work(layer.text, layer.form, pointer=_pointer(layer.text)))


_WRITERS: Mapping[Origin, LetterNames] = {
    Origin.SCHEDULE: SCHEDULER, Origin.SUBSCRIBER: SUBSCRIBERS, Origin.RULE: RULES, Origin.FUNCTION: LAMBDA,
}  # fmt: skip
"""The first whose names are there has written a letter: the names of Scheduler and of rules overlap."""


def _is_written_by(names: LetterNames, attributes: _Texts) -> bool:
    """Whether attributes name the source; Lambda's, which name none, have the request and the code."""
    needed = (names.source, names.code) if names.source else (names.id, names.code)
    return all(name in attributes for name in needed)


def _by_attributes(layer: _Layer, origin: Origin, names: LetterNames) -> Letter:
    told = layer.attributes
    retries = _number(told.get(names.retries, "")) if names.retries else None
    failure = Failure(
        told.get(names.code, ""), told.get(names.message, ""), told.get(names.exhausted, ""),
        0 if retries is None else retries + 1,
    )  # fmt: skip
    if origin is Origin.SUBSCRIBER and layer.form is Form.DELIVERY:
        return replace(_of_subscriber(layer), failure=failure)
    form = Form.REQUEST if origin is Origin.SCHEDULE else layer.form
    work_id = told.get(names.id, "") or _text(layer.document, "id")
    work = Work(
        layer.text, form, work_id, told.get(names.target, ""), due_at=_instant(told.get(names.due_at, "")),
        is_cut=told.get(names.truncated, "") == "true", pointer=_pointer(layer.text),
    )  # fmt: skip
    return _letter(origin, told.get(names.source, ""), work, failure)


def _of_invocation(layer: _Layer) -> Letter:
    """The record that the on-failure destination of a function gets."""
    context, answer = _mapping(layer.document.get("requestContext")), _mapping(layer.document.get("responsePayload"))
    function_arn = _text(context, "functionArn")
    attempts = _number(context.get("approximateInvokeCount")) or 0
    told = _mapping(layer.document.get("responseContext"))
    status = _text(told, "statusCode")
    failure = Failure(
        _text(answer, "errorType") or _text(told, "functionError") or (status if status != "200" else ""),
        _text(answer, "errorMessage"), _text(context, "condition"), attempts, _lines(answer.get("stackTrace")),
    )  # fmt: skip
    event = _layer(json.dumps(layer.document.get("requestPayload"), ensure_ascii=False, separators=(",", ":")), {})
    work = Work(event.text, event.form, _text(context, "requestId"), function_arn)
    return _letter(Origin.DESTINATION, function_arn, work, failure)


def _of_batch(layer: _Layer) -> Letter:
    """The record that the on-failure destination of a mapping, or the queue of a pipe, gets. S3 has the records too."""
    context = _mapping(layer.document.get("requestContext")) or _mapping(layer.document.get("context"))
    told = next(_mapping(told) for told in map(layer.document.get, _BATCHES) if isinstance(told, Mapping))
    answer = _mapping(layer.document.get("responseContext"))
    target = _text(context, "functionArn") or _text(context, "partnerResourceArn")
    batch = Batch(
        _text(told, "streamArn"), _text(told, "shardId"), _text(told, "startSequenceNumber"),
        _text(told, "endSequenceNumber"), _number(told.get("batchSize")) or 0,
        _instant(_text(told, "approximateArrivalOfFirstRecord")),
    )  # fmt: skip
    attempts = _number(context.get("approximateInvokeCount")) or 0
    failure = Failure(_text(answer, "functionError"), "", _text(context, "condition"), attempts)
    payload = layer.document.get("payload")
    text = payload if isinstance(payload, str) else ""
    if payload is not None and not text:
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    work = Work(text, Form.BATCH, _text(context, "requestId"), target, batch=batch)
    return _letter(Origin.STREAM, batch.stream_arn, work, failure)


def _of_subscriber(layer: _Layer) -> Letter:
    told = layer.document
    failure = Failure(
        _text(told, "errorCode"), _text(told, "errorMessage"), _text(told, "exhaustedRetryCondition"),
        (_number(told.get("retryAttempts")) or 0) + 1,
    )  # fmt: skip
    failed = told.get("failedMessages")
    first = _mapping(failed[0]) if isinstance(failed, list) and failed else {}
    work = Work(layer.text, layer.form, _text(first, "eventId"), _text(told, "targetArn"))
    return _letter(Origin.SUBSCRIBER, _text(told, "subscriberArn"), work, failure)


def _tells_failure(event: Mapping[str, object]) -> bool:
    is_told = _text(event, "detail-type") == STATUS_CHANGE and _text(event, "source") == "aws.states"
    return is_told and _text(_mapping(event.get("detail")), "status") in FAILED_STATUSES


def _of_execution(layer: _Layer) -> Letter:
    """The event that tells that an execution has failed. Of a task's function the cause has the traceback."""
    told = _mapping(layer.document.get("detail"))
    cause, status = _text(told, "cause"), _text(told, "status")
    answer = _layer(cause, {}).document
    redrives = _number(told.get("redriveCount")) or 0
    code = _text(told, "error") or (status if status != "FAILED" else "")
    failure = Failure(
        code, _text(answer, "errorMessage") or cause, status, redrives + 1, _lines(answer.get("stackTrace"))
    )  # fmt: skip
    arn = _text(told, "executionArn")
    work = Work(_text(told, "input"), Form.EXECUTION, execution_id(arn, redrives), arn)
    return _letter(Origin.EXECUTION, _text(told, "stateMachineArn"), work, failure)


def _inside(layer: _Layer) -> _Layer | None:
    """The text that an envelope holds, and the attributes that came with it; None if it is no envelope."""
    document = layer.document
    if layer.form is Form.NOTIFICATION:
        shown = _mapping(document.get("MessageAttributes"))
        return _layer(_text(document, "Message"), {name: _text(_mapping(one), "Value") for name, one in shown.items()})
    if layer.form is Form.EVENT and _text(document, "detail-type") in _OF_INVOCATIONS:
        return _layer(json.dumps(document["detail"], ensure_ascii=False, separators=(",", ":")), {})
    return None


def _layer(text: str, attributes: _Texts) -> _Layer:
    try:
        parsed = load_json(text)
    except ValueError:
        return _Layer(text, attributes, Form.TEXT, {})
    if not isinstance(parsed, dict):
        form = Form.JSON if _pointer(text) is None else Form.POINTER
        return _Layer(text, attributes, form, {})
    return _Layer(text, attributes, _form(parsed), parsed)


def _form(document: Mapping[str, object]) -> Form:
    if document.get("Type") == "Notification" and "TopicArn" in document and "Message" in document:
        return Form.NOTIFICATION
    if all(name in document for name in _EVENT):
        return Form.EVENT
    is_batch = any(isinstance(document.get(name), Mapping) for name in _BATCHES)
    if is_batch and ("requestContext" in document or "context" in document):
        return Form.BATCH
    if "requestPayload" in document and "functionArn" in _mapping(document.get("requestContext")):
        return Form.INVOCATION
    if "subscriberArn" in document and "failedMessages" in document:
        return Form.DELIVERY
    records = document.get("Records")
    if isinstance(records, list) and records and "s3" in _mapping(records[0]):
        return Form.OBJECTS
    return Form.JSON


def _pointer(text: str) -> Pointer | None:
    """The object that a body of SQS's extended client points to."""
    if not text.startswith("["):
        return None
    try:
        parsed = load_json(text)
    except ValueError:
        return None
    if not (isinstance(parsed, list) and len(parsed) == 2 and str(parsed[0]) in POINTER_CLASSES):
        return None
    told = _mapping(parsed[1])
    return Pointer(_text(told, "s3BucketName"), _text(told, "s3Key"))


def _letter(origin: Origin, source_arn: str, work: Work, failure: Failure | None = None) -> Letter:
    return Letter("", origin, source_arn, failure or Failure(), work)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    return "" if value is None else str(value)


def _lines(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _number(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def _instant(text: str) -> Instant | None:
    """An instant in ISO 8601, with or without milliseconds; None if the text is none."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return round(read.timestamp() * 1000) if read.tzinfo is not None else None
