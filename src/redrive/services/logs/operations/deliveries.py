"""The operations on deliveries: which source's logs go to which destination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs import limits
from redrive.services.logs.model.delivery import (
    POLICY_NAME,
    PRINCIPAL,
    DeliveryDestination,
    DestinationType,
    LogDelivery,
    conflict,
    delivery_arn,
    destination_arn,
    invalid,
    missing,
    source_arn,
)
from redrive.services.logs.model.group import check_tags, group_name_of_arn, policy_arn
from redrive.services.logs.model.resource_policy import ResourcePolicy
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.services.logs.operations.delivery_destinations import existing_destination
from redrive.services.logs.operations.delivery_sources import existing_source
from redrive.services.logs.operations.resource_policies import put_resource_policy
from redrive.services.logs.vending import may_write
from redrive.store.api import Transaction

_ID_DIGITS = 16


@operation("CreateDelivery")
def create_delivery(
    tx: Transaction, caller: Caller, *, delivery_source_name: str, delivery_destination_arn: str,
    record_fields: Sequence[str] | None = None, field_delimiter: str | None = None,
    s3_delivery_configuration: Document | None = None, tags: Mapping[str, str] | None = None,
) -> Document:  # fmt: skip
    """Let a source's logs go to a destination, from now on.

    If no resource policy lets logs be written to the group, the caller must be allowed to write one, and it is written.
    Errors: ResourceNotFoundException; ConflictException (there is such a delivery); AccessDeniedException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateDelivery.html
    """
    tx.services.authorize(tx, caller, "logs:CreateDelivery", source_arn(caller.scope, delivery_source_name))
    tx.services.authorize(tx, caller, "logs:CreateDelivery", delivery_destination_arn)
    check_tags(tags or {})
    source = existing_source(tx, caller, delivery_source_name)
    destination = _destination_of(tx, caller, delivery_destination_arn)
    for other in tx.resources.list(LogDelivery, caller.scope):
        if (other.source_name, other.destination_name) == (source.name, destination.name):
            raise conflict(f"The delivery {other.id} connects this source and this destination already.")
    given = {"fieldDelimiter": field_delimiter, "s3DeliveryConfiguration": s3_delivery_configuration}
    delivery = LogDelivery(
        tx.entropy.hex(_ID_DIGITS), source.name, destination.name, destination.type, source.resource_arn,
        source.log_type, record_fields=tuple(record_fields or ()),
        settings={name: value for name, value in given.items() if value is not None}, tags=dict(tags or {}),
    )  # fmt: skip
    if destination.type is DestinationType.CWL:
        delivery = replace(delivery, group_name=group_name_of_arn(caller.scope, destination.resource_arn))
        if not may_write(tx, caller.scope, delivery):
            _allow(tx, caller, delivery.group_name)
    tx.resources.put(caller.scope, delivery)
    return {"delivery": delivery.described(caller.scope)}


@operation("GetDelivery")
def get_delivery(tx: Transaction, caller: Caller, *, id: str) -> Document:
    """Show a delivery.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetDelivery.html
    """
    tx.services.authorize(tx, caller, "logs:GetDelivery", delivery_arn(caller.scope, id))
    return {"delivery": _existing(tx, caller, id).described(caller.scope)}


@operation("DescribeDeliveries")
def describe_deliveries(
    tx: Transaction, caller: Caller, *, next_token: str | None = None, limit: int | None = None,
    delivery_source_names: Sequence[str] | None = None,
) -> Document:  # fmt: skip
    """List deliveries by id: all, or those of these sources.

    Errors: InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeDeliveries.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeDeliveries", "*")
    after = "" if next_token is None else str(read_list_token(next_token)[0])
    size = limit or limits.DESCRIBED_MAX
    found = [
        delivery
        for delivery in tx.resources.list(LogDelivery, caller.scope, after=after)
        if not delivery_source_names or delivery.source_name in delivery_source_names
    ]
    return {
        "deliveries": [delivery.described(caller.scope) for delivery in found[:size]],
        "nextToken": list_token(found[size - 1].name) if len(found) > size else None,
    }


@operation("UpdateDeliveryConfiguration")
def update_delivery_configuration(
    tx: Transaction, caller: Caller, *, id: str, record_fields: Sequence[str] | None = None,
    field_delimiter: str | None = None, s3_delivery_configuration: Document | None = None,
) -> Document:  # fmt: skip
    """Change which fields a delivery writes, and how; what is not sent stays.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_UpdateDeliveryConfiguration.html
    """
    tx.services.authorize(tx, caller, "logs:UpdateDeliveryConfiguration", delivery_arn(caller.scope, id))
    delivery = _existing(tx, caller, id)
    given = {"fieldDelimiter": field_delimiter, "s3DeliveryConfiguration": s3_delivery_configuration}
    changed = replace(
        delivery, record_fields=delivery.record_fields if record_fields is None else tuple(record_fields),
        settings={**delivery.settings, **{name: value for name, value in given.items() if value is not None}},
    )  # fmt: skip
    tx.resources.put(caller.scope, changed)
    return {}


@operation("DeleteDelivery")
def delete_delivery(tx: Transaction, caller: Caller, *, id: str) -> Document:
    """End a delivery; its source and its destination stay.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteDelivery.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteDelivery", delivery_arn(caller.scope, id))
    _existing(tx, caller, id)
    tx.resources.delete(LogDelivery, caller.scope, id)
    return {}


def _existing(tx: Transaction, caller: Caller, id: str) -> LogDelivery:
    found = tx.resources.get(LogDelivery, caller.scope, id)
    if found is None:
        raise missing("Delivery", id)
    return found


def _destination_of(tx: Transaction, caller: Caller, arn: str) -> DeliveryDestination:
    """The destination with this ARN. Errors: ResourceNotFoundException; ValidationException."""
    prefix = destination_arn(caller.scope, "")
    if not arn.startswith("arn:"):
        raise invalid(f"{arn} is not the ARN of a delivery destination.")
    if not arn.startswith(prefix):
        raise missing("Delivery destination", arn)
    return existing_destination(tx, caller, arn.removeprefix(prefix))


def _allow(tx: Transaction, caller: Caller, group_name: str) -> None:
    """Add a statement for a group to the policy that AWS writes itself. Errors: AccessDeniedException."""
    known = tx.resources.get(ResourcePolicy, caller.scope, POLICY_NAME)
    document = {"Version": "2012-10-17", "Statement": []} if known is None else load_json(known.document)
    statements = document["Statement"]
    statement = {
        "Sid": f"{POLICY_NAME}{len(statements) + 1}", "Effect": "Allow", "Principal": {"Service": PRINCIPAL},
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": policy_arn(caller.scope, group_name, "*"),
        "Condition": {"StringEquals": {"aws:SourceAccount": caller.account}},
    }  # fmt: skip
    document["Statement"] = [*statements, statement]
    try:
        put_resource_policy(tx, caller, policy_name=POLICY_NAME, policy_document=dump_json(document))
    except ServiceError as error:
        if error.code == "AccessDeniedException":
            raise
        raise ServiceError("AccessDeniedException", f"No policy lets {PRINCIPAL} write: {error.message}") from error
