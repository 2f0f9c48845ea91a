"""The operations on destinations: streams that logs of other accounts may be sent to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import PolicyError, PolicyKind, parse_policy, passed_to
from redrive.services.logs import limits
from redrive.services.logs.model.filters import Destination, subscribed_destination_arn
from redrive.services.logs.model.group import check_tags, invalid_parameter
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.services.logs.subscriptions import PRINCIPAL
from redrive.store.api import Transaction


@operation("PutDestination")
def put_destination(
    tx: Transaction, caller: Caller, *, destination_name: str, target_arn: str, role_arn: str,
    tags: Mapping[str, str] | None = None,
) -> Document:  # fmt: skip
    """Create or replace a destination. Its policy stays; without one, only this account may subscribe to it.

    Errors: InvalidParameterException (a target that is no Kinesis stream); AccessDeniedException (iam:PassRole).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutDestination.html
    """
    arn = subscribed_destination_arn(caller.scope, destination_name)
    tx.services.authorize(tx, caller, "logs:PutDestination", arn)
    check_tags(tags or {})
    try:
        service = Arn.parse(target_arn).service
    except ValueError as error:
        raise invalid_parameter(f"targetArn is {error}.") from error
    if service != "kinesis":
        raise invalid_parameter(f"A destination's target is a Kinesis stream here, not {target_arn}.")
    tx.services.authorize(tx, caller, "iam:PassRole", role_arn, context=passed_to(PRINCIPAL, arn))
    known = tx.resources.get(Destination, caller.scope, destination_name)
    if known is None:
        destination = Destination(destination_name, target_arn, role_arn, tx.now, tags=dict(tags or {}))
    else:
        destination = replace(known, target_arn=target_arn, role_arn=role_arn)
    tx.resources.put(caller.scope, destination)
    return {"destination": destination.described(caller.scope)}


@operation("PutDestinationPolicy")
def put_destination_policy(
    tx: Transaction,
    caller: Caller,
    *,
    destination_name: str,
    access_policy: str,
    force_update: bool | None = None,  # noqa: ARG001 -- policies that narrow are taken anyway.
) -> Document:
    """Say which accounts may subscribe to a destination.

    Errors: InvalidParameterException (the policy); ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutDestinationPolicy.html
    """
    arn = subscribed_destination_arn(caller.scope, destination_name)
    tx.services.authorize(tx, caller, "logs:PutDestinationPolicy", arn)
    known = _existing(tx, caller, destination_name)
    try:
        parse_policy(access_policy, PolicyKind.RESOURCE)
    except PolicyError as error:
        raise invalid_parameter(f"Invalid Policy Document: {error}") from error
    tx.resources.put(caller.scope, replace(known, access_policy=access_policy))
    return {}


@operation("DescribeDestinations")
def describe_destinations(
    tx: Transaction, caller: Caller, *, destination_name_prefix: str | None = None, next_token: str | None = None,
    limit: int | None = None,
) -> Document:  # fmt: skip
    """List destinations by name.

    Errors: InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeDestinations.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeDestinations", "*")
    after = "" if next_token is None else str(read_list_token(next_token)[0])
    size = limit or limits.DESCRIBED_MAX
    found = tx.resources.list(
        Destination, caller.scope, prefix=destination_name_prefix or "", after=after, limit=size + 1
    )  # fmt: skip
    token = list_token(found[size - 1].name) if len(found) > size else None
    return {"destinations": [one.described(caller.scope) for one in found[:size]], "nextToken": token}


@operation("DeleteDestination")
def delete_destination(tx: Transaction, caller: Caller, *, destination_name: str) -> Document:
    """Delete a destination. Filters that name it fail from now on.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteDestination.html
    """
    arn = subscribed_destination_arn(caller.scope, destination_name)
    tx.services.authorize(tx, caller, "logs:DeleteDestination", arn)
    _existing(tx, caller, destination_name)
    tx.resources.delete(Destination, caller.scope, destination_name)
    return {}


def _existing(tx: Transaction, caller: Caller, name: str) -> Destination:
    """The destination with this name. Errors: ResourceNotFoundException."""
    found = tx.resources.get(Destination, caller.scope, name)
    if found is None:
        raise ServiceError("ResourceNotFoundException", "The specified destination does not exist.")
    return found
