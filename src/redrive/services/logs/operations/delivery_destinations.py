"""The operations on delivery destinations: where vended logs can go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs import limits
from redrive.services.logs.model.delivery import (
    DeliveryDestination,
    LogDelivery,
    conflict,
    destination_arn,
    missing,
    type_of,
)
from redrive.services.logs.model.group import check_tags
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.store.api import Transaction


@operation("PutDeliveryDestination")
def put_delivery_destination(
    tx: Transaction, caller: Caller, *, name: str, output_format: str | None = None,
    delivery_destination_configuration: Document | None = None, delivery_destination_type: str | None = None,
    role_arn: str | None = None, tags: Mapping[str, str] | None = None,
) -> Document:  # fmt: skip
    """Create or replace a destination.

    Errors: ValidationException; ConflictException (a destination in use that would change its resource).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutDeliveryDestination.html
    """
    tx.services.authorize(tx, caller, "logs:PutDeliveryDestination", destination_arn(caller.scope, name))
    check_tags(tags or {})
    resource_arn = str((delivery_destination_configuration or {}).get("destinationResourceArn", "")).removesuffix(":*")
    known = tx.resources.get(DeliveryDestination, caller.scope, name)
    destination = DeliveryDestination(
        name, type_of(resource_arn, delivery_destination_type), resource_arn, output_format, role_arn, dict(tags or {})
    )  # fmt: skip
    if known is not None and known.resource_arn != resource_arn and _deliveries(tx, caller, name):
        raise conflict(f"The delivery destination {name} is used by a delivery, so its resource cannot change.")
    tx.resources.put(caller.scope, destination)
    return {"deliveryDestination": destination.described(caller.scope)}


@operation("GetDeliveryDestination")
def get_delivery_destination(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Show a destination.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetDeliveryDestination.html
    """
    tx.services.authorize(tx, caller, "logs:GetDeliveryDestination", destination_arn(caller.scope, name))
    return {"deliveryDestination": existing_destination(tx, caller, name).described(caller.scope)}


@operation("DescribeDeliveryDestinations")
def describe_delivery_destinations(
    tx: Transaction, caller: Caller, *, next_token: str | None = None, limit: int | None = None,
    names: Sequence[str] | None = None,
) -> Document:  # fmt: skip
    """List destinations by name: all, or those with these names.

    Errors: InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeDeliveryDestinations.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeDeliveryDestinations", "*")
    after = "" if next_token is None else str(read_list_token(next_token)[0])
    size = limit or limits.DESCRIBED_MAX
    found = [
        destination
        for destination in tx.resources.list(DeliveryDestination, caller.scope, after=after)
        if not names or destination.name in names
    ]
    return {
        "deliveryDestinations": [destination.described(caller.scope) for destination in found[:size]],
        "nextToken": list_token(found[size - 1].name) if len(found) > size else None,
    }


@operation("DeleteDeliveryDestination")
def delete_delivery_destination(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Delete a destination that no delivery uses.

    Errors: ResourceNotFoundException; ConflictException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteDeliveryDestination.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteDeliveryDestination", destination_arn(caller.scope, name))
    existing_destination(tx, caller, name)
    if _deliveries(tx, caller, name):
        raise conflict(f"The delivery destination {name} is used by a delivery. Delete the delivery first.")
    tx.resources.delete(DeliveryDestination, caller.scope, name)
    return {}


def existing_destination(tx: Transaction, caller: Caller, name: str) -> DeliveryDestination:
    """The destination with this name. Errors: ResourceNotFoundException."""
    found = tx.resources.get(DeliveryDestination, caller.scope, name)
    if found is None:
        raise missing("Delivery destination", name)
    return found


def _deliveries(tx: Transaction, caller: Caller, name: str) -> list[LogDelivery]:
    return [one for one in tx.resources.list(LogDelivery, caller.scope) if one.destination_name == name]
