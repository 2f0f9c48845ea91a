"""The operations on subscription filters."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.sources.call import Call
from redrive.languages.iam import passed_to
from redrive.services.logs import limits
from redrive.services.logs.filters import subscription_filters_of
from redrive.services.logs.model.filters import (
    SubscriptionFilter,
    control_payload,
    filter_key,
    read_filter,
)
from redrive.services.logs.model.group import group_arn, invalid_parameter, policy_arn
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.services.logs.operations.groups import existing_group
from redrive.services.logs.operations.metric_filters import reads_transformed, refuse_unserved
from redrive.services.logs.subscriptions import PRINCIPAL, destination_at, destination_call
from redrive.store.api import Transaction

_NO_FUNCTION = (
    "Could not execute the lambda function. Make sure you have given CloudWatch Logs permission to execute your "
    "function."
)
_NO_STREAM = (
    "Could not deliver test message to specified Kinesis stream. Check if the given kinesis stream is in ACTIVE state. "
)
_FOREIGN_FUNCTION = (
    "Cross-account lambda invocation passing is not allowed. You must use DestinationPolicies to create cross account "
    "lambda triggers."
)


@operation("PutSubscriptionFilter")
def put_subscription_filter(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str,
    filter_name: str,
    filter_pattern: str,
    destination_arn: str,
    role_arn: str | None = None,
    distribution: str | None = None,
    apply_on_transformed_logs: bool | None = None,
    field_selection_criteria: str | None = None,
    emit_system_fields: Sequence[str] | None = None,
) -> Document:
    """Create or replace a filter whose matches go to a function or a Kinesis stream, from now on.

    The destination is tried first: the function has to allow the call, a stream gets a control message.

    Errors: ResourceNotFoundException; LimitExceededException (2 of a group); AccessDeniedException (a function of
    another account, a role that may not be passed, a destination's policy); InvalidParameterException (the pattern, the
    destination, a Firehose stream).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutSubscriptionFilter.html
    """
    tx.services.authorize(tx, caller, "logs:PutSubscriptionFilter", policy_arn(caller.scope, log_group_name))
    refuse_unserved(field_selection_criteria, emit_system_fields)
    target = checked_target(caller, destination_arn, role_arn)
    group = existing_group(tx, caller, log_group_name)
    on_transformed = reads_transformed(tx, caller, group, apply_on_transformed_logs)
    read_filter(filter_pattern)
    known = tx.resources.get(SubscriptionFilter, caller.scope, filter_key(group.id, filter_name))
    others = subscription_filters_of(tx, caller.scope, group.id)
    if known is None and tx.services.limits is Limits.STRICT and len(others) >= limits.SUBSCRIPTION_FILTERS_MAX:
        raise ServiceError("LimitExceededException", "Resource limit exceeded.")
    source_arn = f"{group_arn(caller.scope, group.name)}:*"
    if role_arn is not None:
        tx.services.authorize(tx, caller, "iam:PassRole", role_arn, context=passed_to(PRINCIPAL, source_arn))
    try_target(tx, caller, target, destination_arn, role_arn or "", source_arn)
    created_at = tx.now if known is None else known.created_at
    stored = SubscriptionFilter(
        group.id, group.name, filter_name, filter_pattern, destination_arn, created_at, role_arn or "",
        distribution or "ByLogStream", on_transformed,
    )  # fmt: skip
    tx.resources.put(caller.scope, stored)
    return {}


@operation("DescribeSubscriptionFilters")
def describe_subscription_filters(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str,
    filter_name_prefix: str | None = None,
    next_token: str | None = None,
    limit: int | None = None,
) -> Document:
    """List the subscription filters of a group by name.

    Errors: ResourceNotFoundException; InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeSubscriptionFilters.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeSubscriptionFilters", policy_arn(caller.scope, log_group_name))
    group = existing_group(tx, caller, log_group_name)
    after = "" if next_token is None else str(read_list_token(next_token)[0])
    found = [
        one
        for one in subscription_filters_of(tx, caller.scope, group.id)
        if one.filter_name.startswith(filter_name_prefix or "") and one.filter_name > after
    ]
    size = limit or limits.DESCRIBED_MAX
    page = found[:size]
    token = list_token(page[-1].filter_name) if len(found) > size else None
    return {"subscriptionFilters": [one.described for one in page], "nextToken": token}


@operation("DeleteSubscriptionFilter")
def delete_subscription_filter(tx: Transaction, caller: Caller, *, log_group_name: str, filter_name: str) -> Document:
    """Delete a subscription filter. What it has promised is still delivered.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteSubscriptionFilter.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteSubscriptionFilter", policy_arn(caller.scope, log_group_name))
    group = existing_group(tx, caller, log_group_name)
    if not tx.resources.delete(SubscriptionFilter, caller.scope, filter_key(group.id, filter_name)):
        raise ServiceError("ResourceNotFoundException", "The specified subscription filter does not exist.")
    return {}


def checked_target(caller: Caller, destination_arn: str, role_arn: str | None) -> Arn:
    """The destination, as far as its ARN tells. Errors: InvalidParameterException; AccessDeniedException."""
    try:
        target = Arn.parse(destination_arn)
    except ValueError as error:
        raise invalid_parameter(f"destinationArn is {error}.") from error
    match target.service:
        case "lambda":
            if target.account != caller.account:
                raise ServiceError("AccessDeniedException", _FOREIGN_FUNCTION)
        case "kinesis":
            if role_arn is None:
                raise invalid_parameter("destinationArn for vendor kinesis cannot be used without roleArn")
        case "firehose":
            raise invalid_parameter("redrive does not serve Firehose, so no subscription can send to it.")
        case "logs" if target.resource.startswith("destination:"):
            pass
        case _:
            raise invalid_parameter(f"Logs cannot be sent to {destination_arn}.")
    return target


def try_target(
    tx: Transaction, caller: Caller, target: Arn, destination_arn: str, role_arn: str, source_arn: str
) -> None:
    """See whether the destination takes what it will get. Errors: InvalidParameterException; AccessDeniedException."""
    if target.service == "logs":
        destination = destination_at(tx, destination_arn)
        tx.services.authorize(
            tx, caller, "logs:PutSubscriptionFilter", destination_arn, policy=destination.access_policy
        )  # fmt: skip
        target = Arn.parse(destination.target_arn)
    data = control_payload(tx.now, new_uuid(tx.entropy))
    try:
        with tx.savepoint():
            call = destination_call(
                tx, caller.scope, destination_arn, role_arn, source_arn, data, place=new_uuid(tx.entropy)
            )
            if target.service == "lambda":
                call = _dry(call)
            tx.services.call(tx, call.caller, call.service, call.operation, call.params())
    except ServiceError as error:
        raise invalid_parameter(_NO_FUNCTION if target.service == "lambda" else _NO_STREAM) from error


def _dry(call: Call) -> Call:
    """The call of a function that asks only whether it may be called."""
    params = {**call.params(), "InvocationType": "DryRun"}
    return Call(call.caller, call.service, call.operation, lambda: params)
