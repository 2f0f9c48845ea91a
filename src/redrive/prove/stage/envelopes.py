"""The messages of a queue as they are given: a body alone, or a record of an SQS event with its attributes."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.documents import Document, dump_json

SOURCE = "aws:sqs"
_GROUP = "MessageGroupId"
_DEDUPLICATION = "MessageDeduplicationId"
_SYSTEM = ("AWSTraceHeader",)
"""What a sender may set of the other attributes. Everything else (receive count, sender, times) is the queue's own."""
GROUP = "prove"
"""The group of messages of a FIFO queue that name none."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as its producer sends it. `attributes` and `system` are as SendMessage takes them."""

    body: str
    attributes: Mapping[str, Document] = field(default_factory=dict)
    system: Mapping[str, Document] = field(default_factory=dict)
    group: str = ""
    deduplication_id: str = ""

    @property
    def texts(self) -> str:
        """All that the producer says besides the body, as a text."""
        return "" if self == Message(self.body) else repr((self.attributes, self.group, self.deduplication_id))

    def as_sent(self, *, is_fifo: bool) -> Document:
        """The parameters of SendMessage besides the queue.

        In a FIFO queue a message without a deduplication id has the hash of its body as one, as content-based
        deduplication does. Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
        """
        sent: Document = {"MessageBody": self.body}
        if self.attributes:
            sent["MessageAttributes"] = dict(self.attributes)
        if self.system:
            sent["MessageSystemAttributes"] = dict(self.system)
        if is_fifo:
            digest = hashlib.sha256(self.body.encode()).hexdigest()
            sent |= {_GROUP: self.group or GROUP, _DEDUPLICATION: self.deduplication_id or digest}
        elif self.group:
            sent[_GROUP] = self.group
        return sent


def record_texts(records: list[Document]) -> tuple[str, ...]:
    """A text for each record of an SQS event: its body, or the record, if its producer has said more than the body."""
    return tuple(map(_text_of, records))


def read_message(text: str) -> Message:
    """The message of a text that `record_texts` has written; any other text is a body."""
    try:
        record = json.loads(text)
    except ValueError:
        return Message(text)
    if not isinstance(record, dict) or record.get("eventSource") != SOURCE or "body" not in record:
        return Message(text)
    own = record.get("attributes") or {}
    return Message(
        str(record["body"]),
        {name: _attribute(value) for name, value in (record.get("messageAttributes") or {}).items()},
        {name: {"DataType": "String", "StringValue": str(own[name])} for name in _SYSTEM if name in own},
        str(own.get(_GROUP, "")),
        str(own.get(_DEDUPLICATION, "")),
    )


def is_of_fifo(texts: tuple[str, ...]) -> bool:
    """Whether messages have groups: only a FIFO queue gives deduplication ids to a function, and groups to most."""
    return any(read_message(text).group for text in texts)


def _text_of(record: Document) -> str:
    own = record.get("attributes") or {}
    attributes = {name: own[name] for name in (_GROUP, _DEDUPLICATION, *_SYSTEM) if name in own}
    given = record.get("messageAttributes") or {}
    if not attributes and not given:
        return str(record["body"])
    return dump_json(
        {"eventSource": SOURCE, "body": str(record["body"]), "attributes": attributes, "messageAttributes": given}
    )


def _attribute(value: Document) -> Document:
    """A message attribute of an event as SendMessage takes it: binary values are base64 in events."""
    named = {name[:1].upper() + name[1:]: one for name, one in value.items()}
    made: Document = {"DataType": str(named.get("DataType", "String"))}
    if named.get("BinaryValue") is not None:
        made["BinaryValue"] = base64.b64decode(named["BinaryValue"])
    else:
        made["StringValue"] = str(named.get("StringValue", ""))
    return made
