"""Event buses as targets: an event goes from a bus to another one, of this or another account or region, once.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-cross-account.html
"""

from __future__ import annotations

from redrive.core.documents import Document, load_json
from redrive.core.entropy import new_row_id, new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.roles import RoleSession
from redrive.services.events.limits import BUS_HOPS_MAX
from redrive.services.events.model.bus import BusReference, reference_of
from redrive.services.events.model.event import Event
from redrive.services.events.model.failures import HOP_DETECTED
from redrive.services.events.model.requests import no_such_bus
from redrive.services.events.model.rule import PRINCIPAL
from redrive.services.events.operations.buses import find_bus
from redrive.services.events.publish import publish
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

_HOP_MESSAGE = (
    "The event was not sent, because an event can be sent to an event bus target only once. "
    "This event was previously delivered to an event bus target."
)


def forward(tx: Transaction, delivery: Delivery, role_arn: str | None) -> Document:
    """Put a matched event on the bus that is its rule's target. The event keeps its id, unless it changes the region.

    Errors: ServiceError THIRD_ACCOUNT_HOP_DETECTED (a bus has sent the event before); ResourceNotFoundException (no
    such bus); AccessDeniedException (the role, or the policy of the other account's bus).
    """
    hops = int(delivery.document.get("hops", 0))
    if hops >= BUS_HOPS_MAX:
        raise ServiceError(HOP_DETECTED, _HOP_MESSAGE)
    bus = reference_of(delivery.scope, delivery.target_arn)
    document = load_json(delivery.document["event"])
    _authorize(tx, delivery, role_arn, bus, document)
    if bus.scope.region != delivery.scope.region:
        document["id"] = new_row_id(tx.entropy, tx.now)
    trace = str(delivery.document.get("trace", ""))
    publish(tx, bus, [Event(delivery.id, document, hops + 1, trace)])
    return {"EventId": document["id"]}


def _authorize(tx: Transaction, delivery: Delivery, role_arn: str | None, bus: BusReference, event: Document) -> None:
    """Refuse an event that the role, or the rule's account, may not put on the bus."""
    scope = Scope(delivery.scope.account, bus.scope.region)
    if role_arn is None:
        caller = Caller(scope, new_uuid(tx.entropy))
    else:
        session = RoleSession(role_arn, PRINCIPAL, delivery.id.split("/", 1)[0][:64], delivery.source_arn)
        caller = session.caller(tx, scope.region)
    found = find_bus(tx, bus)
    context = {
        "events:source": (str(event["source"]),), "events:detail-type": (str(event["detail-type"]),),
        "aws:SourceArn": (delivery.source_arn,),
    }  # fmt: skip
    policy = "" if found is None else found.policy
    tx.services.authorize(tx, caller, "events:PutEvents", bus.arn, context=context, policy=policy)
    if found is None:
        raise no_such_bus(bus.name)
