"""The operations on a function's event configuration: retries and destinations of asynchronous events."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.lambda_.buckets import async_folder, check_bucket
from redrive.services.lambda_.limits import PAGE_ITEMS_MAX
from redrive.services.lambda_.model.event_invoke import EventInvokeConfig, config_name, event_invoke_config
from redrive.services.lambda_.model.function import (
    LATEST,
    Function,
    invalid_parameter,
    lambda_error,
    parse_reference,
    unavailable,
)
from redrive.services.lambda_.operations.functions import authorized_function, authorized_reference
from redrive.services.lambda_.queues import authorize_on_queue, queue_exists
from redrive.services.lambda_.runs import function_caller
from redrive.services.lambda_.topics import authorize_on_topic, topic_exists
from redrive.services.lambda_.versions import find_version, get_version
from redrive.store.api import Transaction


@operation("PutFunctionEventInvokeConfig")
def put_function_event_invoke_config(
    tx: Transaction, caller: Caller, *,
    function_name: str, qualifier: str | None = None, maximum_retry_attempts: int | None = None,
    maximum_event_age_in_seconds: int | None = None, destination_config: Document | None = None,
) -> Document:  # fmt: skip
    """Set a function's event configuration; parameters that are not given get their defaults.

    Errors: ResourceNotFoundException (function); InvalidParameterValueException (no parameter; a destination that is
    the function itself, does not exist, may not be written, or is of an unsupported kind).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionEventInvokeConfig.html
    """
    function, name = _configured(tx, caller, "lambda:PutFunctionEventInvokeConfig", function_name, qualifier)
    return _store(
        tx, caller, function, EventInvokeConfig(name, function.arn, tx.now),
        retries_max=maximum_retry_attempts, age_s_max=maximum_event_age_in_seconds, destinations=destination_config,
    )  # fmt: skip


@operation("UpdateFunctionEventInvokeConfig")
def update_function_event_invoke_config(
    tx: Transaction, caller: Caller, *,
    function_name: str, qualifier: str | None = None, maximum_retry_attempts: int | None = None,
    maximum_event_age_in_seconds: int | None = None, destination_config: Document | None = None,
) -> Document:  # fmt: skip
    """Change parts of a function's event configuration.

    Errors: as PutFunctionEventInvokeConfig; ResourceNotFoundException (no configuration yet).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateFunctionEventInvokeConfig.html
    """
    function, name = _configured(tx, caller, "lambda:UpdateFunctionEventInvokeConfig", function_name, qualifier)
    return _store(
        tx, caller, function, _existing(tx, caller, function, name),
        retries_max=maximum_retry_attempts, age_s_max=maximum_event_age_in_seconds, destinations=destination_config,
    )  # fmt: skip


@operation("GetFunctionEventInvokeConfig")
def get_function_event_invoke_config(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None
) -> Document:
    """Return a function's event configuration.

    Errors: ResourceNotFoundException (function, or configuration).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionEventInvokeConfig.html
    """
    function, name = _configured(tx, caller, "lambda:GetFunctionEventInvokeConfig", function_name, qualifier)
    return event_invoke_config(_existing(tx, caller, function, name))


@operation("ListFunctionEventInvokeConfigs")
def list_function_event_invoke_configs(
    tx: Transaction, caller: Caller, *, function_name: str, marker: str = "", max_items: int = PAGE_ITEMS_MAX
) -> Document:
    """List the event configurations of a function: that of $LATEST, then those of its versions and aliases.

    Errors: ResourceNotFoundException (function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctionEventInvokeConfigs.html
    """
    function = authorized_function(tx, caller, "lambda:ListFunctionEventInvokeConfigs", function_name)
    config = tx.resources.get(EventInvokeConfig, caller.scope, function.name)
    qualified = tx.resources.list(EventInvokeConfig, caller.scope, prefix=f"{function.name}:", after=marker)
    found = [*([] if config is None or marker else [config]), *qualified]
    limit = min(max_items, PAGE_ITEMS_MAX)
    answer: Document = {"FunctionEventInvokeConfigs": [event_invoke_config(one) for one in found[:limit]]}
    if len(found) > limit:
        answer["NextMarker"] = found[limit - 1].name
    return answer


@operation("DeleteFunctionEventInvokeConfig")
def delete_function_event_invoke_config(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None
) -> Document:
    """Reset a function's event configuration to the defaults.

    Errors: ResourceNotFoundException (function, or configuration).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteFunctionEventInvokeConfig.html
    """
    function, name = _configured(tx, caller, "lambda:DeleteFunctionEventInvokeConfig", function_name, qualifier)
    tx.resources.delete(EventInvokeConfig, caller.scope, _existing(tx, caller, function, name).name)
    return {}


def _configured(
    tx: Transaction, caller: Caller, action: str, function_name: str, qualifier: str | None
) -> tuple[Function, str]:
    """Return the version that a caller named, and the name of its configuration. Errors: ResourceNotFoundException."""
    reference = authorized_reference(tx, caller, action, function_name, qualifier)
    return get_version(tx, reference), config_name(reference.name, reference.qualifier)


def _existing(tx: Transaction, caller: Caller, function: Function, name: str) -> EventInvokeConfig:
    config = tx.resources.get(EventInvokeConfig, caller.scope, name)
    if config is None:
        qualifier = name.partition(":")[2] or LATEST
        raise lambda_error(
            "ResourceNotFoundException", f"The function {function.arn}:{qualifier} doesn't have an EventInvokeConfig"
        )
    return config


def _store(
    tx: Transaction, caller: Caller, function: Function, config: EventInvokeConfig, *,
    retries_max: int | None, age_s_max: int | None, destinations: Document | None,
) -> Document:  # fmt: skip
    if retries_max is None and age_s_max is None and destinations is None:
        raise invalid_parameter("You must specify at least one of error handling or destination setting.")
    given = destinations or {}
    updated = replace(
        config,
        modified_at=tx.now,
        retries_max=config.retries_max if retries_max is None else retries_max,
        age_s_max=config.age_s_max if age_s_max is None else age_s_max,
        on_success_arn=_destination(given, "OnSuccess", config.on_success_arn),
        on_failure_arn=_destination(given, "OnFailure", config.on_failure_arn),
    )
    if updated.on_success_arn.startswith("arn:aws:s3:"):
        raise invalid_parameter("S3 buckets are supported only for on-failure destinations.")
    for destination in {updated.on_success_arn, updated.on_failure_arn} - {""}:
        _check_destination(tx, caller, function, destination)
    tx.resources.put(caller.scope, updated)
    return event_invoke_config(updated)


def _destination(destinations: Document, side: str, current: str) -> str:
    return str((destinations.get(side) or {}).get("Destination", current))


def _bus_exists(tx: Transaction, arn: Arn, request_id: str) -> bool:
    """Whether a bus exists, as its owner sees it."""
    owner = Caller(Scope(arn.account, arn.region), request_id)
    try:
        tx.services.call(tx, owner, "events", "DescribeEventBus", {"Name": str(arn)})
    except ServiceError:
        return False
    return True


def _check_destination(tx: Transaction, caller: Caller, function: Function, destination: str) -> None:
    """Check that a destination exists, is not the function itself, and that the function's role may write to it."""
    try:
        arn = Arn.parse(destination)
    except ValueError:
        raise invalid_parameter(f"The destination ARN {destination} is invalid.") from None
    match arn.service:
        case "sqs":
            action = "sqs:SendMessage"
            is_there = queue_exists(tx, destination, caller.request_id)
        case "lambda":
            action = "lambda:InvokeFunction"
            reference = parse_reference(destination, None, caller.scope)
            if reference.arn == function.arn:
                raise invalid_parameter("You can't specify the function as a destination for itself.")
            is_there = find_version(tx, reference.scope, reference.name, reference.qualifier) is not None
        case "sns":
            action = "sns:Publish"
            is_there = topic_exists(tx, destination, caller.request_id)
        case "events":
            action = "events:PutEvents"
            is_there = _bus_exists(tx, arn, caller.request_id)
        case "s3":
            check_bucket(tx, caller, function, destination, async_folder(function.name))
            return
        case _:
            raise unavailable(f"DestinationConfig with {destination}")
    if not is_there:
        raise invalid_parameter(f"The destination ARN {destination} is invalid.")
    try:
        session = function_caller(tx, function, caller.request_id)
        if arn.service == "sqs":
            authorize_on_queue(tx, session, action, destination)
        elif arn.service == "sns":
            authorize_on_topic(tx, session, action, destination)
        else:
            tx.services.authorize(tx, session, action, destination)
    except ServiceError:
        verb = action.partition(":")[2]
        raise invalid_parameter(
            f"The function's execution role does not have permissions to call {verb} on {destination}"
        ) from None
