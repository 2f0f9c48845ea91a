"""The operations on event buses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import request_tags, resource_tags
from redrive.services.events import limits
from redrive.services.events.model.bus import DEFAULT_BUS, BusReference, EventBus, bus_arn, reference_of
from redrive.services.events.model.pages import decode_token, encode_token
from redrive.services.events.model.requests import exists_already, invalid, limit_exceeded, no_such_bus, not_found
from redrive.services.events.model.rule import Rule, RulesVersion
from redrive.services.events.model.tags import merged_tags
from redrive.store.api import Transaction


@operation("CreateEventBus")
def create_event_bus(
    tx: Transaction, caller: Caller, *, name: str, event_source_name: str | None = None,
    description: str | None = None, kms_key_identifier: str | None = None,
    dead_letter_config: Document | None = None, log_config: Document | None = None,
    tags: Sequence[Document] | None = None,
) -> Document:  # fmt: skip
    """Create an event bus.

    Errors: ResourceAlreadyExistsException; LimitExceededException (100 buses); ValidationException (a slash in the
    name; tags); ResourceNotFoundException (a partner event source).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateEventBus.html
    """
    arn = bus_arn(caller.scope, name)
    given = merged_tags({}, tags)
    tx.services.authorize(tx, caller, "events:CreateEventBus", arn, context=request_tags(given))
    if event_source_name is not None:
        raise not_found(f"Event source {event_source_name} does not exist.")
    if "/" in name:
        raise invalid("Event bus name must not contain '/'.")
    if find_bus(tx, BusReference(caller.scope, name)) is not None:
        raise exists_already("Event bus", name)
    if tx.services.limits is Limits.STRICT and len(_stored(tx, caller.scope)) >= limits.BUSES_MAX:
        raise limit_exceeded()
    bus = EventBus(
        name, tx.now, tx.now, description, kms_key_identifier, dead_letter_config, log_config, tags=given
    )  # fmt: skip
    tx.resources.put(caller.scope, bus)
    return {"EventBusArn": arn, **_settings(bus)}


@operation("UpdateEventBus")
def update_event_bus(
    tx: Transaction, caller: Caller, *, name: str | None = None, kms_key_identifier: str | None = None,
    description: str | None = None, dead_letter_config: Document | None = None, log_config: Document | None = None,
) -> Document:  # fmt: skip
    """Change settings of a bus; settings that are not sent stay as they are.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_UpdateEventBus.html
    """
    reference = reference_of(caller.scope, name)
    bus = existing_bus(tx, caller, reference, "events:UpdateEventBus")
    changed = replace(
        bus, created_at=bus.created_at or tx.now, modified_at=tx.now,
        kms_key=bus.kms_key if kms_key_identifier is None else kms_key_identifier,
        description=bus.description if description is None else description,
        dead_letter=bus.dead_letter if dead_letter_config is None else dead_letter_config,
        log_config=bus.log_config if log_config is None else log_config,
    )  # fmt: skip
    tx.resources.put(reference.scope, changed)
    return {"Arn": reference.arn, "Name": changed.name, **_settings(changed)}


@operation("DeleteEventBus")
def delete_event_bus(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Delete a bus that has no rules.

    Errors: ResourceNotFoundException; ValidationException (the default bus; a bus with rules).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeleteEventBus.html
    """
    if name == DEFAULT_BUS:
        raise invalid(f"Cannot delete event bus {DEFAULT_BUS}.")
    reference = BusReference(caller.scope, name)
    existing_bus(tx, caller, reference, "events:DeleteEventBus")
    if any(not rule.managed_by for rule in tx.resources.list(Rule, caller.scope, prefix=f"{name}/")):
        raise invalid("Event bus can't be deleted since it has rules.")
    tx.resources.delete(EventBus, caller.scope, name)
    tx.resources.delete(RulesVersion, caller.scope, name)
    return {}


@operation("DescribeEventBus")
def describe_event_bus(tx: Transaction, caller: Caller, *, name: str | None = None) -> Document:
    """Show a bus, the default bus without a name.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribeEventBus.html
    """
    reference = reference_of(caller.scope, name)
    bus = existing_bus(tx, caller, reference, "events:DescribeEventBus")
    return {**_overview(reference.scope, bus), **_settings(bus)}


@operation("ListEventBuses")
def list_event_buses(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, next_token: str | None = None,
    limit: int | None = None,
) -> Document:  # fmt: skip
    """List buses sorted by name, including the default bus.

    Errors: ValidationException (an invalid NextToken).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListEventBuses.html
    """
    tx.services.authorize(tx, caller, "events:ListEventBuses", bus_arn(caller.scope, "*"))
    size, asked = limit or limits.PAGE_MAX, ("ListEventBuses", name_prefix)
    after = decode_token(next_token, *asked)
    buses = {DEFAULT_BUS: EventBus(DEFAULT_BUS), **{bus.name: bus for bus in _stored(tx, caller.scope)}}
    found = [buses[name] for name in sorted(buses) if name > after and name.startswith(name_prefix or "")]
    page = found[:size]
    return {
        "EventBuses": [_overview(caller.scope, bus) | _only("Description", bus.description) for bus in page],
        "NextToken": encode_token(page[-1].name, *asked) if len(found) > size else None,
    }


def find_bus(tx: Transaction, reference: BusReference) -> EventBus | None:
    """The bus, or None. Each account has a default bus in each region, also if nothing is stored about it."""
    found = tx.resources.get(EventBus, reference.scope, reference.name)
    return EventBus(DEFAULT_BUS) if found is None and reference.name == DEFAULT_BUS else found


def existing_bus(tx: Transaction, caller: Caller, reference: BusReference, action: str) -> EventBus:
    """The bus that a caller may use for this action.

    Errors: AccessDeniedException; ResourceNotFoundException.
    """
    bus = find_bus(tx, reference)
    context: Mapping[str, tuple[str, ...]] = {} if bus is None else resource_tags(bus.tags)
    policy = "" if bus is None else bus.policy
    tx.services.authorize(tx, caller, action, reference.arn, context=context, policy=policy)
    if bus is None:
        raise no_such_bus(reference.name)
    return bus


def _stored(tx: Transaction, scope: Scope) -> list[EventBus]:
    return tx.resources.list(EventBus, scope)


def _overview(scope: Scope, bus: EventBus) -> Document:
    times = {"CreationTime": bus.created_at, "LastModifiedTime": bus.modified_at} if bus.created_at else {}
    return {"Name": bus.name, "Arn": bus.arn(scope), **_only("Policy", bus.policy or None), **times}


def _settings(bus: EventBus) -> Document:
    return {
        **_only("Description", bus.description), **_only("KmsKeyIdentifier", bus.kms_key),
        **_only("DeadLetterConfig", bus.dead_letter), **_only("LogConfig", bus.log_config),
    }  # fmt: skip


def _only(name: str, value: object | None) -> Document:
    """A document with this member, or an empty one without a value."""
    return {} if value is None else {name: value}
