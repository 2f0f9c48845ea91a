"""The operations on delivery sources: resources that write vended logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs import limits
from redrive.services.logs.model.delivery import (
    DeliverySource,
    LogDelivery,
    check_source,
    conflict,
    missing,
    service_of,
    source_arn,
)
from redrive.services.logs.model.group import check_tags
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.store.api import Transaction


@operation("PutDeliverySource")
def put_delivery_source(
    tx: Transaction, caller: Caller, *, name: str, resource_arn: str, log_type: str,
    tags: Mapping[str, str] | None = None, delivery_source_configuration: Document | None = None,
) -> Document:  # fmt: skip
    """Create or replace a source. The caller must be allowed to let the resource write logs.

    Errors: ValidationException; ConflictException (another source of these logs; a source in use that would change).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutDeliverySource.html
    """
    tx.services.authorize(tx, caller, "logs:PutDeliverySource", source_arn(caller.scope, name))
    check_source(caller.scope, resource_arn, log_type)
    check_tags(tags or {})
    tx.services.authorize(
        tx, caller, f"{service_of(resource_arn)}:AllowVendedLogDeliveryForResource", resource_arn
    )  # fmt: skip
    for other in tx.resources.list(DeliverySource, caller.scope):
        is_same = (other.resource_arn, other.log_type) == (resource_arn, log_type)
        if other.name != name and is_same:
            raise conflict(f"The delivery source {other.name} has this resource and log type already.")
        if other.name == name and not is_same and _deliveries(tx, caller, name):
            raise conflict(f"The delivery source {name} is used by a delivery, so its resource and type cannot change.")
    source = DeliverySource(name, resource_arn, log_type, delivery_source_configuration, dict(tags or {}))
    tx.resources.put(caller.scope, source)
    return {"deliverySource": source.described(caller.scope)}


@operation("GetDeliverySource")
def get_delivery_source(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Show a source.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetDeliverySource.html
    """
    tx.services.authorize(tx, caller, "logs:GetDeliverySource", source_arn(caller.scope, name))
    return {"deliverySource": existing_source(tx, caller, name).described(caller.scope)}


@operation("DescribeDeliverySources")
def describe_delivery_sources(
    tx: Transaction, caller: Caller, *, next_token: str | None = None, limit: int | None = None,
    resource_arns: Sequence[str] | None = None,
) -> Document:  # fmt: skip
    """List sources by name: all, or those of these resources.

    Errors: InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeDeliverySources.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeDeliverySources", "*")
    after = "" if next_token is None else str(read_list_token(next_token)[0])
    size = limit or limits.DESCRIBED_MAX
    found = [
        source
        for source in tx.resources.list(DeliverySource, caller.scope, after=after)
        if not resource_arns or source.resource_arn in resource_arns
    ]
    return {
        "deliverySources": [source.described(caller.scope) for source in found[:size]],
        "nextToken": list_token(found[size - 1].name) if len(found) > size else None,
    }


@operation("DeleteDeliverySource")
def delete_delivery_source(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Delete a source that no delivery uses.

    Errors: ResourceNotFoundException; ConflictException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteDeliverySource.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteDeliverySource", source_arn(caller.scope, name))
    existing_source(tx, caller, name)
    if _deliveries(tx, caller, name):
        raise conflict(f"The delivery source {name} is used by a delivery. Delete the delivery first.")
    tx.resources.delete(DeliverySource, caller.scope, name)
    return {}


def existing_source(tx: Transaction, caller: Caller, name: str) -> DeliverySource:
    """The source with this name. Errors: ResourceNotFoundException."""
    found = tx.resources.get(DeliverySource, caller.scope, name)
    if found is None:
        raise missing("Delivery source", name)
    return found


def _deliveries(tx: Transaction, caller: Caller, name: str) -> list[LogDelivery]:
    return [one for one in tx.resources.list(LogDelivery, caller.scope) if one.source_name == name]
