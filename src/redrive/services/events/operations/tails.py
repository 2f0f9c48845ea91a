"""Operations of redrive's own API: watch events as buses accept them, with the rules that each has matched.

AWS has nothing like this. What became of an event's targets is in the runs of its execution.
"""

from __future__ import annotations

from dataclasses import replace

from redrive.core.clock import format_instant
from redrive.core.documents import Document, load_json
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller, Scope
from redrive.delivery.surface import MISSING, own_operation, refusal, scope_asked
from redrive.services.events import limits
from redrive.services.events.model.tail import Tail
from redrive.services.events.tailing import end_tail
from redrive.store.api import Transaction
from redrive.store.tables.archives import ArchivedEvent, Place

EVERY_MINUTE = 2**62
"""Later than all minutes, instants and numbers of events."""


@own_operation("StartTail")
def start_tail(
    tx: Transaction, caller: Caller, *, bus: str = "", region: str | None = None, account: str | None = None
) -> Document:  # fmt: skip
    """Begin to keep the events of a bus, or of all buses of a region, for somebody who asks for them.

    Errors: AccessDeniedException; ValidationException (too many tails).
    """
    scope = scope_asked(caller, account, region)
    if len(tx.resources.everywhere(Tail)) >= limits.TAILS_MAX:
        what = f"{limits.TAILS_MAX} tails are open."
        raise refusal(what, "End some, or wait: a tail ends by itself when nobody asks for its events.")
    tail = Tail(new_uuid(tx.entropy), bus, tx.now, tx.archives.last_seq())
    tx.resources.put(scope, tail)
    return {"tail": tail.name, "after": ""}


@own_operation("GetTail")
def get_tail(
    tx: Transaction, caller: Caller, *, tail: str, after: str = "", limit: int = limits.TAIL_PAGE,
    region: str | None = None, account: str | None = None,
) -> Document:  # fmt: skip
    """Return the events that came after those that were returned before.

    Errors: AccessDeniedException; ResourceNotFoundException; ValidationException (`after`).
    """
    scope = scope_asked(caller, account, region)
    found = _found(tx, scope, tail)
    last = tx.archives.last_seq()
    if last - found.asked_seq > limits.TAIL_UNASKED_MAX // 2:
        tx.resources.put(scope, replace(found, asked_seq=last))
    place = _place(after)
    events = tx.archives.page(
        found.name, place, start=0, end=EVERY_MINUTE, seq_last=EVERY_MINUTE, limit=limit
    )  # fmt: skip
    told = [_document(one) for one in events]
    return {"events": told, "after": _text(events[-1].after) if events else after}


@own_operation("EndTail")
def end(
    tx: Transaction, caller: Caller, *, tail: str, region: str | None = None, account: str | None = None
) -> Document:  # fmt: skip
    """Forget a tail, and what was kept for it. Errors: AccessDeniedException; ResourceNotFoundException."""
    scope = scope_asked(caller, account, region)
    end_tail(tx, scope, _found(tx, scope, tail))
    return {"ended": tail}


def _found(tx: Transaction, scope: Scope, name: str) -> Tail:
    found = tx.resources.get(Tail, scope, name)
    if found is None:
        what = f"There is no tail {name[:100]}; it may have ended because nobody asked for its events."
        raise refusal(what, "Start another: redrive events tail", MISSING)
    return found


def _place(after: str) -> Place:
    minute, dot, seq = after.partition(".")
    if not after:
        return Place(0, 0)
    if not (dot and minute.isdigit() and seq.isdigit() and max(len(minute), len(seq)) < 19):
        raise refusal(f"No tail goes on after {after[:100]!r}.", "Send the `after` of the answer before.")
    return Place(int(minute), int(seq))


def _text(place: Place) -> str:
    return f"{place.minute}.{place.seq}"


def _document(one: ArchivedEvent) -> Document:
    kept = load_json(one.event)
    told: Document = {**kept, "accepted": format_instant(kept["accepted_at"])}
    del told["accepted_at"]
    return told
