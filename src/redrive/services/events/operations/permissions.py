"""The operations on the policies of event buses: which other accounts may use a bus."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import PolicyError, PolicyKind, parse_policy
from redrive.services.events.limits import BUS_POLICY_CHARACTERS_MAX
from redrive.services.events.model.bus import BusReference, EventBus, reference_of
from redrive.services.events.model.requests import invalid, not_found
from redrive.services.events.operations.buses import existing_bus
from redrive.store.api import Transaction


@operation("PutPermission")
def put_permission(
    tx: Transaction, caller: Caller, *, event_bus_name: str | None = None, action: str | None = None,
    principal: str | None = None, statement_id: str | None = None, condition: Document | None = None,
    policy: str | None = None,
) -> Document:  # fmt: skip
    """Add a statement to a bus's policy, or replace the policy. A statement with the id of another one replaces it.

    Errors: ResourceNotFoundException (the bus); ValidationException; PolicyLengthExceededException (10,240 characters).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutPermission.html
    """
    reference = reference_of(caller.scope, event_bus_name)
    bus = existing_bus(tx, caller, reference, "events:PutPermission")
    if policy is not None:
        if any(given is not None for given in (action, principal, statement_id, condition)):
            raise invalid("Policy cannot be given together with Action, Principal, StatementId or Condition.")
        document = policy
    else:
        if action is None or principal is None or statement_id is None:
            raise invalid("Parameters Action, Principal and StatementId must be specified without Policy.")
        statement = _statement(reference.arn, statement_id, action, principal, condition)
        kept = [one for one in _statements(bus) if one.get("Sid") != statement_id]
        document = dump_json({"Version": "2012-10-17", "Statement": [*kept, statement]})
    _check(document)
    _store(tx, reference, bus, document)
    return {}


@operation("RemovePermission")
def remove_permission(
    tx: Transaction, caller: Caller, *, statement_id: str | None = None, remove_all_permissions: bool | None = None,
    event_bus_name: str | None = None,
) -> Document:  # fmt: skip
    """Remove a statement from a bus's policy, or the whole policy.

    Errors: ResourceNotFoundException (the bus, the policy, or the statement); ValidationException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_RemovePermission.html
    """
    reference = reference_of(caller.scope, event_bus_name)
    bus = existing_bus(tx, caller, reference, "events:RemovePermission")
    if remove_all_permissions:
        _store(tx, reference, bus, "")
        return {}
    if statement_id is None:
        raise invalid("Parameter StatementId or RemoveAllPermissions must be specified.")
    if not bus.policy:
        raise not_found("EventBus does not have a policy.")
    statements = _statements(bus)
    kept = [one for one in statements if one.get("Sid") != statement_id]
    if len(kept) == len(statements):
        raise not_found("Statement with the provided id does not exist.")
    _store(tx, reference, bus, dump_json({"Version": "2012-10-17", "Statement": kept}) if kept else "")
    return {}


def _statement(arn: str, id: str, action: str, principal: str, condition: Document | None) -> Document:
    who: object = "*" if principal == "*" else {"AWS": f"arn:aws:iam::{principal}:root"}
    statement: Document = {"Sid": id, "Effect": "Allow", "Principal": who, "Action": action, "Resource": arn}
    if condition is not None:
        statement["Condition"] = {condition["Type"]: {condition["Key"]: condition["Value"]}}
    return statement


def _statements(bus: EventBus) -> list[Document]:
    if not bus.policy:
        return []
    statements = load_json(bus.policy)["Statement"]
    return statements if isinstance(statements, list) else [statements]


def _check(policy: str) -> None:
    if len(policy) > BUS_POLICY_CHARACTERS_MAX:
        raise ServiceError(
            "PolicyLengthExceededException", f"The policy is longer than {BUS_POLICY_CHARACTERS_MAX} characters."
        )
    try:
        parse_policy(policy, PolicyKind.RESOURCE)
    except PolicyError as error:
        raise invalid(f"Parameter Policy is not valid. Reason: {error}") from error


def _store(tx: Transaction, reference: BusReference, bus: EventBus, policy: str) -> None:
    changed = replace(bus, policy=policy, created_at=bus.created_at or tx.now, modified_at=tx.now)
    tx.resources.put(reference.scope, changed)
