"""The records of streams: how a change is stored, and how readers see it.

A record is stored as JSON. Its parts are the item's images as the store keeps items, so an image is written once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.languages.dynamo import Item, dump_item, equal, item_size, load_item
from redrive.services.dynamodb.model.stream import Shard, ViewType
from redrive.store.tables.items import ItemKey
from redrive.store.tables.streams import NewStreamRecord, StreamRecord

EVENT_VERSION = "1.1"
EVENT_SOURCE = "aws:dynamodb"

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html
_EXPIRY_TYPE = "Service"
_EXPIRY_PRINCIPAL = "dynamodb.amazonaws.com"

_SERVICE_MEMBERS = {"type": "Type", "principal": "PrincipalId"}
_FUNCTION_MEMBERS = {"type": "type", "principal": "principalId"}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an item: created if `old` is None, deleted if `new` is None.

    `new_data` is what `dump_item` has made of `new`, if that is known. `is_expiry`: by its time to live.
    """

    key: ItemKey
    old: Item | None
    new: Item | None
    new_data: bytes | None = None
    is_expiry: bool = False

    @property
    def name(self) -> str:
        """The name of the event: INSERT, MODIFY or REMOVE."""
        if self.old is None:
            return "INSERT"
        return "REMOVE" if self.new is None else "MODIFY"

    @property
    def is_none(self) -> bool:
        """Whether the item is the same as before: then there is no record."""
        old, new = self.old, self.new
        if old is None or new is None or old == new:
            return old == new
        return old.keys() == new.keys() and all(equal(value, new[name]) for name, value in old.items())


def write_record(key_names: Iterable[str], view_type: ViewType, change: Change) -> NewStreamRecord:
    """The record of a change, as it is stored for streams of this type."""
    item = change.old if change.new is None else change.new
    assert item is not None, "a change has an item before or after it"
    parts: dict[str, Item] = {"k": {name: item[name] for name in key_names}}
    if change.new is not None and view_type.has_new:
        parts["n"] = change.new
    if change.old is not None and view_type.has_old:
        parts["o"] = change.old
    head = f'{{"e":"{change.name}"' + (',"t":1' if change.is_expiry else "")
    texts = [f',"{name}":'.encode() + _dumped(change, part) for name, part in parts.items()]
    return NewStreamRecord(partition_key_of(change.key), head.encode() + b"".join(texts) + b"}")


def partition_key_of(key: ItemKey) -> str:
    """A short text that is the same for all records of an item."""
    return hashlib.blake2b(key.range_key, digest_size=8, key=hashlib.blake2b(key.hash_key).digest()).hexdigest()


def describe_record(shard: Shard, record: StreamRecord) -> Document:
    """A record as GetRecords answers it."""
    stored: Document = dict(load_item(record.data))
    return _described(shard, record, stored, _size(stored), record.at // SECOND_MS * SECOND_MS, _SERVICE_MEMBERS)


def function_record(shard: Shard, record: StreamRecord) -> Document:
    """A record as functions get it: JSON, with binary values in base64, and instants in seconds."""
    stored = json.loads(record.data)
    size = _size(load_item(record.data) if b'"B' in record.data else stored)
    described = _described(shard, record, stored, size, record.at // SECOND_MS, _FUNCTION_MEMBERS)
    return {**described, "eventSourceARN": shard.stream.arn}


def record_images(record: StreamRecord) -> tuple[Item, Item | None]:
    """The key of a stored record, and the item before the change; None if there was none."""
    stored: Document = dict(load_item(record.data))
    return stored["k"], stored.get("o")


def identity_of(change: Change) -> Document | None:
    """Who made a change, as functions see it: the service, if an item has expired; otherwise nobody is named."""
    return _identity(_FUNCTION_MEMBERS) if change.is_expiry else None


def _identity(members: Mapping[str, str]) -> Document:
    return {members["type"]: _EXPIRY_TYPE, members["principal"]: _EXPIRY_PRINCIPAL}


def _described(
    shard: Shard, record: StreamRecord, stored: Mapping[str, object], size: int, created_at: int,
    members: Mapping[str, str],
) -> Document:  # fmt: skip
    body: Document = {"ApproximateCreationDateTime": created_at, "Keys": stored["k"]}
    if "n" in stored:
        body["NewImage"] = stored["n"]
    if "o" in stored:
        body["OldImage"] = stored["o"]
    body |= {
        "SequenceNumber": shard.number_of(record.seq), "SizeBytes": size,
        "StreamViewType": shard.stream.view_type.value,
    }  # fmt: skip
    described: Document = {
        "eventID": _event_id(shard, record.seq), "eventName": stored["e"], "eventVersion": EVENT_VERSION,
        "eventSource": EVENT_SOURCE, "awsRegion": shard.stream.scope.region, "dynamodb": body,
    }  # fmt: skip
    if "t" in stored:
        described["userIdentity"] = _identity(members)
    return described


def _size(stored: Document) -> int:
    """The size of a record: of its key and its images. Computed by readers, because writers are in a hurry."""
    return sum(item_size(stored[name]) for name in ("k", "n", "o") if name in stored)


def _dumped(change: Change, part: Item) -> bytes:
    return change.new_data if change.new_data is not None and part is change.new else dump_item(part)


def _event_id(shard: Shard, seq: int) -> str:
    return hashlib.blake2b(f"{shard.stored}/{seq}".encode(), digest_size=16).hexdigest()
