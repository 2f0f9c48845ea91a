"""Deliveries to API destinations: the HTTP call of an attempt, when it may go out, and what its answer means.

A call is an errand outside of any transaction. A call that must wait, for a token or for the destination's rate, counts
as no attempt.
"""

from __future__ import annotations

from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Scope
from redrive.delivery.outside.http_call import HttpCall, HttpEnding, HttpResult
from redrive.delivery.sources.call import Later
from redrive.services.events.connections import has_token, renew_if_due, renew_refused
from redrive.services.events.limits import TOKEN_POLL_MS
from redrive.services.events.model.api_destination import (
    CALLS_PER_S_DEFAULT,
    ApiDestination,
    ApiDestinationState,
    CallRate,
    state_of,
)
from redrive.services.events.model.connection import Connection, ConnectionState, name_of_arn
from redrive.services.events.model.http_answer import UNAUTHORIZED
from redrive.services.events.model.http_request import destination_call
from redrive.services.events.model.targets import value_at
from redrive.services.events.timers import CALL_TIMER
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

_JSON_PATH = "$."


def api_call(tx: Transaction, delivery: Delivery, target: Document, event: Document, body: str) -> HttpCall | Later:
    """The call of this attempt, or when to ask again.

    Errors: ResourceNotFoundException (the API destination or its connection is gone); ServiceUnavailable, which is
    retried (the connection is not authorized).
    """
    scope = delivery.scope
    destination = _destination(tx, scope, target["Arn"])
    connection = connection_of(tx, scope, destination.connection_arn)
    if connection is None:
        raise _gone(f"Connection '{name_of_arn(destination.connection_arn)}' does not exist.")
    if connection.is_oauth:
        connection = renew_if_due(tx, scope, connection)
        is_awaited = connection.state in (ConnectionState.AUTHORIZED, ConnectionState.AUTHORIZING)
        if is_awaited and not has_token(connection, tx.now):
            return Later(tx.now + TOKEN_POLL_MS)
    if state_of(connection) is ApiDestinationState.INACTIVE:
        message = f"Connection '{connection.name}' is {connection.state.value}."
        raise ServiceError("ServiceUnavailable", message, http_status=503, fault="server")
    at = _admitted(tx, delivery, destination)
    if at > tx.now:
        return Later(at)
    return destination_call(destination, connection, _resolved(target.get("HttpParameters") or {}, event), body)


def call_answered(tx: Transaction, delivery: Delivery, target: Document, call: HttpCall, result: HttpResult) -> None:
    """Have a token renewed that the endpoint has refused, unless it was renewed since the call."""
    if result.ending is not HttpEnding.ANSWERED or result.status not in UNAUTHORIZED:
        return
    destination = tx.resources.get(ApiDestination, delivery.scope, name_of_arn(target["Arn"]))
    connection = None if destination is None else connection_of(tx, delivery.scope, destination.connection_arn)
    if connection is None or not connection.is_oauth or not connection.token:
        return
    if ("Authorization", f"Bearer {connection.token}") in call.headers:
        renew_refused(tx, delivery.scope, connection)


def call_ended(tx: Transaction, delivery: Delivery) -> None:
    """Forget the turn of a delivery that ends before it had its turn."""
    if tx.timers.get(CALL_TIMER, delivery.id) is not None:
        tx.timers.clear(CALL_TIMER, delivery.id)


def connection_of(tx: Transaction, scope: Scope, arn: str) -> Connection | None:
    """The connection with this ARN; None if it was deleted, or replaced by another one of the same name."""
    connection = tx.resources.get(Connection, scope, name_of_arn(arn))
    return None if connection is None or connection.arn(scope) != arn else connection


def _destination(tx: Transaction, scope: Scope, arn: str) -> ApiDestination:
    destination = tx.resources.get(ApiDestination, scope, name_of_arn(arn))
    if destination is None or destination.arn(scope) != arn:
        raise _gone(f"An api-destination '{name_of_arn(arn)}' does not exist.")
    return destination


def _gone(message: str) -> ServiceError:
    return ServiceError("ResourceNotFoundException", message)


def _admitted(tx: Transaction, delivery: Delivery, destination: ApiDestination) -> int:
    """When a call may go out under the destination's rate. A delayed call keeps its turn."""
    if tx.services.limits is Limits.RELAXED:
        return tx.now
    turn_at = tx.timers.get(CALL_TIMER, delivery.id)
    if turn_at is None:
        rate = tx.resources.get(CallRate, delivery.scope, destination.name) or CallRate(destination.name)
        rate, turn_at = rate.admit(tx.now, destination.calls_per_s or CALLS_PER_S_DEFAULT)
        tx.resources.put(delivery.scope, rate)
        if turn_at > tx.now:
            tx.timers.set(CALL_TIMER, delivery.id, turn_at)
    elif turn_at <= tx.now:
        tx.timers.clear(CALL_TIMER, delivery.id)
    return turn_at


def _resolved(given: Document, event: Document) -> Document:
    """The target's HttpParameters in which each JSONPath is replaced by its value in the event."""
    return {
        "PathParameterValues": [_value(one, event) for one in given.get("PathParameterValues") or []],
        "HeaderParameters": {name: _value(one, event) for name, one in (given.get("HeaderParameters") or {}).items()},
        "QueryStringParameters": {
            name: _value(one, event) for name, one in (given.get("QueryStringParameters") or {}).items()
        },
    }


def _value(text: str, event: Document) -> str:
    if not text.startswith(_JSON_PATH):
        return text
    found = value_at(event, text)
    if isinstance(found, str):
        return found
    return "" if found is None else dump_json(found)
