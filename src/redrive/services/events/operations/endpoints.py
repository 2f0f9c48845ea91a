"""Global endpoints: a machine has no second region to fail over to, so they are refused by name."""

# ruff: noqa: ARG001 - parameters are those of AWS; nothing here depends on them.

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.events.model.requests import not_found, unsupported
from redrive.store.api import Transaction

_ENDPOINTS = "global endpoints"


@operation("CreateEndpoint")
def create_endpoint(
    tx: Transaction, caller: Caller, *, name: str, routing_config: Document, event_buses: Sequence[Document],
    description: str | None = None, replication_config: Document | None = None, role_arn: str | None = None,
) -> Document:  # fmt: skip
    """Refuse by name. Errors: OperationDisabledException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateEndpoint.html
    """
    _authorize(tx, caller, "events:CreateEndpoint", name)
    raise unsupported(_ENDPOINTS)


@operation("UpdateEndpoint")
def update_endpoint(
    tx: Transaction, caller: Caller, *, name: str, description: str | None = None,
    routing_config: Document | None = None, replication_config: Document | None = None,
    event_buses: Sequence[Document] | None = None, role_arn: str | None = None,
) -> Document:  # fmt: skip
    """Find no endpoint. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_UpdateEndpoint.html
    """
    _authorize(tx, caller, "events:UpdateEndpoint", name)
    raise not_found(f"Endpoint {name} does not exist.")


@operation("DeleteEndpoint")
def delete_endpoint(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Find no endpoint. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeleteEndpoint.html
    """
    _authorize(tx, caller, "events:DeleteEndpoint", name)
    raise not_found(f"Endpoint {name} does not exist.")


@operation("DescribeEndpoint")
def describe_endpoint(tx: Transaction, caller: Caller, *, name: str, home_region: str | None = None) -> Document:
    """Find no endpoint. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribeEndpoint.html
    """
    _authorize(tx, caller, "events:DescribeEndpoint", name)
    raise not_found(f"Endpoint {name} does not exist.")


@operation("ListEndpoints")
def list_endpoints(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, home_region: str | None = None,
    next_token: str | None = None, max_results: int | None = None,
) -> Document:  # fmt: skip
    """List no endpoints.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListEndpoints.html
    """
    _authorize(tx, caller, "events:ListEndpoints", "*")
    return {"Endpoints": []}


def _authorize(tx: Transaction, caller: Caller, action: str, name: str) -> None:
    arn = f"arn:aws:events:{caller.region}:{caller.account}:endpoint/{name}"
    tx.services.authorize(tx, caller, action, arn)
