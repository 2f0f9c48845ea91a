"""The operations on queries of Logs Insights."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.worker import will_age
from redrive.languages.insights import (
    RESULTS_MAX,
    MalformedQuery,
    Query,
    Row,
    SearchedEvent,
    Source,
    compile_query,
    names_found,
    read_pointer,
)
from redrive.services.logs import limits
from redrive.services.logs.model.group import LogGroup, group_name_of, invalid_parameter, no_such_group, policy_arn
from redrive.services.logs.model.query import (
    TIMER,
    LogQuery,
    QueryStatus,
    blob_name,
    malformed,
    shown_rows,
    timer_name,
)
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.services.logs.operations.groups import existing_group
from redrive.services.logs.query_retention import QUERY_RETENTION
from redrive.services.logs.searching import unpacked
from redrive.store.api import Transaction
from redrive.store.tables.log_events import END_OF_TIME, LogEvent, Place
from redrive.store.tables.resources import PAGE_MAX

_FIELDS_LOOKED_AT_MAX = 500
_FIELDS_WINDOW_MS = 8 * 60 * SECOND_MS


@operation("StartQuery")
def start_query(
    tx: Transaction,
    caller: Caller,
    *,
    start_time: int,
    end_time: int,
    query_string: str,
    query_language: str | None = None,
    log_group_name: str | None = None,
    log_group_names: Sequence[str] | None = None,
    log_group_identifiers: Sequence[str] | None = None,
    limit: int | None = None,
) -> Document:
    """Start a query over the events of log groups from `start_time` to `end_time`, seconds, both included.

    Errors: MalformedQueryException, with the place of the error; InvalidParameterException (groups named in two ways or
    none, another language, an end before the start); ResourceNotFoundException; LimitExceededException (30 at once).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartQuery.html
    """
    if query_language not in (None, "CWLI"):
        message = f"redrive runs queries in Logs Insights QL (CWLI); {query_language} is not served."
        raise invalid_parameter(message)
    query = _compiled(tx, query_string)
    names = _group_names(tx, caller, query.source, log_group_name, log_group_names, log_group_identifiers)
    for name in names:
        tx.services.authorize(tx, caller, "logs:StartQuery", policy_arn(caller.scope, name))
        if tx.resources.get(LogGroup, caller.scope, name) is None:
            message = f"Log group '{name}' does not exist for account ID '{caller.account}'"
            raise ServiceError("ResourceNotFoundException", message)
    if end_time < start_time:
        raise invalid_parameter("The end time of a query is not before its start time.")
    if tx.services.limits is Limits.STRICT and _active(tx) >= limits.QUERIES_MAX:
        message = f"Account maximum query concurrency limit of [{limits.QUERIES_MAX}] reached."
        raise ServiceError("LimitExceededException", message)
    stored = LogQuery(
        id=new_uuid(tx.entropy), text=query_string, group_names=names, start=start_time * SECOND_MS,
        end=end_time * SECOND_MS + SECOND_MS - 1, limit=limit or RESULTS_MAX, created_at=tx.now,
        caller=caller.principal_arn,
    )  # fmt: skip
    tx.resources.put(caller.scope, stored)
    tx.timers.set(TIMER, timer_name(caller.scope, stored.id), tx.now)
    tx.notify("due")
    return {"queryId": stored.id}


@operation("GetQueryResults")
def get_query_results(
    tx: Transaction, caller: Caller, *, query_id: str, next_token: str | None = None, max_items: int | None = None
) -> Document:
    """Show where a query stands, and what it has found once it is complete.

    Errors: ResourceNotFoundException; InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetQueryResults.html
    """
    query = _existing(tx, caller, "logs:GetQueryResults", query_id)
    at = 0 if next_token is None else int(read_list_token(next_token)[0])
    page, offset = divmod(at, limits.QUERY_RESULTS_PAGE)
    packed = tx.blobs.get(blob_name(query.id, page)) if query.result_count > at else None
    size = max_items or limits.QUERY_RESULTS_PAGE
    rows = unpacked(packed)[offset : offset + size] if packed is not None else []
    until = at + len(rows)
    return {
        "queryLanguage": "CWLI",
        "results": shown_rows(rows),
        "statistics": query.statistics,
        "status": query.status.value,
        "nextToken": list_token(until) if rows and until < query.result_count else None,
    }


@operation("StopQuery")
def stop_query(tx: Transaction, caller: Caller, *, query_id: str) -> Document:
    """Cancel a query that has not ended.

    Errors: ResourceNotFoundException; InvalidParameterException for a query that has ended.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StopQuery.html
    """
    query = _existing(tx, caller, "logs:StopQuery", query_id)
    if query.status.has_ended:
        raise invalid_parameter(f"The query {query_id} has ended: its status is {query.status.value}.")
    tx.resources.put(caller.scope, query.ended_as(QueryStatus.CANCELLED, tx.now))
    tx.timers.clear(TIMER, timer_name(caller.scope, query.id))
    will_age(tx, QUERY_RETENTION, query.created_at + limits.QUERY_KEPT_MS)
    return {"success": True}


@operation("DescribeQueries")
def describe_queries(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str | None = None,
    status: str | None = None,
    max_results: int | None = None,
    next_token: str | None = None,
    query_language: str | None = None,
) -> Document:
    """List the queries of the last week, the latest first.

    Errors: InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeQueries.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeQueries", "*")
    after = None if next_token is None else read_list_token(next_token)
    found = [
        query
        for query in tx.resources.list(LogQuery, caller.scope, limit=PAGE_MAX)
        if log_group_name in (None, *query.group_names)
        and status in (None, query.status.value)
        and query_language in (None, "CWLI")
    ]
    found.sort(key=lambda query: (-query.created_at, query.id))
    if after is not None:
        last_at, last_id = after[0], str(after[-1])
        found = [query for query in found if (-query.created_at, query.id) > (int(last_at), last_id)]
    size = max_results or 1_000
    page = found[:size]
    shown = [
        query.described(log_group_name or next(iter(query.group_names), ""), tx.now) for query in page
    ]  # fmt: skip
    token = list_token(-page[-1].created_at, page[-1].id) if len(found) > size else None
    return {"queries": shown, "nextToken": token}


@operation("ListLogGroupsForQuery")
def list_log_groups_for_query(
    tx: Transaction, caller: Caller, *, query_id: str, next_token: str | None = None, max_results: int | None = None
) -> Document:
    """List the log groups that a query reads.

    Errors: ResourceNotFoundException; InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_ListLogGroupsForQuery.html
    """
    query = _existing(tx, caller, "logs:ListLogGroupsForQuery", query_id)
    at = 0 if next_token is None else int(read_list_token(next_token)[0])
    until = at + (max_results or limits.DESCRIBED_MAX)
    return {
        "logGroupIdentifiers": list(query.group_names[at:until]),
        "nextToken": list_token(until) if until < len(query.group_names) else None,
    }


@operation("GetLogRecord")
def get_log_record(tx: Transaction, caller: Caller, *, log_record_pointer: str, unmask: bool | None = None) -> Document:
    """Show all fields of the event that a row's `@ptr` identifies.

    Errors: InvalidParameterException (no pointer); ResourceNotFoundException (the event is gone).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogRecord.html
    """
    pointed = read_pointer(log_record_pointer)
    if pointed is None:
        raise invalid_parameter("The log record pointer is invalid.")
    _, _, name = pointed.log.partition(":")
    tx.services.authorize(tx, caller, "logs:GetLogRecord", policy_arn(caller.scope, name))
    if unmask:
        tx.services.authorize(tx, caller, "logs:Unmask", policy_arn(caller.scope, name))
    group = existing_group(tx, caller, name)
    event = _event_at(tx, group, Place(pointed.at, pointed.seq))
    if event is None or pointed.log != f"{caller.account}:{name}":
        raise ServiceError("ResourceNotFoundException", "The log record does not exist any more.")
    return {"logRecord": _fields_of(event, pointed.log, log_record_pointer)}


@operation("GetLogGroupFields")
def get_log_group_fields(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str | None = None,
    time: int | None = None,
    log_group_identifier: str | None = None,
) -> Document:
    """List the fields of a group's recent events: in how many percent of them each is.

    Looks at the 15 minutes before now, or at the 8 minutes before and after `time`, seconds; at 500 events at most.

    Errors: ResourceNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogGroupFields.html
    """
    name = group_name_of(caller.scope, log_group_name, log_group_identifier)
    tx.services.authorize(tx, caller, "logs:GetLogGroupFields", policy_arn(caller.scope, name))
    group = existing_group(tx, caller, name)
    until = tx.now if time is None else time * SECOND_MS + _FIELDS_WINDOW_MS
    since = until - 2 * _FIELDS_WINDOW_MS + (60 * SECOND_MS if time is None else 0)
    events = list(tx.log_events.until(group.id, Place(until + 1, 0), start=since, limit=_FIELDS_LOOKED_AT_MAX))
    counts: dict[str, int] = {}
    for event in events:
        for field in names_found(Row(SearchedEvent(event.at, event.message, transformed=event.transformed))):
            counts[field] = counts.get(field, 0) + 1
    shown = [{"name": field, "percent": round(100 * count / len(events))} for field, count in counts.items()]
    return {"logGroupFields": sorted(shown, key=lambda field: (-field["percent"], field["name"]))}


def _compiled(tx: Transaction, text: str) -> Query:
    try:
        return compile_query(text, now=tx.now)
    except MalformedQuery as error:
        raise malformed(error) from error


def _group_names(
    tx: Transaction, caller: Caller, source: Source | None, name: str | None, names: Sequence[str] | None,
    identifiers: Sequence[str] | None,
) -> tuple[str, ...]:  # fmt: skip
    """The names of the groups to read. Errors: InvalidParameterException; ResourceNotFoundException."""
    given = [one for one in (None if name is None else [name], names, identifiers) if one]
    if source is not None:
        if given:
            raise invalid_parameter("Log groups are named either by SOURCE in the query or by a parameter.")
        return _groups_of(tx, caller, source)
    if len(given) != 1:
        raise invalid_parameter("Exactly one of logGroupName, logGroupNames and logGroupIdentifiers must be specified.")
    if len(given[0]) > limits.QUERY_GROUPS_MAX:
        raise invalid_parameter(f"A query reads at most {limits.QUERY_GROUPS_MAX} log groups.")
    if identifiers:
        return tuple(dict.fromkeys(group_name_of(caller.scope, None, one) for one in identifiers))
    return tuple(dict.fromkeys(given[0]))


def _groups_of(tx: Transaction, caller: Caller, source: Source) -> tuple[str, ...]:
    """The groups that a SOURCE names. Errors: ResourceNotFoundException if there are none."""
    if source.names:
        return tuple(group_name_of(caller.scope, None, one) for one in source.names)
    if source.accounts and caller.account not in source.accounts:
        raise no_such_group()
    found = [
        group.name
        for group in tx.resources.list(LogGroup, caller.scope, limit=PAGE_MAX)
        if (not source.prefixes or group.name.startswith(source.prefixes))
        and source.group_class.upper() in ("", group.group_class.value)
    ]
    if not found:
        raise no_such_group()
    return tuple(found)


def _active(tx: Transaction) -> int:
    """How many queries wait or run."""
    return len(tx.timers.due(TIMER, END_OF_TIME, limits.QUERIES_MAX))


def _existing(tx: Transaction, caller: Caller, action: str, query_id: str) -> LogQuery:
    """The query with this id. Errors: ResourceNotFoundException."""
    tx.services.authorize(tx, caller, action, "*")
    query = tx.resources.get(LogQuery, caller.scope, query_id)
    if query is None:
        raise ServiceError("ResourceNotFoundException", f"The query {query_id} does not exist.")
    return query


def _event_at(tx: Transaction, group: LogGroup, place: Place) -> LogEvent | None:
    event = next(tx.log_events.until(group.id, place, limit=1), None)
    return event if event is not None and event.after == place else None


def _fields_of(event: LogEvent, log: str, pointer: str) -> Document:
    """All fields of an event, as text."""
    of = SearchedEvent(
        event.at, event.message, event.stream, event.ingested_at, event.seq, transformed=event.transformed
    )  # fmt: skip
    names = [f"`{name}`" for name in names_found(Row(of)) if "`" not in name]
    run = compile_query(f"display {', '.join(names)}", now=0).begin()
    run.push([of])
    fields = {name: value for row in run.finish() for name, value in row}
    fields |= {"@timestamp": str(event.at), "@ingestionTime": str(event.ingested_at), "@log": log, "@ptr": pointer}
    return fields
