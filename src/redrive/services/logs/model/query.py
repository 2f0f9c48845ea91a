"""Queries of Logs Insights, as they are stored: while they wait and run, and with what they found for a week."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.languages.insights import MalformedQuery

TIMER = "logs.queries"
"""The kind of the timers of queries. While a query runs, its timer is the end of its lease."""


class QueryStatus(enum.Enum):
    """Where a query stands."""

    SCHEDULED = "Scheduled"
    RUNNING = "Running"
    COMPLETE = "Complete"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    TIMEOUT = "Timeout"

    @property
    def has_ended(self) -> bool:
        """Whether nothing follows."""
        return self not in (QueryStatus.SCHEDULED, QueryStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class Scanned:
    """How much a query has read so far, and how many events matched."""

    records: int = 0
    bytes: int = 0
    matched: int = 0


@dataclass(frozen=True, slots=True)
class LogQuery:
    """A query over log groups. `start` and `end` are instants in milliseconds, both included.

    `fence` counts the nodes that have begun to run it; `renewed_at` is when the last of them was last seen at it.
    """

    KIND: ClassVar[str] = "logs.query"
    IS_STATE: ClassVar[bool] = True

    id: str
    text: str
    group_names: tuple[str, ...]
    start: Instant
    end: Instant
    limit: int
    created_at: Instant
    status: QueryStatus = QueryStatus.SCHEDULED
    fence: int = 0
    started_at: Instant | None = None
    renewed_at: Instant = 0
    ended_at: Instant | None = None
    scanned: Scanned = field(default_factory=Scanned)
    result_count: int = 0
    caller: str = ""

    @property
    def name(self) -> str:
        """The query's id."""
        return self.id

    def ended_as(self, status: QueryStatus, at: Instant) -> LogQuery:
        """The query with its end."""
        return replace(self, status=status, ended_at=at)

    def described(self, shown_group: str, now: Instant) -> Document:
        """The query as DescribeQueries shows it."""
        until = now if self.ended_at is None else self.ended_at
        return {
            "queryLanguage": "CWLI", "queryId": self.id, "queryString": self.text, "status": self.status.value,
            "createTime": self.created_at, "logGroupName": shown_group, "bytesScanned": float(self.scanned.bytes),
            "queryDuration": until - self.created_at, "userIdentity": self.caller,
        }  # fmt: skip

    @property
    def statistics(self) -> Document:
        """What GetQueryResults tells of the reading."""
        return {
            "recordsMatched": float(self.scanned.matched), "recordsScanned": float(self.scanned.records),
            "estimatedRecordsSkipped": 0.0, "bytesScanned": float(self.scanned.bytes), "estimatedBytesSkipped": 0.0,
            "logGroupsScanned": float(len(self.group_names)), "resultCount": float(self.result_count),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueryDefinition:
    """A saved query."""

    KIND: ClassVar[str] = "logs.query_definition"

    id: str
    title: str
    text: str
    modified_at: Instant
    group_names: tuple[str, ...] = ()
    parameters: tuple[Mapping[str, str], ...] = ()
    language: str = "CWLI"

    @property
    def name(self) -> str:
        """The definition's id."""
        return self.id

    def described(self) -> Document:
        """The definition as AWS shows it."""
        return {
            "queryLanguage": self.language, "queryDefinitionId": self.id, "name": self.title,
            "queryString": self.text, "lastModified": self.modified_at,
            **({"logGroupNames": list(self.group_names)} if self.group_names else {}),
            **({"parameters": [dict(one) for one in self.parameters]} if self.parameters else {}),
        }  # fmt: skip


def timer_name(scope: Scope, query_id: str) -> str:
    """The name of a query's timer."""
    return f"{scope}/{query_id}"


def scope_and_id(name: str) -> tuple[Scope, str]:
    """The scope and the id in a timer's name."""
    account, region, query_id = name.split("/", 2)
    return Scope(account, region), query_id


def blob_name(query_id: str, page: int) -> str:
    """The name of the blob with a page of a query's results."""
    return f"insights/{query_id}/{page}"


def malformed(error: MalformedQuery) -> ServiceError:
    """The error for a query that cannot be understood, with the place of the error."""
    compiled = {
        "location": {"startCharOffset": error.start, "endCharOffset": error.end},
        "message": error.message,
    }
    return ServiceError("MalformedQueryException", error.message, members={"queryCompileError": compiled})


def shown_rows(rows: Sequence[Sequence[Sequence[str]]]) -> list[list[Document]]:
    """Rows of a result as GetQueryResults shows them."""
    return [[{"field": field, "value": value} for field, value in row] for row in rows]
