"""Kinesis data streams that get the changes of a table: how they are stored and shown, and the records they get.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/kds.html
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.languages.dynamo import Item, dump_item, item_size
from redrive.services.dynamodb.model.stream_records import EVENT_SOURCE, Change, identity_of
from redrive.store.tables.items import ItemKey

MICROSECONDS_PER_MS = 1_000
DESTINATIONS_MAX = 2


class Precision(Enum):
    """The unit of the instants in records."""

    MILLISECOND = "MILLISECOND"
    MICROSECOND = "MICROSECOND"


@dataclass(frozen=True, slots=True)
class Destination:
    """A Kinesis data stream of a table. A destination that was disabled is still shown."""

    stream_arn: str
    is_active: bool = True
    precision: Precision | None = None
    """None: in milliseconds, because nothing else was asked for."""


def enabled(destinations: Sequence[Destination], stream_arn: str, precision: Precision | None) -> list[Destination]:
    """The destinations after enabling one. Errors: ResourceInUseException; LimitExceededException."""
    others = [each for each in destinations if each.stream_arn != stream_arn]
    if len(others) < len(destinations) and find_active(destinations, stream_arn) is not None:
        raise ServiceError(
            "ResourceInUseException",
            "Table is not in a valid state to enable Kinesis Streaming Destination: KinesisStreamingDestination must "
            "be DISABLED or ENABLE_FAILED to perform ENABLE operation.",
        )
    if sum(each.is_active for each in others) >= DESTINATIONS_MAX:
        raise ServiceError(
            "LimitExceededException", f"A table can have at most {DESTINATIONS_MAX} Kinesis streaming destinations."
        )
    return [*others, Destination(stream_arn, precision=precision)]


def changed(destinations: Sequence[Destination], destination: Destination) -> list[Destination]:
    """The destinations with another state of one of them, in their order."""
    return [destination if each.stream_arn == destination.stream_arn else each for each in destinations]


def find_active(destinations: Sequence[Destination], stream_arn: str) -> Destination | None:
    """The destination that is active with this ARN, or None."""
    return next((each for each in destinations if each.stream_arn == stream_arn and each.is_active), None)


def disabled(destination: Destination) -> Destination:
    """A destination that gets no more records."""
    return replace(destination, is_active=False)


def describe_destination(destination: Destination) -> Document:
    """A destination as DescribeKinesisStreamingDestination shows it."""
    described: Document = {
        "StreamArn": destination.stream_arn,
        "DestinationStatus": "ACTIVE" if destination.is_active else "DISABLED",
    }
    if destination.precision is not None:
        described["ApproximateCreationDateTimePrecision"] = destination.precision.value
    return described


def describe_configuration(precision: Precision | None) -> Document:
    """The settings in the answers of the operations that change them."""
    return {} if precision is None else {"ApproximateCreationDateTimePrecision": precision.value}


def partition_key(key: ItemKey) -> str:
    """The partition key of an item's records: the same for all of them, so they stay in order."""
    return hashlib.sha1(key.hash_key + b"\0" + key.range_key, usedforsecurity=False).hexdigest()


def write_event(
    destination: Destination, table_name: str, region: str, key_names: Sequence[str], change: Change, event_id: str,
    now: Instant,
) -> bytes:  # fmt: skip
    """The data of the record that tells a destination of a change: the key, and the item before and after it."""
    item = change.old if change.new is None else change.new
    assert item is not None, "a change has an item before or after it"
    parts: dict[str, Item] = {"Keys": {name: item[name] for name in key_names}}
    if change.new is not None:
        parts["NewImage"] = change.new
    if change.old is not None:
        parts["OldImage"] = change.old
    body = _body(parts, now, destination.precision)
    event: Document = {
        "awsRegion": region, "eventID": event_id, "eventName": change.name, "userIdentity": identity_of(change),
        "recordFormat": "application/json", "tableName": table_name, "dynamodb": body, "eventSource": EVENT_SOURCE,
    }  # fmt: skip
    return dump_json(event).encode()


def _body(parts: Mapping[str, Item], now: Instant, precision: Precision | None) -> Document:
    is_exact = precision is Precision.MICROSECOND
    body: Document = {"ApproximateCreationDateTime": now * MICROSECONDS_PER_MS if is_exact else now}
    # The codec of items writes binary values in base64.
    body |= {name: json.loads(dump_item(part)) for name, part in parts.items()}
    body["SizeBytes"] = sum(map(item_size, parts.values()))
    if precision is not None:
        body["ApproximateCreationDateTimePrecision"] = precision.value
    return body
