"""What tails see of a bus: the events that it accepts, with the rules that each has matched.

While nobody tails, an event costs one look into a list that is in memory. The rows are those of archives; each tail
keeps the latest ones only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from redrive.core.scope import Scope
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.services.events.limits import TAIL_EVENTS_KEPT, TAIL_UNASKED_MAX
from redrive.services.events.model.bus import BusReference
from redrive.services.events.model.event import Event
from redrive.services.events.model.rule import Rule
from redrive.services.events.model.tail import Tail, tailed
from redrive.store.api import Transaction
from redrive.store.tables.archives import NewArchivedEvent

_AT = 0
"""The time of all rows of tails, so that their numbers alone are their order: clocks of nodes differ."""


def is_tailed(tx: Transaction) -> bool:
    """Whether anybody tails any bus."""
    return bool(tx.resources.everywhere(Tail))


def show_to_tails(
    tx: Transaction, bus: BusReference, event: Event, rules: Mapping[str, Rule], names: Collection[str]
) -> None:
    """Keep an event for those who tail its bus. `names` are the rules that it has matched."""
    for scope, tail in tx.resources.everywhere(Tail):
        if scope != bus.scope or not tail.watches(bus.name):
            continue
        if tx.archives.last_seq() - tail.asked_seq > TAIL_UNASKED_MAX:
            end_tail(tx, scope, tail)
            continue
        execution_id = event.key.split("/", 1)[0] if tx.cause is None else tx.cause.execution_id
        text = tailed(bus.name, event, [rules[name] for name in sorted(names)], execution_id, tx.now)
        tx.archives.reserve(tail.name)
        tx.archives.put_many(tail.name, [NewArchivedEvent(_AT, len(text), text)], now=tx.now)
        surplus = tx.archives.content(tail.name).events - TAIL_EVENTS_KEPT
        if surplus > 0:
            tx.archives.drop_oldest(tail.name, limit=surplus)


def end_tail(tx: Transaction, scope: Scope, tail: Tail) -> None:
    """Forget a tail and what was kept for it."""
    tx.resources.delete(Tail, scope, tail.name)
    forget_rows(tx, "archived_events", tail.name)
