"""Keys: two deliveries with the same key are the same execution.

A key comes from the work itself: from something that every delivery of the work has and no other work has. Each
function here returns a key source for `idempotent`; any function of the same arguments that returns a text is one, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn, TypeGuard

from redrive.handler.errors import KeyRefused
from redrive.handler.lambda_context import single_record

if TYPE_CHECKING:
    from redrive.handler.signatures import KeySource

KEY_BYTES_MAX = 2_048  # The limit of a DynamoDB partition key.

# SQS's message ids are UUIDs. A shorter id comes from a test, and may occur in other texts by chance.
ID_CHARS = 36
MADE_UP_ID_CHARS_MIN = 4

_EACH_RUNS = "so each would run as if it were new"
_SENT_AGAIN = (
    "a message sent again has a new one, and so has one redriven from a dead-letter queue by sending it anew, "
    f"{_EACH_RUNS}"
)
_INSTEAD = "use something of the work itself, such as scheduler_context() or path('body.order.id')"
_ALIKE = "all messages of the queue have the same, so all but the first would be skipped"
_OF_DELIVERY = {
    "messageId": _SENT_AGAIN,
    "receiptHandle": f"each receive has a new one, {_EACH_RUNS}",
    "ApproximateReceiveCount": f"each receive has another one, {_EACH_RUNS}",
    "ApproximateFirstReceiveTimestamp": _SENT_AGAIN,
    "SentTimestamp": _SENT_AGAIN,
    "SenderId": _ALIKE,
    "eventSource": _ALIKE,
    "eventSourceARN": _ALIKE,
    "awsRegion": _ALIKE,
}
_PLACEHOLDER = "<aws.scheduler."
_SPELLINGS = (
    "<aws.scheduler.schedule-arn>, <aws.scheduler.scheduled-time>, <aws.scheduler.execution-id> and "
    "<aws.scheduler.attempt-number>"
)


def scheduler_context(at: str = "context.execution_id") -> KeySource:
    """The execution id that EventBridge Scheduler puts into a schedule's input; every redrive has the same id.

    `at` is the path in the input of `<aws.scheduler.execution-id>`. The event may be the input itself, a message that
    carries it, or a Lambda event of one such message.

    Errors (of the source): KeyRefused if there is none, or if the text is still the placeholder: Scheduler replaces
    only keywords that are spelled correctly, and all executions would share a misspelt keyword.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
    """
    steps = _steps(at)
    return _source(lambda event: _text_at(_work(event), steps))


def schedule_occurrence(
    schedule_at: str = "context.schedule_arn", time_at: str = "context.scheduled_time"
) -> KeySource:
    """The schedule and the scheduled time: `<schedule arn>@<time>`.

    Unlike an execution id it is the same for two deliveries of one occurrence whatever their cause. Scheduled events of
    EventBridge rules have one as well, in `resources` and `time`. Errors (of the source): as `scheduler_context`.
    """
    places = _steps(schedule_at), _steps(time_at)

    def find(event: object) -> str:
        match _work(event):
            case {"detail-type": "Scheduled Event", "resources": [str(arn)], "time": str(time)}:
                return f"{arn}@{time}"
            case work:
                return "@".join(_text_at(work, steps) for steps in places)

    return _source(find)


def event_id() -> KeySource:
    """The id of an EventBridge event, the same in retries of all its targets and in replays from archives."""
    return _source(lambda event: _text_at(_work(event), ("id",)))


def s3_object() -> KeySource:
    """One version of an object: `bucket#key#sequencer`, from a notification of S3 or an event of EventBridge.

    A later write of the same object is another key; a repeated event of the same write is not.
    Errors (of the source): KeyRefused for events without a sequencer, which only writes and deletions have.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
    """
    return _source(lambda event: "#".join(_s3_parts(event, lambda: _s3_text(event, "sequencer"))))


def s3_object_at_time() -> KeySource:
    """The SHA-256 of `bucket#key#event time`, for tables that were begun with it; `s3_object` is the better key.

    Two writes of one object within one tick of the time share this key, and one write reported as two events may not.
    """

    def find(event: object) -> str:
        import hashlib

        return hashlib.sha256("#".join(_s3_parts(event, lambda: _s3_time(event))).encode()).hexdigest()

    return _source(find)


def stream_sequence() -> KeySource:
    """A record of a stream: `<stream arn>#<shard>#<sequence number>` in Kinesis, `<stream arn>#<event id>` in DynamoDB.

    A sequence number of a DynamoDB stream is unique within its shard, which the records do not name; the event ids are
    globally unique. Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html,
    https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html
    """

    def find(event: object) -> str:
        match single_record(event):
            case {"eventSourceARN": str(arn), "eventID": str(shard_and_number), "kinesis": {}}:
                return f"{arn}#{shard_and_number.replace(':', '#')}"
            case {"eventSourceARN": str(arn), "eventID": str(event_id), "dynamodb": {}}:
                return f"{arn}#{event_id}"
            case other:
                raise KeyRefused(f"this is no record of a stream: {_sketch(other)}")

    return _source(find)


def path(at: str) -> KeySource:
    """The text or whole number at a path in the first argument: `body.order.id`, `Records.0.eventID`.

    A text on the path is parsed as JSON, such as a message's body. A producer's own message id is a good key. Errors
    (at once, or of the source): KeyRefused if there is nothing, or nothing that can be a key, or a value that SQS made
    for the delivery.
    """
    steps = _steps(at)
    if steps[0] == "Records" and steps[2:] in {("messageId",), ("receiptHandle",)}:
        raise KeyRefused(_about_delivery(steps[-1]))
    if steps[-1] not in _OF_DELIVERY:
        return _source(lambda event: _text_at(event, steps))
    of_record = steps[2:] if steps[0] == "Records" else steps
    is_of_record = len(of_record) == 1 or of_record[:1] == ("attributes",)

    def find(event: object) -> str:
        found = _text_at(event, steps)
        if is_of_record and _is_sqs_record(single_record(event)):
            raise KeyRefused(_about_delivery(steps[-1]))
        return found

    return _source(find)


def sqs_message_id() -> NoReturn:
    """Refuses to be a key. Errors: KeyRefused, always."""
    raise KeyRefused(_about_delivery("messageId"))


def checked(key: object, event: object = None, prefix: str = "") -> str:
    """The prefix and a key from an event, after validation. Errors: KeyRefused."""
    if not isinstance(key, str) or not key:
        raise KeyRefused(f"a key is a text that is not empty, and not {key!r}")
    if _PLACEHOLDER in key:
        raise KeyRefused(_about_placeholder(key))
    _refuse_delivery(key, event)
    whole = prefix + key
    try:
        size = len(whole) if whole.isascii() else len(whole.encode())
    except UnicodeEncodeError:
        raise KeyRefused(f"the key {key[:40]!r} has half a surrogate pair, which no database keeps: hash it") from None
    if size > KEY_BYTES_MAX:
        raise KeyRefused(f"the key {whole[:40]!r}… has {size:,} bytes and may have {KEY_BYTES_MAX:,}: hash it")
    return whole


def _refuse_delivery(key: str, event: object) -> None:
    """Check that a key is not a value that SQS made for this delivery. Errors: KeyRefused."""
    record = single_record(event)
    if not _is_sqs_record(record):
        return
    for name in ("messageId", "receiptHandle"):
        value = record.get(name)
        if isinstance(value, str) and value and _holds(key, value):
            raise KeyRefused(_about_delivery(name))


def _holds(key: str, id: str) -> bool:
    """Whether a key contains an id."""
    if len(id) < MADE_UP_ID_CHARS_MIN:
        return key == id
    before, found, after = key.partition(id)
    stands_alone = not (before[-1:].isalnum() or after[:1].isalnum())
    return found != "" and (len(id) >= ID_CHARS or stands_alone)


def _is_sqs_record(record: object) -> TypeGuard[Mapping[str, object]]:
    """Whether this is a message in Lambda's form, and not an event that merely has a member of the same name."""
    match record:
        case {"messageId": str(), "body": _}:
            return True
        case _:
            return False


def _about_delivery(name: str) -> str:
    return f"the key is, or holds, the {name} of the message, and {_OF_DELIVERY[name]}; {_INSTEAD}"


def _source(find: Callable[[object], str]) -> KeySource:
    """A key source that reads only the first argument: a handler's event, or a batch's record."""

    def source(event: object, *_: object, **__: object) -> str:
        return find(event)

    return source


def _steps(at: str) -> tuple[str, ...]:
    steps = tuple(at.split("."))
    if not all(steps):
        raise KeyRefused(f"{at!r} is no path: write names, and numbers of list members, with dots between")
    return steps


def _work(event: object) -> object:
    """The work in an event: the body of its only message, or the event itself."""
    match event:
        case {"Records": [_, _, *_]}:
            raise KeyRefused("the event has several records, each with a key of its own: hand them out with sqs_batch")
        case _:
            record = single_record(event)
    match record:
        case {"body": str(body), "messageId": _}:
            return _parsed(body)
        case _:
            return record


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise KeyRefused(f"the key is sought in a text that is no JSON ({error}): {text[:80]!r}") from None


def _text_at(value: object, steps: tuple[str, ...]) -> str:
    found = value
    for number, step in enumerate(steps, start=1):
        within = _parsed(found) if isinstance(found, str) else found
        match within:
            case Mapping() if step in within:
                found = within[step]
            case list() if step.isdecimal() and int(step) < len(within):
                found = within[int(step)]
            case _:
                raise KeyRefused(f"there is no {'.'.join(steps[:number])} in {_sketch(value)}")
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        raise KeyRefused(f"{'.'.join(steps)} is {found!r}, and a key is a text or a whole number")
    if _PLACEHOLDER in str(found):
        raise KeyRefused(_about_placeholder(str(found)))
    return str(found)


def _about_placeholder(text: str) -> str:
    return (
        f"the key is the text {text!r}, which Scheduler did not replace, so that all executions would share it. "
        f"Its keywords are {_SPELLINGS}, with hyphens; they are replaced in a schedule's input and nowhere else"
    )


def _s3_parts(event: object, last: Callable[[], str]) -> tuple[str, str, str]:
    match _work(event):
        case {"s3": {"bucket": {"name": str(bucket)}, "object": {"key": str(key)}}}:
            from urllib.parse import unquote_plus

            return bucket, unquote_plus(key), last()  # S3's notifications encode the key; events of EventBridge do not.
        case {"detail": {"bucket": {"name": str(bucket)}, "object": {"key": str(key)}}}:
            return bucket, key, last()
        case {"Records": [_]} as wrapped:  # A notification that came through a queue.
            return _s3_parts(single_record(wrapped), last)
        case other:
            raise KeyRefused(f"this is no event about an object of S3: {_sketch(other)}")


def _s3_text(event: object, name: str) -> str:
    match single_record(_work(event)):
        case {"s3": {"object": Mapping() as s3_object}} | {"detail": {"object": Mapping() as s3_object}}:
            if isinstance(s3_object.get(name), str):
                return str(s3_object[name])
    raise KeyRefused(f"the event has no {name}; writes and deletions have one: use event_id() for others")


def _s3_time(event: object) -> str:
    match single_record(_work(event)):
        case {"detail": {"eventTime": str(time)}} | {"eventTime": str(time)} | {"time": str(time)}:
            return time
        case other:
            raise KeyRefused(f"the event has no time: {_sketch(other)}")


def _sketch(value: object) -> str:
    """The part of an event that an error message may show: the names of its members, and no values."""
    return f"an object of {', '.join(sorted(map(str, value)))}" if isinstance(value, Mapping) else type(value).__name__
