"""The operations on log events: write, read a stream, search a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from redrive.core.clock import DAY_MS
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.worker import will_age
from redrive.languages.log_filter import Filter, MalformedFilter, parse_filter
from redrive.services.logs import limits
from redrive.services.logs.filtering import filter_events
from redrive.services.logs.model.batch import Batch, event_bytes, rejected_entity, sort_out
from redrive.services.logs.model.embedded_metrics import embedded_metrics
from redrive.services.logs.model.group import LogGroup, LogStream, group_name_of, invalid_parameter, policy_arn
from redrive.services.logs.model.tokens import Position, event_id, read_position
from redrive.services.logs.operations.groups import existing_group
from redrive.services.logs.operations.streams import existing_stream, streams_of
from redrive.services.logs.permissions import service_policy
from redrive.services.logs.retention import RETENTION
from redrive.services.logs.transforming import transformed
from redrive.store.api import Transaction
from redrive.store.tables.log_events import END_OF_TIME, LogEvent, NewLogEvent, Place


@operation("PutLogEvents")
def put_log_events(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str,
    log_stream_name: str,
    log_events: Sequence[Document],
    sequence_token: str | None = None,  # noqa: ARG001 -- AWS takes sequence tokens and ignores them.
    entity: Document | None = None,
) -> Document:
    """Write a batch of events to a stream. Events that are too old, expired or too new are left out.

    Metrics embedded in events are published to CloudWatch.

    Errors: ResourceNotFoundException; InvalidParameterException (too large, not sorted by time, over 24 hours long).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
    """
    arn = policy_arn(caller.scope, log_group_name, log_stream_name)
    tx.services.authorize(tx, caller, "logs:PutLogEvents", arn, policy=service_policy(tx, caller))
    group = existing_group(tx, caller, log_group_name)
    stream = existing_stream(tx, caller, group, log_stream_name)
    batch = sort_out(log_events, now=tx.now, kept_since=group.kept_since(tx.now))
    if batch.accepted:
        made = transformed(tx, caller.scope, group, stream.stream_name, batch.accepted)
        stream = _store(tx, caller, group, stream, batch, made)
        _publish_metrics(tx, caller, batch)
        filter_events(tx, caller.scope, group, stream.stream_name, batch.accepted, made)
    return {
        "nextSequenceToken": stream.next_token,
        "rejectedLogEventsInfo": batch.rejected,
        "rejectedEntityInfo": rejected_entity(entity),
    }


@operation("GetLogEvents")
def get_log_events(
    tx: Transaction,
    caller: Caller,
    *,
    log_stream_name: str,
    log_group_name: str | None = None,
    log_group_identifier: str | None = None,
    start_time: int | None = None,
    end_time: int | None = None,
    next_token: str | None = None,
    limit: int | None = None,
    start_from_head: bool | None = None,
    unmask: bool | None = None,
) -> Document:
    """Read a stream from its end or from its head; each page is sorted by time.

    The answer always has both tokens. If a token comes back unchanged, the reader has reached that end of the stream.
    The same token later finds newer events.

    Errors: ResourceNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogEvents.html
    """
    name = group_name_of(caller.scope, log_group_name, log_group_identifier)
    _authorize_reading(tx, caller, "logs:GetLogEvents", policy_arn(caller.scope, name, log_stream_name), unmask)
    group = existing_group(tx, caller, name)
    stream = existing_stream(tx, caller, group, log_stream_name)
    start, end = start_time or 0, END_OF_TIME if end_time is None else end_time
    if next_token is not None:
        position = read_position(next_token)
    else:
        position = Position(Place(start, 0) if start_from_head else Place(end, 0), is_forward=bool(start_from_head))
    events = _page_of_stream(tx, stream, position, start=start, end=end, limit=limit or limits.PAGE_EVENTS_MAX)
    if events:
        first, last = events[0].before, events[-1].after
    else:
        first = last = position.place if next_token is not None else Place(start, 0)
    return {
        "events": [_shown(event) for event in events],
        "nextForwardToken": str(Position(last, is_forward=True)),
        "nextBackwardToken": str(Position(first, is_forward=False)),
    }


@operation("FilterLogEvents")
def filter_log_events(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str | None = None,
    log_group_identifier: str | None = None,
    log_stream_names: Sequence[str] | None = None,
    log_stream_name_prefix: str | None = None,
    start_time: int | None = None,
    end_time: int | None = None,
    filter_pattern: str | None = None,
    next_token: str | None = None,
    limit: int | None = None,
    start_from_head: bool | None = None,
    interleaved: bool | None = None,  # noqa: ARG001 -- since 2019, AWS interleaves whatever is said here.
    unmask: bool | None = None,
) -> Document:
    """Search a group, with all its streams interleaved. A page may be short or empty, and still have a token.

    Errors: ResourceNotFoundException (no such group, no such stream); InvalidParameterException (names together with a
    prefix, an invalid pattern, an invalid token, newest first before 2024).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html
    """
    name = group_name_of(caller.scope, log_group_name, log_group_identifier)
    _authorize_reading(tx, caller, "logs:FilterLogEvents", policy_arn(caller.scope, name), unmask)
    group = existing_group(tx, caller, name)
    streams = _searched(tx, caller, group, log_stream_names, log_stream_name_prefix)
    wanted = _filter(filter_pattern or "")
    start, end = start_time or 0, END_OF_TIME if end_time is None else min(end_time + 1, END_OF_TIME)
    if next_token is not None:
        position = read_position(next_token)
    else:
        is_forward = start_from_head is not False
        if not is_forward and start_time is not None and start_time < limits.DESCENDING_FROM_AT:
            raise invalid_parameter("startFromHead can be false only if startTime is 2024-01-01T00:00:00Z or later.")
        position = Position(Place(start, 0) if is_forward else Place(end, 0), is_forward)
    found, stopped = _search(
        tx,
        group,
        position,
        start=start,
        end=end,
        limit=limit or limits.PAGE_EVENTS_MAX,
        streams=streams,
        wanted=wanted,
    )
    events = [{"logStreamName": event.stream, **_shown(event), "eventId": event_id(event.after)} for event in found]
    return {"events": events, "searchedLogStreams": [], "nextToken": None if stopped is None else str(stopped)}


def _publish_metrics(tx: Transaction, caller: Caller, batch: Batch) -> None:
    """Publish the metrics embedded in events. The service does this itself, so the caller needs no permission for it.

    Metrics that CloudWatch refuses are left out; the events are still written.
    """
    service = Caller(caller.scope, caller.request_id)
    for event in batch.accepted:
        for namespace, data in embedded_metrics(event["message"]):
            try:
                tx.services.call(
                    tx, service, "cloudwatch", "PutMetricData", {"Namespace": namespace, "MetricData": data}
                )
            except ServiceError:
                continue


def _store(
    tx: Transaction, caller: Caller, group: LogGroup, stream: LogStream, batch: Batch, made: Sequence[str | None]
) -> LogStream:
    """Write the accepted events with what they became, and update the stream and the group."""
    events = [
        NewLogEvent(group.id, stream.stream_name, event["timestamp"], tx.now, event["message"])
        for event in batch.accepted
    ]
    if made:
        tx.log_events.put_transformed(events, made)
    else:
        tx.log_events.put_many(events)
    if group.kept_days is not None:
        will_age(tx, RETENTION, events[0].at + group.kept_days * DAY_MS)
    size, first, last = batch.bytes, events[0].at, events[-1].at
    stream = replace(
        stream,
        first_event_at=first if stream.first_event_at is None else min(first, stream.first_event_at),
        last_event_at=last if stream.last_event_at is None else max(last, stream.last_event_at),
        ingested_at=tx.now,
        stored_bytes=stream.stored_bytes + size,
        uploads=stream.uploads + 1,
    )
    tx.resources.put(caller.scope, stream)
    tx.resources.put(caller.scope, replace(group, stored_bytes=group.stored_bytes + size))
    return stream


def _authorize_reading(tx: Transaction, caller: Caller, action: str, arn: str, unmask: bool | None) -> None:
    tx.services.authorize(tx, caller, action, arn)
    if unmask:
        tx.services.authorize(tx, caller, "logs:Unmask", arn)


def _page_of_stream(
    tx: Transaction, stream: LogStream, position: Position, *, start: int, end: int, limit: int
) -> list[LogEvent]:
    """Return the events of one page, sorted by time, as many as fit."""
    if position.is_forward:
        place = max(position.place, Place(start, 0))
        events = tx.log_events.after(stream.group_id, place, stream=stream.stream_name, end=end, limit=limit)
        return _fitting(events)
    place = min(position.place, Place(end, 0))
    events = tx.log_events.until(stream.group_id, place, stream=stream.stream_name, start=start, limit=limit)
    return _fitting(events)[::-1]


def _fitting(events: Iterable[LogEvent]) -> list[LogEvent]:
    """Return the first events that fit into a page's size; at least one."""
    fitting: list[LogEvent] = []
    size = 0
    for event in events:
        size += event_bytes(event.message)
        if size > limits.PAGE_BYTES_MAX and fitting:
            break
        fitting.append(event)
    return fitting


def _searched(
    tx: Transaction, caller: Caller, group: LogGroup, names: Sequence[str] | None, prefix: str | None
) -> frozenset[str] | None:
    """Return the names of the streams to search; None for all.

    Errors: ResourceNotFoundException; InvalidParameterException.
    """
    if names is not None and prefix is not None:
        raise invalid_parameter("logStreamNames and logStreamNamePrefix cannot both be specified.")
    if names is not None:
        return frozenset(existing_stream(tx, caller, group, name).stream_name for name in names)
    if prefix is not None:
        return frozenset(stream.stream_name for stream in streams_of(tx, caller, group, prefix))
    return None


def _filter(pattern: str) -> Filter:
    try:
        return parse_filter(pattern)
    except MalformedFilter as error:
        raise invalid_parameter(f"Invalid filter pattern: {error}") from error


def _search(
    tx: Transaction,
    group: LogGroup,
    position: Position,
    *,
    start: int,
    end: int,
    limit: int,
    streams: frozenset[str] | None,
    wanted: Filter,
) -> tuple[list[LogEvent], Position | None]:
    """Return matching events from a position on, and the position where the search stopped; None at the end.

    A limit on the events, and on the characters times the weight of the filter, keeps the wait of other requests short.
    """
    found: list[LogEvent] = []
    size = scanned = weight = 0
    place = position.place
    only = next(iter(streams)) if streams is not None and len(streams) == 1 else None
    if position.is_forward:
        events = tx.log_events.after(group.id, place, stream=only, end=end, limit=limits.SCANNED_EVENTS_MAX)
    else:
        events = tx.log_events.until(group.id, place, stream=only, start=start, limit=limits.SCANNED_EVENTS_MAX)
    for event in events:
        if weight >= limits.SCANNED_WEIGHT_MAX:
            return found, Position(place, position.is_forward)
        if (streams is None or event.stream in streams) and wanted.matches(event.message):
            size += event_bytes(event.message)
            if len(found) == limit or (found and size > limits.PAGE_BYTES_MAX):
                return found, Position(place, position.is_forward)
            found.append(event)
        place = event.after if position.is_forward else event.before
        scanned += 1
        weight += len(event.message) * wanted.weight
    return found, None if scanned < limits.SCANNED_EVENTS_MAX else Position(place, position.is_forward)


def _shown(event: LogEvent) -> Document:
    return {"timestamp": event.at, "message": event.message, "ingestionTime": event.ingested_at}
