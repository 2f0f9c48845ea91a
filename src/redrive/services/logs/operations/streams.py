"""The operations on log streams."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs import limits
from redrive.services.logs.model.group import (
    LogGroup,
    LogStream,
    group_name_of,
    invalid_parameter,
    no_such_stream,
    policy_arn,
    stream_key,
)
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.services.logs.operations.groups import check_unprotected, existing_group
from redrive.services.logs.permissions import service_policy
from redrive.store.api import Transaction
from redrive.store.tables.resources import PAGE_MAX

BY_NAME = "LogStreamName"
BY_TIME = "LastEventTime"


@operation("CreateLogStream")
def create_log_stream(tx: Transaction, caller: Caller, *, log_group_name: str, log_stream_name: str) -> Document:
    """Create an empty log stream in a group.

    Errors: ResourceNotFoundException (no such group); ResourceAlreadyExistsException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogStream.html
    """
    arn = policy_arn(caller.scope, log_group_name, log_stream_name)
    tx.services.authorize(tx, caller, "logs:CreateLogStream", arn, policy=service_policy(tx, caller))
    group = existing_group(tx, caller, log_group_name)
    if tx.resources.get(LogStream, caller.scope, stream_key(group.id, log_stream_name)) is not None:
        raise ServiceError("ResourceAlreadyExistsException", "The specified log stream already exists")
    tx.resources.put(caller.scope, LogStream(group.id, log_stream_name, created_at=tx.now))
    return {}


@operation("DeleteLogStream")
def delete_log_stream(tx: Transaction, caller: Caller, *, log_group_name: str, log_stream_name: str) -> Document:
    """Delete a log stream with its events.

    Errors: ResourceNotFoundException; ValidationException if the group is protected from deletion.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteLogStream.html
    """
    arn = policy_arn(caller.scope, log_group_name, log_stream_name)
    tx.services.authorize(tx, caller, "logs:DeleteLogStream", arn)
    group = existing_group(tx, caller, log_group_name)
    stream = existing_stream(tx, caller, group, log_stream_name)
    check_unprotected(group)
    tx.log_events.delete_stream(group.id, stream.stream_name)
    tx.resources.delete(LogStream, caller.scope, stream.name)
    tx.resources.put(caller.scope, replace(group, stored_bytes=group.stored_bytes - stream.stored_bytes))
    return {}


@operation("DescribeLogStreams")
def describe_log_streams(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str | None = None,
    log_group_identifier: str | None = None,
    log_stream_name_prefix: str | None = None,
    order_by: str | None = None,
    descending: bool | None = None,
    next_token: str | None = None,
    limit: int | None = None,
) -> Document:
    """List the streams of a group by name, or by the time of their last event. Streams without events sort as oldest.

    Errors: ResourceNotFoundException; InvalidParameterException (a prefix together with the order by time, an invalid
    token).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeLogStreams.html
    """
    name = group_name_of(caller.scope, log_group_name, log_group_identifier)
    tx.services.authorize(tx, caller, "logs:DescribeLogStreams", policy_arn(caller.scope, name))
    by_time = order_by == BY_TIME
    if by_time and log_stream_name_prefix is not None:
        raise invalid_parameter("Cannot order by LastEventTime with a logStreamNamePrefix.")
    group = existing_group(tx, caller, name)
    streams = streams_of(tx, caller, group, log_stream_name_prefix or "")
    keyed = sorted(
        ((_key(stream, by_time=by_time), stream) for stream in streams), key=_first, reverse=bool(descending)
    )
    if next_token is not None:
        last = _read_key(next_token)
        keyed = [(key, stream) for key, stream in keyed if (key < last if descending else key > last)]
    page = keyed[: limit or limits.DESCRIBED_MAX]
    arn = group.arn(caller.scope)
    return {
        "logStreams": [stream.described(arn) for _, stream in page],
        "nextToken": list_token(*page[-1][0]) if len(keyed) > len(page) else None,
    }


def existing_stream(tx: Transaction, caller: Caller, group: LogGroup, name: str) -> LogStream:
    """Return the stream with this name. Errors: ResourceNotFoundException."""
    stream = tx.resources.get(LogStream, caller.scope, stream_key(group.id, name))
    if stream is None:
        raise no_such_stream()
    return stream


def streams_of(tx: Transaction, caller: Caller, group: LogGroup, prefix: str) -> list[LogStream]:
    """Return all streams of a group with this prefix, sorted by name."""
    found: list[LogStream] = []
    after, wanted = "", stream_key(group.id, prefix)
    while page := tx.resources.list(LogStream, caller.scope, prefix=wanted, after=after, limit=PAGE_MAX):
        found += page
        after = page[-1].name
    return found


def _key(stream: LogStream, *, by_time: bool) -> tuple[int, str]:
    return (stream.last_event_at or 0) if by_time else 0, stream.stream_name


def _first(keyed: tuple[tuple[int, str], LogStream]) -> tuple[int, str]:
    return keyed[0]


def _read_key(token: str) -> tuple[int, str]:
    match read_list_token(token):
        case [int() as at, str() as name]:
            return at, name
        case _:
            raise invalid_parameter("The specified nextToken is invalid.")
