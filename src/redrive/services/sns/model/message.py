"""Published messages: which are valid, and what is kept of them for their deliveries.

Source: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.services.sns import limits
from redrive.services.sns.model.requests import invalid, invalid_value
from redrive.services.sns.model.topic import Topic

_TYPES = ("Binary", "Number", "String")
_NAME_CHARACTER = re.compile(r"[A-Za-z0-9_.-]")
_ID = re.compile(rf"[!-~]{{1,{limits.ID_LENGTH_MAX}}}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked message of a request. `texts` has the texts of MessageStructure json by protocol."""

    text: str
    size: int
    subject: str | None = None
    attributes: Mapping[str, Document] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    dedup: str | None = None


def read_draft(topic: Topic | None, entry: Document) -> Draft:
    """Check a message for a topic; None for a phone. Errors: InvalidParameterException, InvalidParameterValueException.

    `entry` has the members of Publish or of an entry of PublishBatch.
    """
    text, subject = str(entry["Message"]), entry.get("Subject")
    if not text:
        raise invalid("Empty message")
    if subject is not None and not _is_subject(subject):
        raise invalid("Subject")
    attributes = read_attributes(entry.get("MessageAttributes") or {})
    size = len(text.encode()) + sum(map(_attribute_bytes, attributes.items()))
    if size > (limits.MESSAGE_BYTES_DEFAULT if topic is None else topic.bytes_max):
        raise invalid("Message too long")
    texts = _texts(text) if entry.get("MessageStructure") == "json" else {}
    if entry.get("MessageStructure") not in (None, "", "json"):
        raise invalid("MessageStructure")
    group, dedup = entry.get("MessageGroupId"), entry.get("MessageDeduplicationId")
    if topic is not None:
        dedup = _dedup_id(topic, text, group, dedup)
    return Draft(text, size, subject, attributes, texts, group, dedup)


def _dedup_id(topic: Topic, text: str, group: str | None, dedup: str | None) -> str | None:
    """The deduplication id of a message; None for a standard topic. Errors: InvalidParameterException."""
    if group is not None and not _ID.fullmatch(group):
        raise invalid("MessageGroupId Reason: The request includes MessageGroupId parameter that is not valid")
    if not topic.is_fifo:
        if dedup is not None:
            raise invalid(
                "MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not "
                "valid for this topic type"
            )
        return None
    if group is None:
        raise invalid("The MessageGroupId parameter is required for FIFO topics")
    if dedup is None:
        if not topic.is_deduplicated_by_content:
            raise invalid(
                "The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
                "explicitly"
            )
        return hashlib.sha256(text.encode()).hexdigest()
    if not _ID.fullmatch(dedup):
        raise invalid(
            "MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid"
        )
    return dedup


def read_attributes(given: Mapping[str, Document]) -> dict[str, Document]:
    """Message attributes in the form of envelopes: `{name: {Type, Value}}`, binary values in base64.

    Errors: InvalidParameterValueException; ValidationException (no data type).
    """
    read: dict[str, Document] = {}
    for number, (name, attribute) in enumerate(given.items(), start=1):
        _check_name(name)
        kind = attribute.get("DataType")
        if kind is None:
            message = (
                f"1 validation error detected: Value null at 'messageAttributes.{number}.member.dataType' failed to "
                "satisfy constraint: Member must not be null"
            )
            raise ServiceError("ValidationException", message)
        read[name] = {"Type": kind, "Value": _value(name, str(kind), attribute)}
    return read


def _value(name: str, kind: str, attribute: Document) -> str:
    what = f"The message attribute '{name}'"
    base = kind.split(".", 1)[0]
    if not kind:
        raise invalid_value(f"{what} must contain non-empty message attribute type.")
    if base not in _TYPES:
        raise invalid_value(
            f"{what} has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and "
            "String."
        )
    text, binary = attribute.get("StringValue"), attribute.get("BinaryValue")
    if not text and not binary:
        raise invalid_value(
            f"{what} must contain non-empty message attribute value for message attribute type '{kind}'."
        )
    if base == "Binary":
        if not binary:
            raise invalid_value(f"{what} with type '{kind}' must use field 'Binary'.")
        return base64.b64encode(binary).decode()
    if not text:
        raise invalid_value(f"{what} with type '{kind}' must use field 'String'.")
    if base == "Number" and not _is_number(text):
        raise invalid_value(f"Could not cast message attribute '{name}' value to number.")
    return str(text)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is not None


def _check_name(name: str) -> None:
    """Errors: InvalidParameterValueException."""
    if not name or len(name.encode()) > limits.ATTRIBUTE_NAME_LENGTH_MAX - 1:
        raise invalid_value("Length of message attribute name must be less than 256 bytes.")
    for character in name:
        if not _NAME_CHARACTER.fullmatch(character):
            raise invalid_value(
                f"Invalid non-alphanumeric character '#x{ord(character):X}' was found in the message attribute name. "
                "Can only include alphanumeric characters, hyphens, underscores, or dots."
            )
    if name.startswith("."):
        raise invalid_value("Invalid message attribute name starting with character '.' was found.")
    if name.endswith("."):
        raise invalid_value("Invalid message attribute name ending with character '.' was found.")
    if ".." in name:
        raise invalid_value("Message attribute name can not have successive '.' character.")


def _attribute_bytes(item: tuple[str, Document]) -> int:
    name, attribute = item
    value = attribute["Value"]
    is_binary = str(attribute["Type"]).startswith("Binary")
    size = len(base64.b64decode(value)) if is_binary else len(value.encode())
    return len(name.encode()) + len(attribute["Type"].encode()) + size


def _is_subject(subject: str) -> bool:
    return 0 < len(subject) <= limits.SUBJECT_LENGTH_MAX and all(
        ord(character) >= ord(" ") and ord(character) != 0x7F for character in subject
    )


def _texts(text: str) -> dict[str, str]:
    """The texts by protocol. Errors: InvalidParameterException."""
    try:
        given = load_json(text)
    except ValueError:
        raise invalid("Message Structure - JSON message body failed to parse") from None
    if not isinstance(given, dict):
        raise invalid("Message Structure - JSON message body failed to parse")
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    if "default" not in texts:
        raise invalid("Message Structure - No default entry in JSON message body")
    return texts


def stamp(at: Instant) -> str:
    """An instant as SNS writes it, always with milliseconds: 2026-01-02T03:04:05.000Z."""
    return f"{format_instant(at - at % SECOND_MS).removesuffix('Z')}.{at % SECOND_MS:03}Z"


def message_document(
    draft: Draft, *, message_id: str, topic_arn: str, at: Instant, sequence: str = "", host: str = ""
) -> Document:  # fmt: skip
    """What the deliveries of a message share."""
    document: Document = {"id": message_id, "topic": topic_arn, "at": stamp(at), "text": draft.text}
    optional: Document = {
        "subject": draft.subject, "attributes": dict(draft.attributes), "texts": dict(draft.texts),
        "group": draft.group, "dedup": draft.dedup, "sequence": sequence, "host": host,
    }  # fmt: skip
    return document | {name: value for name, value in optional.items() if value}
