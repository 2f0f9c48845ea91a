"""`/_redrive/schedules`: when schedules fire, and what they missed."""

from __future__ import annotations

from redrive.core.clock import format_instant
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.engine.engine import Runner
from redrive.gateway.admin_requests import (
    Routes,
    read_count,
    read_document,
    read_query,
    read_scope,
)
from redrive.gateway.chain import json_response
from redrive.services.scheduler.api_watch import (
    find_schedule,
    list_overviews,
    missed_by,
    next_firings,
    overview,
)
from redrive.services.scheduler.model import Schedule
from redrive.services.scheduler.workers_promises import trigger
from redrive.store.api import Transaction
from redrive.wire.message import HttpRequest, HttpResponse

PAGE = 100
PAGE_MAX = 1_000
FIRINGS = 5
FIRINGS_MAX = 1_000
WHERE = ("account", "region")
TRIGGER_USAGE = 'Send {"schedule": "NAME"}, "GROUP/NAME", or the ARN of a schedule.'


class ScheduleAdmin:
    """Shows schedules, and fires an occurrence by hand."""

    def __init__(self, run: Runner, account: str) -> None:
        self._run = run
        self._account = account

    @property
    def routes(self) -> Routes:
        """What is answered here."""
        return {
            ("GET", "/_redrive/schedules"): self._list,
            ("GET", "/_redrive/schedules/next"): self._next,
            ("GET", "/_redrive/schedules/missed"): self._missed,
            ("POST", "/_redrive/schedules/trigger"): self._trigger,
        }

    def _list(self, request: HttpRequest) -> HttpResponse:
        query = read_query(request, "after", "limit", *WHERE)
        scope, limit = read_scope(query, self._account), read_count(query, "limit", default=PAGE, count_max=PAGE_MAX)
        found = self._run(lambda tx: list_overviews(tx, scope, after=query.get("after", ""), limit=limit))
        after = f"{found[-1]['group']}/{found[-1]['name']}" if len(found) == limit else None
        return json_response(200, {"schedules": found, "after": after})

    def _next(self, request: HttpRequest) -> HttpResponse:
        query = read_query(request, "schedule", "count", *WHERE)
        count = read_count(query, "count", default=FIRINGS, count_max=FIRINGS_MAX)
        written = _required(query, "schedule", "redrive schedules next NAME")
        scope = read_scope(query, self._account)

        def look(tx: Transaction) -> Document:
            found_scope, schedule = find_schedule(tx, scope, written)
            return {"schedule": overview(found_scope, schedule), "next": next_firings(schedule, count)}

        return json_response(200, self._run(look))

    def _missed(self, request: HttpRequest) -> HttpResponse:
        query = read_query(request, "schedule", "after", "limit", *WHERE)
        scope, limit = read_scope(query, self._account), read_count(query, "limit", default=PAGE, count_max=PAGE_MAX)
        written = query.get("schedule")

        def look(tx: Transaction) -> Document:
            if written:
                return {"missed": missed_by(tx, *find_schedule(tx, scope, written)), "after": None}
            found = tx.resources.list(Schedule, scope, after=query.get("after", ""), limit=limit)
            missed = [row for schedule in found for row in missed_by(tx, scope, schedule)]
            return {"missed": missed, "after": found[-1].name if len(found) == limit else None}

        return json_response(200, self._run(look))

    def _trigger(self, request: HttpRequest) -> HttpResponse:
        document = read_document(request, TRIGGER_USAGE)
        written = _required(document, "schedule", TRIGGER_USAGE)
        scope = read_scope(document, self._account)

        def fire(tx: Transaction) -> Document:
            execution = trigger(tx, *find_schedule(tx, scope, written))
            return {
                "schedule": execution.schedule_arn,
                "execution_id": execution.execution_id,
                "scheduled_time": format_instant(execution.scheduled_at),
                "id": execution.delivery_id,
            }

        return json_response(200, self._run(fire))


def _required(given: Document | dict[str, str], name: str, usage: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise UserError(f"The request does not name a {name}.", next_step=usage)
    return value
