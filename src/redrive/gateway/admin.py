"""Our own surface of a server, under `/_redrive/`: health, the clock, faults, schedules. JSON in, JSON out.

Documented in docs/reference/admin.md and in docs/reference/admin.openapi.yaml.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from redrive import __version__
from redrive.core.clock import Clock, Instant, format_instant, parse_instant
from redrive.core.errors import UserError
from redrive.engine.driver import Driver, VirtualDrive
from redrive.engine.engine import Runner
from redrive.gateway.admin_assets import AssetAdmin
from redrive.gateway.admin_faults import FaultAdmin
from redrive.gateway.admin_requests import Missing, Route, Routes, read_document, shown
from redrive.gateway.admin_runs import RunAdmin
from redrive.gateway.admin_schedules import ScheduleAdmin
from redrive.gateway.admin_store import StoreAdmin
from redrive.gateway.chain import json_response
from redrive.gateway.refusals import own_refusal
from redrive.wire.message import HttpRequest, HttpResponse

BLOBS_PATH = "/_redrive/blobs/"
CLOCK_PATH = "/_redrive/clock"

ADVANCE_S_MAX = 100 * 366 * 86_400
"""A hundred years: further than any schedule goes, and short of where calendars end."""


class Stopped(UserError):
    """What a request was about was stopped before its end: 409."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says of itself."""

    account: str
    store: str


class Admin:
    """Answers requests to `/_redrive/…`. Blocking: call it in a thread of its own."""

    def __init__(
        self,
        facts: Facts,
        clock: Clock,
        driver: Driver,
        *,
        run: Runner,
        reset: Callable[[], None],
        load_blob: Callable[[str], bytes | None],
        store: StoreAdmin,
    ) -> None:
        self._load_blob = load_blob
        self._facts = facts
        self._clock = clock
        self._driver = driver
        self._reset = reset
        self._routes: Routes = {
            ("GET", "/_redrive/health"): self._health,
            ("GET", CLOCK_PATH): self._show_clock,
            ("POST", CLOCK_PATH): self._move_clock,
            ("DELETE", CLOCK_PATH): self._stop_clock,
            ("POST", "/_redrive/reset"): self._reset_all,
            **AssetAdmin(run).routes,
            **FaultAdmin(run).routes,
            **RunAdmin(run, facts.account).routes,
            **ScheduleAdmin(run, facts.account).routes,
            **store.routes,
        }

    @property
    def routes(self) -> Routes:
        """What is answered here, but for functions' code."""
        return self._routes

    def respond(self, request: HttpRequest, *, is_wanted: Callable[[], bool] = lambda: True) -> HttpResponse:
        """Answer one request. What takes long ends early where `is_wanted` says that nobody waits for it any more."""
        if (request.method, request.path) == ("POST", CLOCK_PATH):
            return self._answered(partial(self._move_clock, is_wanted=is_wanted), request)
        # The server leaves out the body of an answer to a HEAD.
        method = "GET" if request.method == "HEAD" else request.method
        if method == "GET" and request.path.startswith(BLOBS_PATH):
            return self._blob(request.path.removeprefix(BLOBS_PATH))
        parent = request.path.rpartition("/")[0]
        routes = (self._routes.get((method, path)) for path in (request.path, f"{parent}/{{id}}"))
        route = next((route for route in routes if route is not None), None)
        if route is None:
            known = ", ".join(f"{method} {path}" for method, path in self._routes)
            return own_refusal(404, f"There is no {request.method} {request.path}.", f"There is: {known}.")
        return self._answered(route, request)

    def _answered(self, route: Route, request: HttpRequest) -> HttpResponse:
        try:
            return route(request)
        except Missing as error:
            return own_refusal(404, error.what, error.next_step)
        except Stopped as error:
            return own_refusal(409, error.what, error.next_step)
        except UserError as error:
            return own_refusal(400, error.what, error.next_step)

    def _blob(self, digest: str) -> HttpResponse:
        """The code of a function, where GetFunction's Location points."""
        content = self._load_blob(digest)
        if content is None:
            return own_refusal(
                404, f"Nothing of the digest {digest} is kept here.", "Ask GetFunction for its Location."
            )
        return HttpResponse(200, (("content-type", "application/zip"),), content)

    def _health(self, _: HttpRequest) -> HttpResponse:
        facts = {"status": "ok", "version": __version__, "account": self._facts.account, "store": self._facts.store}
        return json_response(200, facts | self._clock_facts())

    def _show_clock(self, _: HttpRequest) -> HttpResponse:
        return json_response(200, self._clock_facts())

    def _move_clock(self, request: HttpRequest, *, is_wanted: Callable[[], bool] = lambda: True) -> HttpResponse:
        if not isinstance(self._driver, VirtualDrive):
            raise UserError(
                "This server runs in real time; its clock cannot be moved.",
                next_step="Start it with: redrive serve --clock virtual",
            )
        target = _target(request, self._clock.now())
        try:
            stands_at = self._driver.advance_to(target, is_wanted=is_wanted)
        except ValueError as error:
            raise UserError(f"The clock was not moved: {error}.") from error
        if stands_at < target:
            raise Stopped(
                f"The clock was stopped at {format_instant(stands_at)}, before {format_instant(target)}.",
                next_step="Everything due until then has settled. Go on from there, or leave it.",
            )
        return json_response(200, self._clock_facts())

    def _stop_clock(self, _: HttpRequest) -> HttpResponse:
        if isinstance(self._driver, VirtualDrive):
            self._driver.interrupt()
        return json_response(200, self._clock_facts())

    def _reset_all(self, _: HttpRequest) -> HttpResponse:
        self._reset()
        return json_response(200, {"status": "ok"} | self._clock_facts())

    def _clock_facts(self) -> dict[str, object]:
        now = self._clock.now()
        kind = "virtual" if self._clock.is_virtual else "real"
        target = self._driver.target if isinstance(self._driver, VirtualDrive) else None
        moves = {} if target is None else {"moves_to": format_instant(target), "moves_to_ms": target}
        return {"clock": kind, "now": format_instant(now), "now_ms": now} | moves


def _target(request: HttpRequest, now: Instant) -> Instant:
    """Where to move the clock: `{"advance_s": 86400}` or `{"to": "2026-01-01T00:00:00Z"}`. Errors: UserError."""
    usage = 'Send {"advance_s": 86400} or {"to": "2026-01-01T00:00:00Z"}.'
    document = read_document(request, usage)
    if len(document.keys() & {"advance_s", "to"}) != 1:
        raise UserError("The body says neither or both of advance_s and to.", next_step=usage)
    if "to" in document:
        try:
            return parse_instant(str(document["to"]))
        except ValueError as error:
            raise UserError(f"{shown(document['to'])} is not an ISO 8601 time.", next_step=usage) from error
    advance_s = document["advance_s"]
    if isinstance(advance_s, bool) or not isinstance(advance_s, int | float) or not 0 <= advance_s <= ADVANCE_S_MAX:
        raise UserError(
            f"advance_s is {shown(advance_s)}; it must be a number from 0 to {ADVANCE_S_MAX}.", next_step=usage
        )
    return now + round(advance_s * 1000)
