"""The operations on API destinations."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.events import limits
from redrive.services.events.api_calls import connection_of
from redrive.services.events.listing import Asked, listed
from redrive.services.events.model.api_destination import (
    CALLS_PER_S_DEFAULT,
    ApiDestination,
    CallRate,
    is_callable,
    state_of,
)
from redrive.services.events.model.connection import Connection, name_of_arn
from redrive.services.events.model.requests import exists_already, invalid, limit_exceeded, not_found
from redrive.store.api import Transaction


@operation("CreateApiDestination")
def create_api_destination(
    tx: Transaction, caller: Caller, *, name: str, connection_arn: str, invocation_endpoint: str, http_method: str,
    description: str | None = None, invocation_rate_limit_per_second: int | None = None,
) -> Document:  # fmt: skip
    """Create an API destination.

    Errors: ResourceAlreadyExistsException; ResourceNotFoundException (the connection); LimitExceededException (3,000
    API destinations); ValidationException (an endpoint that is no HTTPS URL).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateApiDestination.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:CreateApiDestination", _arn_pattern(scope, name))
    if tx.resources.get(ApiDestination, scope, name) is not None:
        raise exists_already("An api-destination", f"'{name}'")
    if tx.services.limits is Limits.STRICT and tx.resources.count(ApiDestination, scope) >= limits.API_DESTINATIONS_MAX:
        raise limit_exceeded()
    _checked_connection(tx, scope, connection_arn)
    _check_endpoint(invocation_endpoint)
    destination = ApiDestination(
        name, new_uuid(tx.entropy), connection_arn, invocation_endpoint, http_method, tx.now, tx.now,
        invocation_rate_limit_per_second, description,
    )  # fmt: skip
    tx.resources.put(scope, destination)
    return _answer(tx, scope, destination)


@operation("UpdateApiDestination")
def update_api_destination(
    tx: Transaction, caller: Caller, *, name: str, description: str | None = None, connection_arn: str | None = None,
    invocation_endpoint: str | None = None, http_method: str | None = None,
    invocation_rate_limit_per_second: int | None = None,
) -> Document:  # fmt: skip
    """Change settings of an API destination; what is not sent stays as it is. Waiting deliveries use the new settings.

    Errors: ResourceNotFoundException; ValidationException (an endpoint that is no HTTPS URL).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_UpdateApiDestination.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:UpdateApiDestination", _arn_pattern(scope, name))
    known = _the_destination(tx, scope, name)
    rate = invocation_rate_limit_per_second
    changed = replace(
        known,
        connection_arn=connection_arn or known.connection_arn, endpoint=invocation_endpoint or known.endpoint,
        method=http_method or known.method, calls_per_s=known.calls_per_s if rate is None else rate,
        description=known.description if description is None else description, modified_at=tx.now,
    )  # fmt: skip
    _checked_connection(tx, scope, changed.connection_arn)
    _check_endpoint(changed.endpoint)
    tx.resources.put(scope, changed)
    return _answer(tx, scope, changed)


@operation("DeleteApiDestination")
def delete_api_destination(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Delete an API destination. Deliveries that still wait for it fail.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeleteApiDestination.html
    """
    tx.services.authorize(tx, caller, "events:DeleteApiDestination", _arn_pattern(caller.scope, name))
    destination = _the_destination(tx, caller.scope, name)
    tx.resources.delete(ApiDestination, caller.scope, name)
    tx.resources.delete(CallRate, caller.scope, destination.name)
    return {}


@operation("DescribeApiDestination")
def describe_api_destination(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Show an API destination.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribeApiDestination.html
    """
    tx.services.authorize(tx, caller, "events:DescribeApiDestination", _arn_pattern(caller.scope, name))
    destination = _the_destination(tx, caller.scope, name)
    return {**_overview(tx, caller.scope, destination), "Description": destination.description}


@operation("ListApiDestinations")
def list_api_destinations(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, connection_arn: str | None = None,
    next_token: str | None = None, limit: int | None = None,
) -> Document:  # fmt: skip
    """List API destinations sorted by name.

    Errors: ValidationException (an invalid NextToken).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListApiDestinations.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:ListApiDestinations", _arn_pattern(scope, "*"))
    asked = Asked("ListApiDestinations", name_prefix, (connection_arn,), next_token, limit)
    page, token = listed(
        tx, ApiDestination, scope, asked, lambda destination: connection_arn in (None, destination.connection_arn)
    )
    return {"ApiDestinations": [_overview(tx, scope, destination) for destination in page], "NextToken": token}


def _the_destination(tx: Transaction, scope: Scope, name: str) -> ApiDestination:
    destination = tx.resources.get(ApiDestination, scope, name)
    if destination is None:
        raise not_found(f"Failed to describe the api-destination(s). An api-destination '{name}' does not exist.")
    return destination


def _checked_connection(tx: Transaction, scope: Scope, arn: str) -> Connection:
    connection = connection_of(tx, scope, arn)
    if connection is None:
        raise not_found(f"Connection '{name_of_arn(arn)}' does not exist.")
    return connection


def _check_endpoint(endpoint: str) -> None:
    if not is_callable(endpoint):
        raise invalid("Parameter InvocationEndpoint is not valid. Reason: The endpoint must be an HTTPS URL.")


def _arn_pattern(scope: Scope, name: str) -> str:
    return f"arn:aws:events:{scope.region}:{scope.account}:api-destination/{name}"


def _answer(tx: Transaction, scope: Scope, destination: ApiDestination) -> Document:
    return {
        "ApiDestinationArn": destination.arn(scope),
        "ApiDestinationState": state_of(connection_of(tx, scope, destination.connection_arn)).value,
        "CreationTime": destination.created_at, "LastModifiedTime": destination.modified_at,
    }  # fmt: skip


def _overview(tx: Transaction, scope: Scope, destination: ApiDestination) -> Document:
    return {
        **_answer(tx, scope, destination), "Name": destination.name, "ConnectionArn": destination.connection_arn,
        "InvocationEndpoint": destination.endpoint, "HttpMethod": destination.method,
        "InvocationRateLimitPerSecond": destination.calls_per_s or CALLS_PER_S_DEFAULT,
    }  # fmt: skip
