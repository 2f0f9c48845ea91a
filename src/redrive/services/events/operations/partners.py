"""Partner event sources: no partner publishes to this machine, so there are none."""

# ruff: noqa: ARG001 - parameters are those of AWS; nothing here depends on them.

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.events.model.requests import not_found, unsupported
from redrive.store.api import Transaction

_PUBLISHING = "publishing as a partner"


@operation("ListEventSources")
def list_event_sources(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, next_token: str | None = None,
    limit: int | None = None,
) -> Document:  # fmt: skip
    """List the partner event sources that were offered to this account: none.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListEventSources.html
    """
    tx.services.authorize(tx, caller, "events:ListEventSources", "*")
    return {"EventSources": []}


@operation("ListPartnerEventSources")
def list_partner_event_sources(
    tx: Transaction, caller: Caller, *, name_prefix: str, next_token: str | None = None, limit: int | None = None
) -> Document:
    """List the partner event sources of this account as a partner: none.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListPartnerEventSources.html
    """
    tx.services.authorize(tx, caller, "events:ListPartnerEventSources", "*")
    return {"PartnerEventSources": []}


@operation("ListPartnerEventSourceAccounts")
def list_partner_event_source_accounts(
    tx: Transaction, caller: Caller, *, event_source_name: str, next_token: str | None = None,
    limit: int | None = None,
) -> Document:  # fmt: skip
    """List the accounts that use a partner event source. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListPartnerEventSourceAccounts.html
    """
    return _missing(tx, caller, "events:ListPartnerEventSourceAccounts", event_source_name)


@operation("DescribeEventSource")
def describe_event_source(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Show a partner event source. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribeEventSource.html
    """
    return _missing(tx, caller, "events:DescribeEventSource", name)


@operation("DescribePartnerEventSource")
def describe_partner_event_source(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Show a partner event source to its partner. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribePartnerEventSource.html
    """
    return _missing(tx, caller, "events:DescribePartnerEventSource", name)


@operation("ActivateEventSource")
def activate_event_source(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Activate a partner event source. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ActivateEventSource.html
    """
    return _missing(tx, caller, "events:ActivateEventSource", name)


@operation("DeactivateEventSource")
def deactivate_event_source(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Deactivate a partner event source. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeactivateEventSource.html
    """
    return _missing(tx, caller, "events:DeactivateEventSource", name)


@operation("CreatePartnerEventSource")
def create_partner_event_source(tx: Transaction, caller: Caller, *, name: str, account: str) -> Document:
    """Refuse by name. Errors: OperationDisabledException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreatePartnerEventSource.html
    """
    tx.services.authorize(tx, caller, "events:CreatePartnerEventSource", "*")
    raise unsupported(_PUBLISHING)


@operation("DeletePartnerEventSource")
def delete_partner_event_source(tx: Transaction, caller: Caller, *, name: str, account: str) -> Document:
    """Refuse by name. Errors: OperationDisabledException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeletePartnerEventSource.html
    """
    tx.services.authorize(tx, caller, "events:DeletePartnerEventSource", "*")
    raise unsupported(_PUBLISHING)


@operation("PutPartnerEvents")
def put_partner_events(tx: Transaction, caller: Caller, *, entries: Sequence[Document]) -> Document:
    """Refuse by name. Errors: OperationDisabledException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutPartnerEvents.html
    """
    tx.services.authorize(tx, caller, "events:PutPartnerEvents", "*")
    raise unsupported(_PUBLISHING)


def _missing(tx: Transaction, caller: Caller, action: str, name: str) -> Document:
    tx.services.authorize(tx, caller, action, f"arn:aws:events:{caller.region}::event-source/{name}")
    raise not_found(f"Event source {name} does not exist.")
