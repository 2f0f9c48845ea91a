"""StartLiveTail: the events of log groups as they come, as a stream of events.

Each second there is a `sessionUpdate` with what has come since the last one, empty if nothing has. A session ends after
three hours. Where more comes than an update has room for, the update has a part of it and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import Continuation, EventStream, operation
from redrive.languages.log_filter import Filter
from redrive.services.logs import limits
from redrive.services.logs.filtering import compiled
from redrive.services.logs.model.filters import read_filter
from redrive.services.logs.model.group import LogGroup, group_name_of_arn, invalid_parameter, policy_arn
from redrive.services.logs.operations.groups import existing_group
from redrive.store.api import Transaction
from redrive.store.tables.log_events import LogEvent

_NAME = "responseStream"


@dataclass(frozen=True, slots=True)
class _Session:
    """A session: its groups by id, what it wants of them, up to which event it has seen, and when it updates next."""

    scope: Scope
    groups: tuple[LogGroup, ...]
    streams: tuple[str, ...]
    prefixes: tuple[str, ...]
    pattern: str
    seen: int
    ends_at: Instant
    ready_at: Instant


@operation("StartLiveTail")
def start_live_tail(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_identifiers: Sequence[str],
    log_stream_names: Sequence[str] | None = None,
    log_stream_name_prefixes: Sequence[str] | None = None,
    log_event_filter_pattern: str | None = None,
) -> EventStream:
    """Send the events of up to ten groups as they come, for three hours at most.

    Errors: ResourceNotFoundException; InvalidParameterException (names together with prefixes, or with several groups,
    an identifier that is no ARN, the pattern).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartLiveTail.html
    """
    if log_stream_names and log_stream_name_prefixes:
        raise invalid_parameter("logStreamNames and logStreamNamePrefixes cannot both be specified.")
    if (log_stream_names or log_stream_name_prefixes) and len(log_group_identifiers) > 1:
        raise invalid_parameter("Log streams can be chosen only if there is one log group.")
    names = [group_name_of_arn(caller.scope, arn) for arn in log_group_identifiers]
    for name in names:
        tx.services.authorize(tx, caller, "logs:StartLiveTail", policy_arn(caller.scope, name))
    groups = tuple(existing_group(tx, caller, name) for name in names)
    read_filter(log_event_filter_pattern or "")
    session = _Session(
        caller.scope, groups, tuple(log_stream_names or ()), tuple(log_stream_name_prefixes or ()),
        log_event_filter_pattern or "", tx.log_events.last_seq(), tx.now + limits.TAIL_MS_MAX,
        tx.now + limits.TAIL_EVERY_MS,
    )  # fmt: skip
    started: Document = {
        "requestId": caller.request_id, "sessionId": new_uuid(tx.entropy),
        "logGroupIdentifiers": list(log_group_identifiers), "logEventFilterPattern": session.pattern,
        "logStreamNames": list(session.streams), "logStreamNamePrefixes": list(session.prefixes),
    }  # fmt: skip
    return EventStream(_NAME, {}, ({"sessionStart": started},), _more(session))


def _resume(tx: Transaction, session: _Session) -> EventStream | ServiceError:
    """The next update, or why the session ends."""
    if tx.now >= session.ends_at:
        return ServiceError("SessionTimeoutException", "The session has lasted for three hours.")
    if tx.now < session.ready_at:
        return EventStream(_NAME, {}, (), _more(session))
    wanted = compiled(tx, session.pattern)
    seen = session.seen
    found: list[Document] = []
    is_sampled = False
    for group in session.groups:
        events = tx.log_events.arrived(group.id, session.seen, limit=limits.TAIL_READ_MAX)
        is_sampled = is_sampled or len(events) == limits.TAIL_READ_MAX
        seen = max([seen, *(event.seq for event in events)])
        found += [_shown(session, group, event) for event in events if _is_wanted(session, event, wanted)]
    is_sampled = is_sampled or len(found) > limits.TAIL_EVENTS_MAX
    found.sort(key=lambda event: (event["ingestionTime"], event["timestamp"]))
    update: Document = {
        "sessionMetadata": {"sampled": is_sampled}, "sessionResults": found[-limits.TAIL_EVENTS_MAX :],
    }  # fmt: skip
    following = replace(session, seen=seen, ready_at=tx.now + limits.TAIL_EVERY_MS)
    return EventStream(_NAME, {}, ({"sessionUpdate": update},), _more(following))


def _more(session: _Session) -> Continuation:
    return Continuation(
        lambda tx: _resume(tx, session), (), min(session.ready_at, session.ends_at), lambda _: None
    )  # fmt: skip


def _is_wanted(session: _Session, event: LogEvent, wanted: Filter) -> bool:
    if session.streams and event.stream not in session.streams:
        return False
    if session.prefixes and not event.stream.startswith(session.prefixes):
        return False
    return wanted(event.message)


def _shown(session: _Session, group: LogGroup, event: LogEvent) -> Document:
    return {
        "logStreamName": event.stream, "logGroupIdentifier": f"{session.scope.account}:{group.name}",
        "message": event.message, "timestamp": event.at, "ingestionTime": event.ingested_at,
    }  # fmt: skip
