"""How a target is called: who calls it, with which input, and to which execution the call belongs."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.history.records import Origin
from redrive.delivery.sources.roles import RoleSession
from redrive.languages.input_transformer import UnusableOutput
from redrive.services.events.model.failures import INVALID_JSON
from redrive.services.events.model.inputs import Matched, render_input
from redrive.services.events.model.lineage import traced
from redrive.services.events.model.rule import PRINCIPAL, name_of_arn
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

_FUNCTIONS = "arn:aws:lambda:"
_TRANSFORMED = frozenset({"Input", "InputPath", "InputTransformer"})


def origin_of(delivery: Delivery) -> Origin:
    """The execution that caused the event; otherwise all deliveries of an event are one execution, its id."""
    document = delivery.document
    return Origin(document.get("execution") or delivery.id.split("/", 1)[0], document.get("cause") or "")


def input_of(delivery: Delivery, target: Document) -> str:
    """The input of this delivery's target. Errors: ServiceError INVALID_JSON."""
    if _TRANSFORMED.isdisjoint(target):
        return str(delivery.document["event"])
    rule_name = name_of_arn(delivery.source_arn).rsplit("/", 1)[-1]
    matched = Matched(delivery.document["event"], delivery.first_at, delivery.source_arn, rule_name)
    try:
        return render_input(target, matched)
    except UnusableOutput as error:
        raise ServiceError(INVALID_JSON, str(error)) from error


def input_or_none(delivery: Delivery, target: Document) -> str | None:
    """The input of this delivery's target, or None if it cannot be rendered."""
    try:
        return input_of(delivery, target)
    except ServiceError:
        return None


def caller_of(tx: Transaction, delivery: Delivery, target: Document, region: str) -> Caller:
    """Who calls the target: the target's role, or EventBridge, whom the target's own policy has to allow.

    Errors: ServiceError AccessDenied (the role cannot be assumed).
    """
    role_arn = target.get("RoleArn")
    if role_arn is None:
        return service_caller(tx, delivery, region)
    session = RoleSession(role_arn, PRINCIPAL, delivery.id.split("/", 1)[0][:64], delivery.source_arn)
    return session.caller(tx, region)


def service_caller(tx: Transaction, delivery: Delivery, region: str) -> Caller:
    """EventBridge, which calls for the rule of a delivery."""
    trace = str(delivery.document.get("trace", ""))
    if delivery.target_arn.startswith(_FUNCTIONS):
        trace = traced(trace, delivery.source_arn, event_id=delivery.id.split("/", 1)[0], at=delivery.first_at)
    return Caller(
        Scope(delivery.scope.account, region), new_row_id(tx.entropy, tx.now), service=PRINCIPAL,
        source_arn=delivery.source_arn, trace_header=trace,
    )  # fmt: skip
