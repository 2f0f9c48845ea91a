"""Events of the other services on the default bus: nothing is computed where no rule and no archive could take them.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-event.html
"""

from __future__ import annotations

from collections.abc import Callable

from redrive.core.entropy import new_row_id
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Scope
from redrive.services.events.archiving import is_archived
from redrive.services.events.matchers import rules_of
from redrive.services.events.model.bus import DEFAULT_BUS, BusReference
from redrive.services.events.model.event import Event, envelope
from redrive.services.events.publish import match, publish
from redrive.store.api import Transaction


def publish_event(tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
    """Put an event of a service on the default bus of the scope, in this transaction. `make` is called if needed."""
    bus = BusReference(scope, DEFAULT_BUS)
    active = rules_of(tx, bus)
    if (active is not None and active.rules) or is_archived(tx, bus):
        publish(tx, bus, [_event(tx, scope, make())])


def publish_read_call(tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
    """Put the record of a call that only read on the default bus, for the rules whose state asks for such calls.

    Archives do not get it: an archive takes what an enabled rule would.
    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-event-cloudtrail-management.html
    """
    bus = BusReference(scope, DEFAULT_BUS)
    active = rules_of(tx, bus)
    if active is not None and active.with_read_calls:
        match(tx, bus, [_event(tx, scope, make())], chosen=active.with_read_calls)


def _event(tx: Transaction, scope: Scope, own: OwnEvent) -> Event:
    event_id = new_row_id(tx.entropy, tx.now)
    document = envelope(
        id=event_id, detail_type=own.detail_type, source=own.source, scope=scope,
        at=tx.now if own.at is None else own.at,
        resources=list(own.resources), detail=own.detail,
    )  # fmt: skip
    return Event(event_id, document)
