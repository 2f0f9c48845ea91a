"""Keys: what makes two deliveries the same execution.

A key is found in the work itself, in something that every delivery of it has and no other work has. Each function here
returns a source of keys for `idempotent`; any function of the same arguments that returns a text is one too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from redrive.handler.errors import KeyRefused
from redrive.handler.lambda_context import single_record

if TYPE_CHECKING:
    from redrive.handler.signatures import KeySource

KEY_BYTES_MAX = 2_048  # Of a DynamoDB partition key.

_PLACEHOLDER = "<aws.scheduler."
_SPELLINGS = (
    "<aws.scheduler.schedule-arn>, <aws.scheduler.scheduled-time>, <aws.scheduler.execution-id> and "
    "<aws.scheduler.attempt-number>"
)


def scheduler_context(at: str = "context.execution_id") -> KeySource:
    """The execution id that EventBridge Scheduler puts into a schedule's input, the same in every redrive.

    `at` is where the input has `<aws.scheduler.execution-id>`. The event may be the input itself, a message that
    carries it, or a Lambda event of one such message.

    Errors (of the source): KeyRefused if there is none, or if the text still is a placeholder: Scheduler replaces only
    keywords that are spelled right, and all executions would share the rest.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
    """
    steps = _steps(at)
    return _source(lambda event: _text_at(_work(event), steps))


def schedule_occurrence(
    schedule_at: str = "context.schedule_arn", time_at: str = "context.scheduled_time"
) -> KeySource:
    """The schedule and the time it was due: `<schedule arn>@<time>`.

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
    """The id of an EventBridge event, the same for all its targets' retries and in archives' replays."""
    return _source(lambda event: _text_at(_work(event), ("id",)))


def s3_object() -> KeySource:
    """An object in one state: `bucket#key#sequencer`, from a notification of S3 or an event of EventBridge.

    A later write of the same object is another key; a repeated event of the same write is not.
    Errors (of the source): KeyRefused for events without a sequencer, which only writes and deletions have.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
    """
    return _source(lambda event: "#".join(_s3_parts(event, lambda: _s3_text(event, "sequencer"))))


def s3_object_at_time() -> KeySource:
    """The SHA-256 of `bucket#key#event time`, for tables that were begun with it; `s3_object` is the better key.

    Two writes of one object within one tick of the time share it, and one write seen as two events does not.
    """

    def find(event: object) -> str:
        import hashlib

        return hashlib.sha256("#".join(_s3_parts(event, lambda: _s3_time(event))).encode()).hexdigest()

    return _source(find)


def stream_sequence() -> KeySource:
    """A record of a Kinesis or DynamoDB stream: `<stream arn>#<shard, for Kinesis>#<sequence number>`."""

    def find(event: object) -> str:
        match single_record(event):
            case {"eventSourceARN": str(arn), "eventID": str(shard_and_number), "kinesis": {}}:
                return f"{arn}#{shard_and_number.replace(':', '#')}"
            case {"eventSourceARN": str(arn), "dynamodb": {"SequenceNumber": str(number)}}:
                return f"{arn}#{number}"
            case other:
                raise KeyRefused(f"this is no record of a stream: {_sketch(other)}")

    return _source(find)


def path(at: str) -> KeySource:
    """The text or whole number at a place of the first argument: `body.order.id`, `Records.0.eventID`.

    A text on the way is read as JSON, as a message's body is. Errors: KeyRefused for a message id; of the source:
    KeyRefused if nothing, or nothing that can be a key, is there.
    """
    steps = _steps(at)
    if steps[-1] == "messageId":
        sqs_message_id()
    return _source(lambda event: _text_at(event, steps))


def sqs_message_id() -> NoReturn:
    """Refuses to be a key. Errors: KeyRefused, always."""
    raise KeyRefused(
        "a message id is no key of an execution: a message sent again has a new one, and so has one redriven from a "
        "dead-letter queue by sending it anew, so each would run as if it were new; use something of the work itself, "
        "such as scheduler_context() or path('body.order.id')"
    )


def checked(key: object, message_id: str | None) -> str:
    """A key that may be used. Errors: KeyRefused."""
    if not isinstance(key, str) or not key:
        raise KeyRefused(f"a key is a text that is not empty, and not {key!r}")
    if _PLACEHOLDER in key:
        raise KeyRefused(_about_placeholder(key))
    if key == message_id:
        sqs_message_id()
    if len(key.encode("utf-8", "replace")) > KEY_BYTES_MAX:
        raise KeyRefused(f"the key {key[:40]!r}… has more than {KEY_BYTES_MAX:,} bytes: hash it")
    return key


def _source(find: Callable[[object], str]) -> KeySource:
    """A source that looks at the first argument only: a handler's event, or a batch's record."""

    def source(event: object, *_: object, **__: object) -> str:
        return find(event)

    return source


def _steps(at: str) -> tuple[str, ...]:
    steps = tuple(at.split("."))
    if not all(steps):
        raise KeyRefused(f"{at!r} is no path: write names, and numbers of list members, with dots between")
    return steps


def _work(event: object) -> object:
    """The work that an event carries: the body of its one message, or the event itself."""
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

            return bucket, unquote_plus(key), last()  # Notifications encode the key; events of EventBridge do not.
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
    """What an error message may show of an event: its members' names, and no contents."""
    return f"an object of {', '.join(sorted(map(str, value)))}" if isinstance(value, Mapping) else type(value).__name__
