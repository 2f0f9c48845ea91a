"""What a connection adds to calls that another service makes: HTTP tasks of state machines.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/call-https-apis.html
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.arn import Arn
from redrive.core.connected_calls import ConnectedCall
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.services.events.api_calls import connection_of
from redrive.services.events.connections import has_token, renew_if_due, renew_refused
from redrive.services.events.model.connection import Connection, ConnectionState
from redrive.services.events.model.http_request import authorization, pairs_of
from redrive.store.api import Transaction

_RETRIEVE = "events:RetrieveConnectionCredentials"
_OF_SECRET = ("secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret")
_USABLE = frozenset({ConnectionState.AUTHORIZED, ConnectionState.ACTIVE})


def connection(tx: Transaction, caller: Caller, arn: str) -> ConnectedCall | None:
    """See store.api.Services."""
    scope = _scope_of(arn)
    found = connection_of(tx, scope, arn)
    if found is None:
        raise ServiceError("ResourceNotFound", f"Connection '{arn}' does not exist.")
    _authorize(tx, caller, found, scope)
    if found.is_oauth:
        found = renew_if_due(tx, scope, found)
        if found.state is ConnectionState.AUTHORIZING:
            raise ServiceError("AuthInProgress", f"Connection '{found.name}' is being authorized.")
        if found.state is ConnectionState.AUTHORIZED and not has_token(found, tx.now):
            return None
    if found.state not in _USABLE:
        raise ServiceError("InvalidConnectionState", f"Connection '{found.name}' is {found.state.value}.")
    http = found.http_parameters
    headers = [*pairs_of(http.get("HeaderParameters")).items(), *authorization(found)]
    return ConnectedCall(
        headers, pairs_of(http.get("QueryStringParameters")), pairs_of(http.get("BodyParameters"))
    )  # fmt: skip


def connection_refused(tx: Transaction, arn: str, headers: Sequence[tuple[str, str]]) -> None:
    """See store.api.Services."""
    scope = _scope_of(arn)
    found = connection_of(tx, scope, arn)
    if found is None or not found.is_oauth or not found.token:
        return
    if ("Authorization", f"Bearer {found.token}") in headers:
        renew_refused(tx, scope, found)


def _authorize(tx: Transaction, caller: Caller, found: Connection, scope: Scope) -> None:
    """Ask for the permissions to use a connection and to read its secret. Errors: AccessDenied."""
    try:
        tx.services.authorize(tx, caller, _RETRIEVE, found.arn(scope))
        for action in _OF_SECRET:
            tx.services.authorize(tx, caller, action, found.secret_arn(scope))
    except ServiceError as error:
        raise ServiceError("AccessDenied", error.message) from error


def _scope_of(arn: str) -> Scope:
    """The scope of a connection's ARN. Errors: ResourceNotFound (it is none)."""
    try:
        parsed = Arn.parse(arn)
    except ValueError as error:
        raise ServiceError("ResourceNotFound", f"'{arn}' is no ARN of a connection.") from error
    if parsed.service != "events" or not parsed.resource.startswith("connection/"):
        raise ServiceError("ResourceNotFound", f"'{arn}' is no ARN of a connection.")
    return Scope(parsed.account, parsed.region)
