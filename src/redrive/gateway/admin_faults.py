"""`/_redrive/faults`: failures on order."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.delivery.faults import Fault, add_fault, all_faults, clear_faults, count_of_strikes
from redrive.engine.engine import Runner
from redrive.gateway.admin_requests import Missing, Routes, read_document, read_id, shown
from redrive.gateway.chain import json_response
from redrive.wire.message import HttpRequest, HttpResponse

USAGE = (
    'Send {"target": "arn:aws:sqs:*:*:orders", "error": "ThrottlingException", "times": 3}, '
    'or "rate": 0.5 instead of "times"; "message" and "latency_s" are optional.'
)
LATENCY_S_MAX = 86_400
TIMES_MAX = 1_000_000_000
MEMBERS = frozenset({"error", "latency_s", "message", "rate", "target", "times"})


class FaultAdmin:
    """Adds, lists and clears faults."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    @property
    def routes(self) -> Routes:
        """What is answered here."""
        return {
            ("GET", "/_redrive/faults"): self._list,
            ("POST", "/_redrive/faults"): self._add,
            ("DELETE", "/_redrive/faults"): self._clear,
            ("DELETE", "/_redrive/faults/{id}"): self._clear_one,
        }

    def _list(self, _: HttpRequest) -> HttpResponse:
        shown = self._run(lambda tx: [_shown(fault, count_of_strikes(tx, fault)) for fault in all_faults(tx).faults])
        return json_response(200, {"faults": shown})

    def _add(self, request: HttpRequest) -> HttpResponse:
        fault = read_fault(read_document(request, USAGE))
        return json_response(200, _shown(self._run(lambda tx: add_fault(tx, fault)), struck=0))

    def _clear(self, _: HttpRequest) -> HttpResponse:
        return json_response(200, {"cleared": self._run(clear_faults)})

    def _clear_one(self, request: HttpRequest) -> HttpResponse:
        fault_id = read_id(request)
        cleared = self._run(lambda tx: clear_faults(tx, fault_id))
        if not cleared:
            raise Missing(f"There is no fault {fault_id}.", next_step="See which there are: redrive fault list")
        return json_response(200, {"cleared": cleared})


def read_fault(document: Mapping[str, object]) -> Fault:
    """The fault that a document describes, yet without an id. Errors: UserError."""
    unknown = sorted(document.keys() - MEMBERS)
    if unknown:
        raise UserError(f"A fault has no {shown(unknown[0])}.", next_step=USAGE)
    target, code, message = (_text(document, name) for name in ("target", "error", "message"))
    if not target:
        raise UserError("The fault has no target.", next_step=USAGE)
    times, rate = document.get("times"), document.get("rate")
    if (times is None) == (rate is None):
        raise UserError("The fault says neither or both of times and rate.", next_step=USAGE)
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= TIMES_MAX):
        raise UserError(f"times is {shown(times)}; it must be a whole number from 1 to {TIMES_MAX}.", next_step=USAGE)
    share = None if rate is None else _number(rate, "rate", number_max=1)
    if share == 0:
        raise UserError("rate is 0; such a fault would never strike.", next_step=USAGE)
    latency_s = _number(document.get("latency_s") or 0, "latency_s", number_max=LATENCY_S_MAX)
    if not code and not latency_s:
        raise UserError("The fault has neither an error nor a latency_s: nothing would happen.", next_step=USAGE)
    return Fault("", target, code, message, times, share, round(latency_s * SECOND_MS))


def _text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise UserError(f"{name} is {shown(value)}; it must be a text.", next_step=USAGE)
    return value or ""


def _number(value: object, name: str, *, number_max: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= number_max:
        raise UserError(f"{name} is {shown(value)}; it must be a number from 0 to {number_max}.", next_step=USAGE)
    return float(value)


def _shown(fault: Fault, struck: int) -> Document:
    return {
        "id": fault.id,
        "target": fault.target,
        "error": fault.code or None,
        "message": fault.message or None,
        "times": fault.times,
        "rate": fault.rate,
        "latency_s": fault.latency_ms / SECOND_MS,
        "struck": struck,
        "state": "spent" if fault.is_spent(struck) else "armed",
    }
