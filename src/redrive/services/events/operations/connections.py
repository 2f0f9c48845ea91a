"""The operations on connections. The worker in `workers/connections.py` asks for OAuth tokens."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.events import limits, secrets
from redrive.services.events.connections import await_token
from redrive.services.events.listing import Asked, listed
from redrive.services.events.model.api_destination import is_callable
from redrive.services.events.model.connection import (
    BLOCKS,
    AuthorizationType,
    Connection,
    ConnectionState,
    shown_parameters,
)
from redrive.services.events.model.requests import exists_already, invalid, limit_exceeded, not_found, unsupported
from redrive.services.events.model.timers import CONNECTION_TIMER, timer_name
from redrive.services.events.secrets import find_connection, store_connection
from redrive.store.api import Transaction

_SECRET_SUFFIX_LENGTH = 6


@operation("CreateConnection")
def create_connection(
    tx: Transaction, caller: Caller, *, name: str, authorization_type: str, auth_parameters: Document,
    description: str | None = None, invocation_connectivity_parameters: Document | None = None,
    kms_key_identifier: str | None = None,
) -> Document:  # fmt: skip
    """Create a connection. One for OAuth is AUTHORIZING until the authorization endpoint has answered.

    Errors: ResourceAlreadyExistsException; LimitExceededException (3,000 connections); ValidationException (parameters
    that do not fit the type); OperationDisabledException (a private endpoint).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateConnection.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:CreateConnection", _arn_pattern(scope, name))
    _check_public(invocation_connectivity_parameters, auth_parameters)
    if tx.resources.get(Connection, scope, name) is not None:
        raise exists_already("Connection", name)
    if tx.services.limits is Limits.STRICT and tx.resources.count(Connection, scope) >= limits.CONNECTIONS_MAX:
        raise limit_exceeded()
    kind = AuthorizationType(authorization_type)
    _check_parameters(kind, auth_parameters)
    connection = Connection(
        name, new_uuid(tx.entropy), tx.entropy.hex(_SECRET_SUFFIX_LENGTH), kind, auth_parameters,
        ConnectionState.AUTHORIZED, tx.now, tx.now, None, description, kms_key_identifier,
    )  # fmt: skip
    created = _answer(scope, _authorized(tx, scope, connection))
    return {key: value for key, value in created.items() if key != "LastAuthorizedTime"}


@operation("UpdateConnection")
def update_connection(
    tx: Transaction, caller: Caller, *, name: str, description: str | None = None,
    authorization_type: str | None = None, auth_parameters: Document | None = None,
    invocation_connectivity_parameters: Document | None = None, kms_key_identifier: str | None = None,
) -> Document:  # fmt: skip
    """Change settings of a connection; what is not sent stays as it is. The connection is authorized anew.

    Errors: ResourceNotFoundException; ValidationException (parameters that do not fit the type);
    OperationDisabledException (a private endpoint).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_UpdateConnection.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:UpdateConnection", _arn_pattern(scope, name))
    _check_public(invocation_connectivity_parameters, auth_parameters or {})
    connection = the_connection(tx, scope, name)
    kind = connection.type if authorization_type is None else AuthorizationType(authorization_type)
    kept = {key: value for key, value in connection.parameters.items() if key not in BLOCKS or key == kind.block}
    parameters = _merged(kept, auth_parameters or {})
    _check_parameters(kind, parameters)
    changed = replace(
        connection, type=kind, parameters=parameters, modified_at=tx.now, state=ConnectionState.AUTHORIZED,
        reason=None,
        description=connection.description if description is None else description,
        kms_key=connection.kms_key if kms_key_identifier is None else kms_key_identifier,
    )  # fmt: skip
    return _answer(scope, _authorized(tx, scope, changed))


@operation("DeauthorizeConnection")
def deauthorize_connection(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Remove the secrets of a connection; calls that use the connection fail until it is updated.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeauthorizeConnection.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:DeauthorizeConnection", _arn_pattern(scope, name))
    connection = the_connection(tx, scope, name)
    left = replace(
        connection, parameters={}, state=ConnectionState.DEAUTHORIZED, modified_at=tx.now, token="", token_until=0,
        fence=connection.fence + 1, reason=None,
    )  # fmt: skip
    store_connection(tx, scope, left)
    tx.timers.clear(CONNECTION_TIMER, timer_name(scope, name))
    return _answer(scope, left, state=ConnectionState.DEAUTHORIZING)


@operation("DeleteConnection")
def delete_connection(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Delete a connection. API destinations that use the connection become inactive.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeleteConnection.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:DeleteConnection", _arn_pattern(scope, name))
    connection = the_connection(tx, scope, name)
    secrets.delete_connection(tx, scope, name)
    tx.timers.clear(CONNECTION_TIMER, timer_name(scope, name))
    return _answer(scope, connection, state=ConnectionState.DELETING)


@operation("DescribeConnection")
def describe_connection(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Show a connection without its secrets.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribeConnection.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:DescribeConnection", _arn_pattern(scope, name))
    connection = the_connection(tx, scope, name)
    return {
        **_overview(scope, connection), "Description": connection.description,
        "SecretArn": connection.secret_arn(scope), "KmsKeyIdentifier": connection.kms_key,
        "AuthParameters": shown_parameters(connection.parameters),
    }  # fmt: skip


@operation("ListConnections")
def list_connections(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, connection_state: str | None = None,
    next_token: str | None = None, limit: int | None = None,
) -> Document:  # fmt: skip
    """List connections sorted by name.

    Errors: ValidationException (an invalid NextToken).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListConnections.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "events:ListConnections", _arn_pattern(scope, "*"))
    asked = Asked("ListConnections", name_prefix, (connection_state,), next_token, limit)
    page, token = listed(
        tx, Connection, scope, asked, lambda connection: connection_state in (None, connection.state.value)
    )
    return {"Connections": [_overview(scope, connection) for connection in page], "NextToken": token}


def the_connection(tx: Transaction, scope: Scope, name: str) -> Connection:
    """The connection with this name. Errors: ResourceNotFoundException."""
    connection = find_connection(tx, scope, name)
    if connection is None:
        raise not_found(f"Failed to describe the connection(s). Connection '{name}' does not exist.")
    return connection


def _authorized(tx: Transaction, scope: Scope, connection: Connection) -> Connection:
    """Store a connection with new parameters: authorized, or on the way there."""
    if connection.is_oauth:
        unauthorized = replace(connection, state=ConnectionState.AUTHORIZING, token="", token_until=0)
        return await_token(tx, scope, unauthorized)
    authorized = replace(connection, authorized_at=tx.now, token="", token_until=0, fence=connection.fence + 1)
    tx.timers.clear(CONNECTION_TIMER, timer_name(scope, connection.name))
    store_connection(tx, scope, authorized)
    return authorized


def _check_public(connectivity: Document | None, parameters: Document) -> None:
    """Refuse private endpoints by name. Errors: OperationDisabledException."""
    if connectivity is not None:
        raise unsupported("connections to private APIs (InvocationConnectivityParameters)")
    if "ConnectivityParameters" in parameters:
        raise unsupported("private OAuth endpoints (ConnectivityParameters)")


def _check_parameters(kind: AuthorizationType, parameters: Document) -> None:
    """Refuse parameters that do not fit the type. Errors: ValidationException."""
    blocks = BLOCKS & parameters.keys()
    if blocks != {kind.block} or not _REQUIRED[kind] <= _flat(parameters[kind.block]):
        raise invalid(f"Parameter AuthParameters is not valid. Reason: {kind.value} needs {kind.block}, and no other.")
    if kind is AuthorizationType.OAUTH_CLIENT_CREDENTIALS:
        endpoint = parameters[kind.block]["AuthorizationEndpoint"]
        if not is_callable(endpoint):
            raise invalid("Parameter AuthorizationEndpoint is not valid. Reason: The endpoint must be an HTTPS URL.")


_REQUIRED = {
    AuthorizationType.BASIC: {"Username", "Password"},
    AuthorizationType.API_KEY: {"ApiKeyName", "ApiKeyValue"},
    AuthorizationType.OAUTH_CLIENT_CREDENTIALS: {
        "AuthorizationEndpoint", "ClientID", "ClientParameters", "ClientSecret", "HttpMethod",
    },
}  # fmt: skip
"""What an update of the type, or of a deauthorized connection, must bring along: the wire asks only at the creation."""


def _flat(block: Document) -> set[str]:
    return {*block, *(block.get("ClientParameters") or {})}


def _merged(kept: Document, changes: Document) -> Document:
    """Parameters with changes; documents inside are merged as well, lists are replaced."""
    merged = dict(kept)
    for key, value in changes.items():
        is_inner = isinstance(value, dict) and isinstance(kept.get(key), dict)
        merged[key] = _merged(kept[key], value) if is_inner else value
    return merged


def _arn_pattern(scope: Scope, name: str) -> str:
    return f"arn:aws:events:{scope.region}:{scope.account}:connection/{name}"


def _answer(scope: Scope, connection: Connection, *, state: ConnectionState | None = None) -> Document:
    return {
        "ConnectionArn": connection.arn(scope), "ConnectionState": (state or connection.state).value,
        "CreationTime": connection.created_at, "LastModifiedTime": connection.modified_at,
        "LastAuthorizedTime": connection.authorized_at,
    }  # fmt: skip


def _overview(scope: Scope, connection: Connection) -> Document:
    return {
        **_answer(scope, connection), "Name": connection.name, "StateReason": connection.reason,
        "AuthorizationType": connection.type.value,
    }  # fmt: skip
