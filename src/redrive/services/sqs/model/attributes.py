"""Convert queue attributes between AWS's form (a map of strings) and `QueueAttributes`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from redrive.core.arn import Arn
from redrive.core.documents import dump_json, load_json
from redrive.core.errors import ServiceError
from redrive.services.sqs import limits
from redrive.services.sqs.model.queue import Queue, QueueAttributes, RedriveAllowPolicy, RedrivePolicy
from redrive.services.sqs.model.requests import invalid_value
from redrive.store.tables.messages import MessageCounts

ALL = "All"

COUNT_NAMES = frozenset(
    {"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible"}
)
_READ_ONLY_NAMES = COUNT_NAMES | {"CreatedTimestamp", "LastModifiedTimestamp", "QueueArn"}

FIFO_NAMES = frozenset({"ContentBasedDeduplication", "DeduplicationScope", "FifoQueue", "FifoThroughputLimit"})
"""The attributes that only FIFO queues have."""

_PERMISSIONS = ("allowAll", "denyAll", "byQueue")


@dataclass(frozen=True, slots=True)
class _WholeNumber:
    """An attribute whose value is a whole number in a range, and the field that stores the number."""

    field: str
    low: int
    high: int


_DIGITS_MAX = 18
_NUMBERS: Mapping[str, _WholeNumber] = {
    "DelaySeconds": _WholeNumber("delay_s", 0, limits.DELAY_S_MAX),
    "KmsDataKeyReusePeriodSeconds": _WholeNumber(
        "kms_key_reuse_s", limits.KMS_KEY_REUSE_S_MIN, limits.KMS_KEY_REUSE_S_MAX
    ),
    "MaximumMessageSize": _WholeNumber("message_bytes_max", limits.MESSAGE_BYTES_MIN, limits.MESSAGE_BYTES_MAX),
    "MessageRetentionPeriod": _WholeNumber("retention_s", limits.RETENTION_S_MIN, limits.RETENTION_S_MAX),
    "ReceiveMessageWaitTimeSeconds": _WholeNumber("receive_wait_s", 0, limits.WAIT_S_MAX),
    "VisibilityTimeout": _WholeNumber("visibility_timeout_s", 0, limits.VISIBILITY_TIMEOUT_S_MAX),
}


def change_attributes(current: QueueAttributes, given: Mapping[str, str]) -> QueueAttributes:
    """Return the attributes after the given ones are set.

    Errors: InvalidAttributeName (unknown, read-only, or only for FIFO queues); InvalidAttributeValue;
    InvalidParameterValueException for the redrive policies.
    """
    if given.get("SqsManagedSseEnabled", "").lower() == "true" and given.get("KmsMasterKeyId"):
        raise _invalid_attribute("You can use one type of server-side encryption (SSE) at one time. "
                                 "You can either enable KMS SSE or SQS SSE.")  # fmt: skip
    changed = _changed(current, given)
    if changed.throughput_limit == "perMessageGroupId" and changed.deduplication_scope != "messageGroup":
        raise _invalid_attribute(
            "Invalid value for the parameter FifoThroughputLimit. Reason: The perMessageGroupId value is allowed only "
            "when the value for DeduplicationScope is messageGroup."
        )
    return changed


def _changed(current: QueueAttributes, given: Mapping[str, str]) -> QueueAttributes:
    changes: dict[str, object] = {}
    for name, value in given.items():
        if name in FIFO_NAMES and not current.is_fifo:
            raise _unknown_attribute(name) if name == "FifoQueue" else _of_fifo_queues(name)
        changes |= _change(name, value)
    return dataclasses.replace(current, **changes)  # type: ignore[arg-type] # Every change is made by _change below.


def differing_attribute(queue: Queue, given: Mapping[str, str]) -> str | None:
    """Return the name of the first given attribute whose value differs from the queue's, or None."""
    for name, value in given.items():
        if _changed(queue.attributes, {name: value}) != queue.attributes:
            return name
    return None


def select_names(asked: Sequence[str], *, is_fifo: bool) -> frozenset[str]:
    """Check the attribute names of a GetQueueAttributes request. Errors: InvalidAttributeName."""
    for name in asked:
        is_known = name == ALL or name in _NUMBERS or name in _TEXTS or name in _READ_ONLY_NAMES
        if not is_known or (name in FIFO_NAMES and not is_fifo):
            raise _unknown_attribute(name)
    return frozenset(asked)


def show_attributes(queue: Queue, counts: MessageCounts) -> dict[str, str]:
    """All attributes of a queue as GetQueueAttributes answers them; an attribute that is not set is absent."""
    settings = queue.attributes
    shown = {
        "QueueArn": queue.arn,
        "ApproximateNumberOfMessages": str(counts.visible),
        "ApproximateNumberOfMessagesNotVisible": str(counts.in_flight),
        "ApproximateNumberOfMessagesDelayed": str(counts.delayed),
        "CreatedTimestamp": str(queue.created_at // 1000),
        "LastModifiedTimestamp": str(queue.modified_at // 1000),
        "SqsManagedSseEnabled": "true" if settings.is_sqs_encrypted else "false",
    }
    shown |= {name: str(getattr(settings, number.field)) for name, number in _NUMBERS.items()}
    if settings.kms_key_id:
        shown["KmsMasterKeyId"] = settings.kms_key_id
    else:
        del shown["KmsDataKeyReusePeriodSeconds"]
    if settings.policy:
        shown["Policy"] = settings.policy
    if settings.redrive:
        shown["RedrivePolicy"] = dump_json(
            {
                "deadLetterTargetArn": settings.redrive.dead_letter_arn,
                "maxReceiveCount": settings.redrive.receive_count_max,
            }
        )
    if settings.redrive_allow:
        allow: dict[str, object] = {"redrivePermission": settings.redrive_allow.permission}
        if settings.redrive_allow.source_arns:
            allow["sourceQueueArns"] = list(settings.redrive_allow.source_arns)
        shown["RedriveAllowPolicy"] = dump_json(allow)
    if settings.is_fifo:
        shown |= {
            "FifoQueue": "true",
            "ContentBasedDeduplication": "true" if settings.is_deduplicated_by_content else "false",
            "DeduplicationScope": settings.deduplication_scope,
            "FifoThroughputLimit": settings.throughput_limit,
        }
    return shown


def _change(name: str, value: str) -> dict[str, object]:
    """Return the fields that this attribute sets, with their values."""
    number = _NUMBERS.get(name)
    if number is not None:
        given = _digits(value)
        if given is None or not number.low <= given <= number.high:
            raise _invalid_attribute(f"Invalid value for the parameter {name}.")
        return {number.field: given}
    change = _TEXTS.get(name)
    if change is None:
        raise _unknown_attribute(name)
    return change(value)


def _kms_key(key_id: str) -> dict[str, object]:
    """A customer's key replaces the key that SQS manages."""
    return {"kms_key_id": key_id, "is_sqs_encrypted": False} if key_id else {"kms_key_id": ""}


def _sqs_encryption(text: str) -> dict[str, object]:
    if _flag("SqsManagedSseEnabled", text):
        return {"is_sqs_encrypted": True, "kms_key_id": ""}
    return {"is_sqs_encrypted": False}


def _fifo(text: str) -> dict[str, object]:
    """The type of a queue never changes; setting FifoQueue to true on a FIFO queue has no effect."""
    if not _flag("FifoQueue", text):
        raise _invalid_attribute(
            "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
        )
    return {}


def _content_deduplication(text: str) -> dict[str, object]:
    return {"is_deduplicated_by_content": _flag("ContentBasedDeduplication", text)}


def _flag(name: str, text: str) -> bool:
    """Parse `true` or `false`; upper and lower case are equal. Errors: InvalidAttributeValue."""
    if text.lower() not in ("true", "false"):
        raise _invalid_attribute(f"Invalid value for the parameter {name}.")
    return text.lower() == "true"


def _deduplication_scope(text: str) -> dict[str, object]:
    if text not in ("queue", "messageGroup"):
        raise _invalid_attribute("Invalid value for the parameter DeduplicationScope.")
    return {"deduplication_scope": text}


def _throughput_limit(text: str) -> dict[str, object]:
    if text not in ("perQueue", "perMessageGroupId"):
        raise _invalid_attribute("Invalid value for the parameter FifoThroughputLimit.")
    return {"throughput_limit": text}


def _redrive(text: str) -> dict[str, object]:
    return {"redrive": _read_redrive(text) if text else None}


def _read_redrive(text: str) -> RedrivePolicy:
    name = "RedrivePolicy"
    document = _json_map(text)
    if document is None:
        raise invalid_value(text, name, "Redrive policy is not a valid JSON map.")
    target = document.get("deadLetterTargetArn")
    if not target:
        raise invalid_value(text, name, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
    count = document.get("maxReceiveCount", limits.RECEIVE_COUNT_MAX_DEFAULT)
    receive_count_max = _whole_number(count)
    if not 1 <= receive_count_max <= limits.RECEIVE_COUNT_MAX_MAX:
        raise invalid_value(
            text, name, f"Invalid value for maxReceiveCount: {count}, valid values are from 1 to 1000 both inclusive."
        )
    if not _is_queue_arn(target):
        raise invalid_value(text, name, "Invalid value for deadLetterTargetArn.")
    return RedrivePolicy(str(target), receive_count_max)


def _redrive_allow(text: str) -> dict[str, object]:
    return {"redrive_allow": _read_redrive_allow(text) if text else None}


def _read_redrive_allow(text: str) -> RedriveAllowPolicy:
    name = "RedriveAllowPolicy"
    document = _json_map(text)
    if document is None:
        raise invalid_value(text, name, "Redrive allow policy is not a valid JSON map.")
    permission = document.get("redrivePermission")
    if permission not in _PERMISSIONS:
        raise invalid_value(text, name, f"redrivePermission must be one of {', '.join(_PERMISSIONS)}.")
    sources = document.get("sourceQueueArns")
    if permission != "byQueue":
        if sources is not None:
            raise invalid_value(text, name, "sourceQueueArns is allowed only where redrivePermission is byQueue.")
        return RedriveAllowPolicy(str(permission))
    if not isinstance(sources, list) or not 1 <= len(sources) <= limits.REDRIVE_SOURCES_MAX:
        raise invalid_value(text, name, "sourceQueueArns must be a list of 1 to 10 queue ARNs.")
    if not all(_is_queue_arn(source) for source in sources):
        raise invalid_value(text, name, "sourceQueueArns must be a list of 1 to 10 queue ARNs.")
    return RedriveAllowPolicy("byQueue", tuple(sources))


def _json_map(text: str) -> dict[str, object] | None:
    try:
        document: object = load_json(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _whole_number(value: object) -> int:
    """Convert a policy's value (a number or a text) to a whole number; 0 if the value is not one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return (_digits(value) or 0) if isinstance(value, str) else 0


def _digits(text: str) -> int | None:
    """Convert digits to a number; None for other texts, and for numbers with more digits than SQS accepts."""
    return int(text) if len(text) <= _DIGITS_MAX and text.isascii() and text.isdigit() else None


def _is_queue_arn(value: object) -> bool:
    try:
        arn = Arn.parse(str(value))
    except ValueError:
        return False
    return arn.service == "sqs" and bool(arn.region and arn.account)


def _unknown_attribute(name: str) -> ServiceError:
    return ServiceError("InvalidAttributeName", f"Unknown Attribute {name}.")


def _of_fifo_queues(name: str) -> ServiceError:
    return ServiceError("InvalidAttributeName", f"You can specify the {name} only when FifoQueue is set to true.")


def _invalid_attribute(message: str) -> ServiceError:
    return ServiceError("InvalidAttributeValue", message)


_TEXTS: Mapping[str, Callable[[str], dict[str, object]]] = {
    "ContentBasedDeduplication": _content_deduplication,
    "DeduplicationScope": _deduplication_scope,
    "FifoQueue": _fifo,
    "FifoThroughputLimit": _throughput_limit,
    "KmsMasterKeyId": _kms_key,
    "Policy": lambda text: {"policy": text},
    "RedriveAllowPolicy": _redrive_allow,
    "RedrivePolicy": _redrive,
    "SqsManagedSseEnabled": _sqs_encryption,
}
