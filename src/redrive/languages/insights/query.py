"""A query that is ready to run, and one run of it."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from redrive.core.clock import DAY_MS
from redrive.languages.insights.commands import Placed, read_query
from redrive.languages.insights.periods import time_text
from redrive.languages.insights.planning import Plan, plan_of
from redrive.languages.insights.rows import Getter, Row, SearchedEvent
from redrive.languages.insights.stages import Collecting, Stage, Tallying
from redrive.languages.insights.tree import Before, Diff, Source
from redrive.languages.insights.values import number, text

RESULTS_MAX = 10_000
"""How many rows a query gives, unless it says so."""
QUERY_MAX = 10_000
"""How many characters a query has."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ResultRow = tuple[tuple[str, str], ...]
"""The columns of a row that have a value, with their values as text."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query without errors. `notes` say what its author may not have meant; `source` names log groups."""

    commands: tuple[Placed, ...]
    now: int
    notes: tuple[str, ...]
    source: Source | None
    before: Before | None

    def begin(self, limit: int = RESULTS_MAX) -> QueryRun:
        """A run without events yet, that gives this many rows at most."""
        return QueryRun(plan_of(self.commands, self.now, limit))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, without @ptr."""
        return tuple(name for name, _, _ in plan_of(self.commands, self.now, RESULTS_MAX).columns)

    def earlier(self, start: int, end: int) -> tuple[int, int] | None:
        """The time that `diff` compares with: as long as the one from `start` to `end`, in milliseconds."""
        match self.before:
            case None:
                return None
            case Before.SAME_LENGTH:
                return start - (end - start) - 1, start - 1
            case Before.DAY:
                return start - DAY_MS, end - DAY_MS
            case Before.WEEK:
                return start - 7 * DAY_MS, end - 7 * DAY_MS
            case Before.MONTH:
                begin = _month_before(start)
                return begin, begin + end - start


def compile_query(query: str, *, now: int) -> Query:
    """Understand a query. `now` is an instant in milliseconds. Errors: MalformedQuery."""
    read = read_query(query)
    plan = plan_of(read.commands, now, RESULTS_MAX)
    notes = [
        f"line {line}: `--` begins a comment in SQL; in Logs Insights a comment begins with `#`. The line is left out."
        for line in read.sql_comments
    ]
    source = next((one.command for one in read.commands if isinstance(one.command, Source)), None)
    before = next((one.command.before for one in read.commands if isinstance(one.command, Diff)), None)
    return Query(read.commands, now, (*notes, *plan.notes), source, before)


class QueryRun:
    """One run of a query. Events come newest first."""

    def __init__(self, plan: Plan) -> None:
        self._stages = plan.stages
        self._first: Stage = plan.stages[0]
        self._tally: Tallying = plan.tally
        self._last: Collecting = plan.last
        self._columns = plan.columns
        self._has_events = plan.has_events

    @property
    def matched(self) -> int:
        """How many events met the conditions on events."""
        return self._tally.count

    def push(self, events: Iterable[SearchedEvent]) -> None:
        """Take events. Errors: QueryTooLarge."""
        push = self._first.push
        for event in events:
            push(Row(event))

    def finish(self) -> list[ResultRow]:
        """The rows of the result; no more events come."""
        self._first.finish()
        return [self._shown(row) for row in self._last.rows]

    def _shown(self, row: Row) -> ResultRow:
        shown = [
            (name, _time(value) if is_time else text(value))
            for name, of, is_time in self._columns
            if (value := of(row)) is not None
        ]
        if self._has_events:
            shown.append(("@ptr", row.event.pointer))
        return tuple(shown)


Column = tuple[str, Getter, bool]
Columns = Sequence[Column]


def _time(value: object) -> str:
    at = number(value)
    return text(value) if at is None else time_text(at)


def _month_before(at: int) -> int:
    moment = _EPOCH + timedelta(milliseconds=at)
    year, month = (moment.year, moment.month - 1) if moment.month > 1 else (moment.year - 1, 12)
    day = min(moment.day, calendar.monthrange(year, month)[1])
    return (moment.replace(year=year, month=month, day=day) - _EPOCH) // timedelta(milliseconds=1)
