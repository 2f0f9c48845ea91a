"""How the errors of targets count, and what the dead letter of an occurrence looks like."""

from __future__ import annotations

import re
from collections.abc import Mapping

from redrive.core.clock import format_instant
from redrive.core.documents import Document, dump_json
from redrive.core.error_codes import FAULTS, THROTTLES
from redrive.core.errors import ServiceError
from redrive.core.retry import Exhausted, Failed, FailureKind
from redrive.services.scheduler.model_executions import Execution
from redrive.services.scheduler.model_targets import Request
from redrive.store.tables.deliveries import Delivery

INTERNAL_CODE = "AWS.Scheduler.InternalServerError"
INTERNAL_MESSAGE = "Unexpected error occurred while processing the request"

ERROR_MESSAGE_LENGTH_MAX = 1_000
"""How many characters of a target's error a dead letter quotes. Source: docs/semantics/delivery.md"""

_UNKNOWN_OPERATION = "UnknownOperationException"

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# What an SDK reports of a service that kept the codes of its older protocol.
# Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
_REPORTED_CODES: Mapping[str, str] = {"QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue"}


def classify(error: ServiceError) -> Failed:
    """How a target's error counts: throttles and faults of the service are tried again, everything else is permanent.

    Source: docs/semantics/delivery.md
    """
    return Failed(_REPORTED_CODES.get(error.code, error.code), writable(error.message), _kind_of(error))


def _kind_of(error: ServiceError) -> FailureKind:
    status = error.http_status or 0
    if error.code in THROTTLES or status == 429:
        return FailureKind.THROTTLED
    if error.code == _UNKNOWN_OPERATION:
        return FailureKind.PERMANENT
    if error.code in FAULTS or status >= 500 or error.fault == "server":
        return FailureKind.TRANSIENT
    return FailureKind.PERMANENT


def letter_body(request: Request) -> str:
    """The body of a dead letter: the parameters of the API call that failed, as a universal target has them."""
    return writable(dump_json(request.params))


def letter_attributes(
    execution: Execution, request: Request, failed: Failed, *, exhausted: Exhausted | None, retries: int
) -> Document:
    """The message attributes of a dead letter; a permanent failure has no EXHAUSTED_RETRY_CONDITION.

    A delivery that grew too old before anybody could attempt it is our own failure, and says so.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
    """
    code, message = failed.code, failed.message or failed.code
    if code == Exhausted.AGE.value:
        code, message = INTERNAL_CODE, INTERNAL_MESSAGE
    values = {
        "ERROR_CODE": code,
        "ERROR_MESSAGE": message[:ERROR_MESSAGE_LENGTH_MAX],
        "EXECUTION_ID": execution.execution_id,
        **({"EXHAUSTED_RETRY_CONDITION": exhausted.value} if exhausted else {}),
        "IS_PAYLOAD_TRUNCATED": "false",
        "RETRY_ATTEMPTS": str(retries),
        "SCHEDULED_TIME": format_instant(execution.scheduled_at),
        "SCHEDULE_ARN": execution.schedule_arn,
        "TARGET_ARN": request.universal_arn,
    }
    return {name: _attribute(value) for name, value in values.items()}


def fit_letter(body: str, attributes: Document, bytes_max: int) -> tuple[str, Document]:
    """A dead letter that its queue takes: one that is too long loses the end of its body, and says so.

    Some of the body always remains: where ERROR_MESSAGE takes more than half of the room that the other attributes
    leave, and the body needs it, the message is cut first.
    """
    if letter_bytes(body, attributes) <= bytes_max:
        return body, attributes
    message = attributes["ERROR_MESSAGE"]["StringValue"]
    room = bytes_max - letter_bytes("", attributes) + len(message.encode())
    kept_message = cut(message, max(room // 2, room - len(body.encode())))
    kept_body = cut(body, room - len(kept_message.encode()))
    return kept_body, {
        **attributes,
        "ERROR_MESSAGE": _attribute(kept_message),
        "IS_PAYLOAD_TRUNCATED": _attribute("false" if kept_body == body else "true"),
    }


def _attribute(value: str) -> Document:
    return {"DataType": "String", "StringValue": writable(value)}


def writable(text: str) -> str:
    r"""A text with the characters that no message may contain written as `\uffff`; in JSON that is what they are."""
    return _UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def retries_made(delivery: Delivery, failed: Failed) -> int:
    """How often a target was called again; the attempt that found the delivery too old called nobody."""
    calls = delivery.attempts - (failed.code == Exhausted.AGE.value)
    return max(0, calls - 1)


def letter_bytes(body: str, attributes: Document) -> int:
    """The size of a message as SQS counts it: body, and names, types and values of the attributes."""
    texts = [body]
    for name, attribute in attributes.items():
        texts += [name, attribute["DataType"], attribute["StringValue"]]
    return sum(len(text.encode()) for text in texts)


def cut(text: str, bytes_max: int) -> str:
    """The beginning of a text that fits into so many bytes, without half a character at its end."""
    return text.encode()[: max(0, bytes_max)].decode(errors="ignore")
