"""Check and parse the parameters that concern streams. Pure: instants are arguments."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.stream import Shard, Stream, ViewType, stream_name_of
from redrive.services.dynamodb.model.table import Table, invalid, invalid_parameter, not_found

_ITERATOR_VERSION = "1"


@dataclass(frozen=True, slots=True)
class ShardIterator:
    """A position in a shard: after the record with the number `after`."""

    stream_arn: str
    shard_id: str
    after: int
    issued_at: Instant


def read_specification(specification: Mapping[str, object] | None) -> ViewType | None:
    """The view type of a stream that a request enables; None to disable. Errors: ValidationException."""
    view_type = None if specification is None else specification.get("StreamViewType")
    if specification is None or not specification["StreamEnabled"]:
        if view_type is not None:
            raise invalid_parameter("StreamViewType cannot be specified when StreamEnabled is false")
        return None
    if view_type is None:
        raise invalid_parameter("StreamViewType is required when StreamEnabled is true")
    return ViewType(view_type)


def check_stream_change(table: Table, view_type: ViewType | None) -> None:
    """Refuse to enable an enabled stream, and to disable what is not enabled. Errors: ValidationException."""
    if view_type is not None and table.has_stream:
        raise invalid(f"Table already has an enabled stream: TableName: {table.name}")
    if view_type is None and not table.has_stream:
        raise invalid(f"Table has no stream to disable: TableName: {table.name}")


def read_stream_arn(text: str) -> tuple[Scope, str]:
    """The scope and the name of the stream with this ARN. Errors: ValidationException for any other text."""
    found = stream_name_of(text)
    if found is None:
        raise invalid(f"Invalid StreamArn: Invalid ResourceArn provided as input {text}")
    return found


def check_page_size(asked: int | None, most: int) -> int:
    """The size of a page. Errors: ValidationException if more than the most is asked for."""
    if asked is not None and asked > most:
        raise invalid(
            f"1 validation error detected: Value '{asked}' at 'limit' failed to satisfy constraint: "
            f"Member must have value less than or equal to {most}"
        )
    return asked or most


def stream_not_found(arn: str) -> ServiceError:
    """The error for a stream that does not exist."""
    return not_found(f"Stream: {arn} not found")


def shard_not_found(shard_id: str, stream: Stream) -> ServiceError:
    """The error for a shard that does not exist, or whose records have all expired."""
    return not_found(f"Shard: {shard_id} of stream: {stream.arn} not found")


def trimmed() -> ServiceError:
    """The error for a position before the oldest record."""
    return ServiceError("TrimmedDataAccessException", "The data you are trying to access has been trimmed.")


def write_iterator(shard: Shard, after: int, now: Instant) -> str:
    """The text of an iterator, which says all that it means."""
    text = f"{shard.id}:{after}:{now}"
    return f"{shard.stream.arn}|{_ITERATOR_VERSION}|{base64.b64encode(text.encode()).decode()}"


def read_iterator(text: str, now: Instant) -> ShardIterator:
    """Read an iterator. Errors: ValidationException; ExpiredIteratorException 15 minutes after it was issued."""
    try:
        arn, version, encoded = text.split("|")
        shard_id, after, issued_at = base64.b64decode(encoded, validate=True).decode("ascii").split(":")
        found = ShardIterator(arn, shard_id, int(after), int(issued_at))
    except ValueError:
        raise invalid("Invalid ShardIterator") from None
    is_ours = version == _ITERATOR_VERSION and 0 <= found.after < 1 << 62 and 0 <= found.issued_at <= now
    if not is_ours or stream_name_of(arn) is None:
        raise invalid("Invalid ShardIterator")
    if found.issued_at + limits.ITERATOR_MS <= now:
        raise ServiceError(
            "ExpiredIteratorException",
            "Iterator expired. The iterator was created more than 15 minutes ago; request a new one.",
        )
    return found


def check_starting_point(kind: str, number: str | None, timestamp: Instant | None, now: Instant) -> None:
    """Check that an iterator's type and its place fit together. Errors: ValidationException."""
    needs_number = kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
    if needs_number and number is None:
        raise invalid_parameter(f"SequenceNumber is required for ShardIteratorType {kind}")
    if not needs_number and number is not None:
        raise invalid_parameter(f"SequenceNumber cannot be specified for ShardIteratorType {kind}")
    if number is not None and not (number.isascii() and number.isdigit()):
        raise invalid_parameter(f"Invalid SequenceNumber: {number}")
    if kind == "AT_TIMESTAMP" and timestamp is None:
        raise invalid_parameter("Timestamp is required for ShardIteratorType AT_TIMESTAMP")
    if kind != "AT_TIMESTAMP" and timestamp is not None:
        raise invalid_parameter(f"Timestamp cannot be specified for ShardIteratorType {kind}")
    if timestamp is not None and timestamp > now:
        raise invalid_parameter("Timestamp cannot be in the future")
