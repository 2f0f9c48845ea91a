"""Messages as they are sent and received: which content is allowed, sizes, MD5 digests, attributes.

A message without attributes needs no JSON, and no digest except the body's.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import ServiceError
from redrive.services.sqs import limits
from redrive.services.sqs.model.queue import Queue
from redrive.services.sqs.model.requests import (
    NOT_OF_THIS_QUEUE_TYPE,
    check_id,
    check_range,
    invalid_parameter,
    invalid_value,
)
from redrive.store.tables.messages import ReceivedMessage

ALL = "All"
TRACE_HEADER = "AWSTraceHeader"

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORBIDDEN_ASCII = bytes(code for code in range(0x20) if chr(code) not in "\t\n\r")
_ATTRIBUTE_NAME = re.compile(r"(?!(?i:aws|amazon)\.)(?!\.)(?!.*\.\.)[\w.-]*[\w-]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SEQUENCE_NUMBER_BASE = 18_731_952_846_173_905_152
_SEQUENCE_NUMBER_STEP = 256
_TRANSPORT = {"String": 1, "Number": 1, "Binary": 2}

SYSTEM_ATTRIBUTE_NAMES = frozenset(
    {
        "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "SequenceNumber",
        "MessageDeduplicationId", "MessageGroupId", TRACE_HEADER, "DeadLetterQueueSourceArn",
    }
)  # fmt: skip


class Draft(NamedTuple):
    """A checked message that can be sent. `size` is in bytes, as AWS counts it.

    Attributes are JSON text, None if there are none.
    """

    body: str
    body_md5: str
    size: int
    delay_s: int | None
    group_id: str | None
    deduplication_id: str | None = None
    attributes: str | None = None
    attributes_md5: str | None = None
    system_attributes: str | None = None
    system_attributes_md5: str | None = None


def draft_message(
    queue: Queue,
    body: str,
    *,
    delay_s: int | None,
    attributes: Mapping[str, Document] | None,
    system_attributes: Mapping[str, Document] | None,
    deduplication_id: str | None,
    group_id: str | None,
    trace_header: str = "",
) -> Draft:
    """Check everything about a message for this queue except its size.

    `trace_header` is the request's. A trace header among the message's system attributes takes precedence.
    Errors: InvalidMessageContents; InvalidParameterValueException; UnsupportedOperation.
    """
    if _has_forbidden(body):
        raise _invalid_contents(body)
    if delay_s is not None:
        check_range(delay_s, "DelaySeconds", 0, limits.DELAY_S_MAX, "DelaySeconds must be >= 0 and <= 900.")
    if group_id is not None:
        check_id(group_id, "MessageGroupId")
    content = body.encode()
    body_md5 = _md5(content)
    if queue.is_fifo:
        if delay_s:
            raise invalid_value(delay_s, "DelaySeconds", NOT_OF_THIS_QUEUE_TYPE)
        # A FIFO queue applies the same delay to all messages; a delay of 0 means the queue's delay.
        delay_s = None
        deduplication_id = _deduplication_id(queue, content, deduplication_id)
    elif deduplication_id is not None:
        raise invalid_value(deduplication_id, "MessageDeduplicationId", NOT_OF_THIS_QUEUE_TYPE)
    if not attributes and not system_attributes and not trace_header:
        return Draft(body, body_md5, len(content), delay_s, group_id, deduplication_id)
    given, given_system = attributes or {}, system_attributes or {}
    _check_attributes(given)
    _check_system_attributes(given_system)
    return Draft(
        body, body_md5, len(content) + _attributes_size(given), delay_s, group_id, deduplication_id,
        attributes=_store_attributes(given), attributes_md5=digest_attributes(given),
        system_attributes=_store_attributes(given_system or _traced(trace_header)),
        system_attributes_md5=digest_attributes(given_system),
    )  # fmt: skip


def check_batch_is_ordered(queue: Queue, entries: Sequence[Document]) -> None:
    """Refuse a batch for a FIFO queue if an entry has no group id or no deduplication id.

    Errors: InvalidParameterValueException.
    """
    for entry in entries:
        if entry.get("MessageGroupId") is None:
            raise invalid_parameter("The request must contain the parameter MessageGroupId.")
        if entry.get("MessageDeduplicationId") is None and not queue.attributes.is_deduplicated_by_content:
            raise _no_deduplication_id()


def digest_attributes(attributes: Mapping[str, Document]) -> str | None:
    """Return the MD5 of message attributes, in the encoding that AWS publishes; None if there are no attributes.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
    """
    if not attributes:
        return None
    parts: list[bytes] = []
    for name in sorted(attributes):
        data_type = attributes[name]["DataType"]
        transport = _TRANSPORT[data_type.split(".", 1)[0]]
        parts += (_prefixed(name.encode()), _prefixed(data_type.encode()), bytes([transport]))
        parts.append(_prefixed(_content(attributes[name])))
    return _md5(b"".join(parts))


def show_message(message: ReceivedMessage, handle: str, system_names: frozenset[str], names: Sequence[str]) -> Document:
    """A message as ReceiveMessage answers it, with the requested attributes."""
    shown: Document = {
        "MessageId": message.message_id,
        "ReceiptHandle": handle,
        "MD5OfBody": message.body_md5,
        "Body": message.body,
    }
    if system_names:
        shown["Attributes"] = _system_attributes(message, system_names)
    if names and message.attributes:
        chosen = select_attributes(_load_attributes(message.attributes), names)
        if chosen:
            shown["MessageAttributes"] = chosen
            shown["MD5OfMessageAttributes"] = digest_attributes(chosen)
    return shown


def sequence_number(seq: int) -> str:
    """Return the SequenceNumber of a message: 20 digits that grow in the order of sending.

    The number has no long run of zeros, because log scrubbers and snapshot tests would take that for an account id.
    """
    return str(_SEQUENCE_NUMBER_BASE + _SEQUENCE_NUMBER_STEP * seq)


def select_attributes(attributes: Mapping[str, Document], names: Sequence[str]) -> dict[str, Document]:
    """Return the attributes requested by name, by a prefix (`order.*`), or all of them (`All`, `.*`, `*`)."""
    if ALL in names or ".*" in names or "*" in names:
        return dict(attributes)
    prefixes = tuple(name.removesuffix(".*") for name in names if name.endswith(".*"))
    return {name: value for name, value in attributes.items() if name in names or name.startswith(prefixes)}


def select_system_names(*asked: Sequence[str] | None) -> frozenset[str]:
    """Return the system attributes that a receive requests. Errors: InvalidAttributeName."""
    names = frozenset(name for some in asked if some for name in some)
    if ALL in names:
        names |= SYSTEM_ATTRIBUTE_NAMES
    for name in names - SYSTEM_ATTRIBUTE_NAMES - {ALL}:
        raise ServiceError("InvalidAttributeName", f"Unknown Attribute {name}.")
    return names


def _system_attributes(message: ReceivedMessage, names: frozenset[str]) -> dict[str, str]:
    values: dict[str, str | None] = {
        "SenderId": message.sender_id,
        "ApproximateFirstReceiveTimestamp": str(message.first_received_at),
        "ApproximateReceiveCount": str(message.receive_count),
        "SentTimestamp": str(message.sent_at),
        "MessageGroupId": message.group_id,
        "MessageDeduplicationId": message.deduplication_id,
        "SequenceNumber": None if message.deduplication_id is None else sequence_number(message.seq),
        "DeadLetterQueueSourceArn": message.source_queue_arn,
    }
    if message.system_attributes:
        stored = _load_attributes(message.system_attributes)
        values[TRACE_HEADER] = stored[TRACE_HEADER]["StringValue"]
    return {name: value for name, value in values.items() if value is not None and name in names}


def _traced(trace_header: str) -> dict[str, Document]:
    """The system attributes of a message that was sent without any: only the trace header, if there is one."""
    return {TRACE_HEADER: {"DataType": "String", "StringValue": trace_header}} if trace_header else {}


def _deduplication_id(queue: Queue, content: bytes, given: str | None) -> str:
    """Return the id that identifies repeated sends: the given id, or the digest of the body."""
    if given is not None:
        check_id(given, "MessageDeduplicationId")
        return given
    if not queue.attributes.is_deduplicated_by_content:
        raise _no_deduplication_id()
    return hashlib.sha256(content).hexdigest()


def _invalid_contents(body: str) -> ServiceError:
    """The refusal of a body with a character that XML does not have; the first one is named."""
    found = _FORBIDDEN.search(body)
    assert found is not None, "only such a body is refused"
    return ServiceError(
        "InvalidMessageContents",
        f"Invalid binary character '#x{ord(found[0]):x}' was found in the message body, the set of allowed characters "
        "is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].",
    )


def _no_deduplication_id() -> ServiceError:
    return invalid_parameter(
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    )


def _check_attributes(attributes: Mapping[str, Document]) -> None:
    allowed = limits.MESSAGE_ATTRIBUTES_MAX
    if len(attributes) > allowed:
        raise invalid_parameter(
            f"Number of message attributes [{len(attributes)}] exceeds the allowed maximum [{allowed}]."
        )
    for name, attribute in attributes.items():
        if len(name) > limits.ATTRIBUTE_NAME_LENGTH_MAX or not _ATTRIBUTE_NAME.fullmatch(name):
            raise invalid_parameter(
                f"Message (user) attribute name '{name}' is invalid. It can be at most 256 characters long "
                "and contain only A-Z, a-z, 0-9, underscores, hyphens and single periods inside, "
                "and must not begin with AWS. or Amazon."
            )
        _check_attribute("message (user) attribute", name, attribute)


def _check_system_attributes(attributes: Mapping[str, Document]) -> None:
    for name, attribute in attributes.items():
        if name != TRACE_HEADER:
            raise invalid_parameter(f"Message system attribute name '{name}' is invalid.")
        if attribute.get("DataType") not in (None, "String"):
            raise invalid_parameter(f"The data type of message system attribute '{name}' must be String.")
        _check_attribute("message system attribute", name, attribute)


def _check_attribute(kind: str, name: str, attribute: Document) -> None:
    """Refuse an attribute whose value does not match its type."""
    if attribute.get("StringListValues") or attribute.get("BinaryListValues"):
        raise ServiceError(
            "UnsupportedOperation", "Message attribute list values in SendMessage operation are not supported."
        )
    data_type = attribute.get("DataType")
    if not data_type:
        raise invalid_parameter(f"The {kind} '{name}' must contain non-empty message attribute type.")
    base_type = data_type.split(".", 1)[0]
    if base_type not in _TRANSPORT or len(data_type) > limits.ATTRIBUTE_TYPE_LENGTH_MAX:
        raise invalid_parameter(
            f"The type of {kind} '{name}' is invalid. "
            "You must use only the following supported type prefixes: Binary, Number, String."
        )
    member = "BinaryValue" if base_type == "Binary" else "StringValue"
    value = attribute.get(member)
    if not value:
        raise invalid_parameter(f"{kind.capitalize()} '{name}' must contain a non-empty value of type '{base_type}'.")
    if base_type == "Number" and not _NUMBER.fullmatch(value):
        raise invalid_parameter(f"Can't cast the value of {kind} '{name}' to a number.")
    if base_type == "String" and _has_forbidden(value):
        raise invalid_parameter(f"{kind.capitalize()} '{name}' contains invalid characters.")


def _has_forbidden(text: str) -> bool:
    """Whether the text has a character that SQS forbids.

    For ASCII text, deleting those characters is the fastest search.
    """
    if text.isascii():
        content = text.encode()
        return len(content.translate(None, _FORBIDDEN_ASCII)) < len(content)
    return _FORBIDDEN.search(text) is not None


def _attributes_size(attributes: Mapping[str, Document]) -> int:
    """Sum the bytes of the name, type and value of each attribute."""
    return sum(
        len(name.encode()) + len(attribute["DataType"].encode()) + len(_content(attribute))
        for name, attribute in attributes.items()
    )


def _content(attribute: Document) -> bytes:
    if attribute["DataType"].startswith("Binary"):
        return bytes(attribute["BinaryValue"])
    return str(attribute["StringValue"]).encode()


def _store_attributes(attributes: Mapping[str, Document]) -> str | None:
    """Encode attributes as JSON text, with binary values in base64."""
    if not attributes:
        return None
    stored = {}
    for name, attribute in attributes.items():
        if attribute["DataType"].startswith("Binary"):
            value = {"BinaryValue": base64.b64encode(attribute["BinaryValue"]).decode()}
        else:
            value = {"StringValue": attribute["StringValue"]}
        stored[name] = {**value, "DataType": attribute["DataType"]}
    return dump_json(stored)


def _load_attributes(text: str) -> dict[str, Document]:
    """Decode the text that `_store_attributes` wrote."""
    attributes: dict[str, Document] = load_json(text)
    for attribute in attributes.values():
        if "BinaryValue" in attribute:
            attribute["BinaryValue"] = base64.b64decode(attribute["BinaryValue"])
    return attributes


def _prefixed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
