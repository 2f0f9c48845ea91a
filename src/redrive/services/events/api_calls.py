"""Deliveries to API destinations: the HTTP call of an attempt, when it may go out, and what its answer means.

A call is an errand outside of any transaction. A call that must wait, for a token or for the destination's rate, counts
as no attempt.
"""

from __future__ import annotations

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.retry import Outcome
from redrive.core.scope import Caller, Scope
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.http_call import HttpCall, HttpResult
from redrive.delivery.outside.http_request import is_writable
from redrive.delivery.sources.call import Later
from redrive.languages.json_path import MISSING, MalformedPath, find, parse_path
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
from redrive.services.events.model.http_answer import UNAUTHORIZED, judge_call
from redrive.services.events.model.http_request import destination_call
from redrive.services.events.model.timers import CALL_TIMER
from redrive.services.events.secrets import find_connection
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

_CALL = "events:InvokeApiDestination"
_JSON_PATH = "$."
_AWAITING = frozenset({ConnectionState.AUTHORIZED, ConnectionState.AUTHORIZING})
"""The states in which a token has been requested, if there is none."""


class ApiCalls:
    """How deliveries reach API destinations."""

    def render(self, tx: Transaction, delivery: Delivery, caller: Caller, input: str) -> HttpCall | Later:
        """The call of this attempt, or when to ask again.

        Errors: AccessDeniedException (the target's role may not call the API destination); ResourceNotFoundException
        (the API destination or its connection is gone); InvalidParameter (a header from the event);
        CONNECTION_FAILURE, which is retried (the connection is not authorized).
        """
        target, scope = delivery.document["target"], delivery.scope
        destination = _destination(tx, scope, delivery.target_arn)
        _authorize(tx, caller, delivery.target_arn)
        connection = connection_of(tx, scope, destination.connection_arn)
        if connection is None:
            raise _gone(f"Connection '{name_of_arn(destination.connection_arn)}' does not exist.")
        if connection.is_oauth:
            connection = renew_if_due(tx, scope, connection)
            if connection.state in _AWAITING and not has_token(connection, tx.now):
                return Later(tx.now + TOKEN_POLL_MS)
        if state_of(connection) is ApiDestinationState.INACTIVE:
            message = f"Connection '{connection.name}' is {connection.state.value}."
            raise ServiceError("CONNECTION_FAILURE", message, http_status=503, fault="server")
        at = _admitted(tx, delivery, destination)
        if at > tx.now:
            return Later(at)
        given = _resolved(target.get("HttpParameters") or {}, delivery.document["event"])
        call = destination_call(destination, connection, given, input)
        unwritable = [name for name, value in call.headers if not is_writable(value)]
        if unwritable:
            raise ServiceError("InvalidParameter", f"The value of {unwritable[0]} fits into no header.")
        return call

    def outcome(self, result: HttpResult) -> Outcome:
        """The outcome of a call."""
        return judge_call(result)

    def answered(self, tx: Transaction, delivery: Delivery, errand: Errand, result: Result) -> None:
        """Have a token renewed that the endpoint has refused, unless it was renewed since the call."""
        if not isinstance(result, HttpResult) or result.status not in UNAUTHORIZED:
            return
        assert isinstance(errand, HttpCall), "HTTP answers come from HTTP calls"
        destination = tx.resources.get(ApiDestination, delivery.scope, name_of_arn(delivery.target_arn))
        connection = None if destination is None else connection_of(tx, delivery.scope, destination.connection_arn)
        if connection is None or not connection.is_oauth or not connection.token:
            return
        if ("Authorization", f"Bearer {connection.token}") in errand.headers:
            renew_refused(tx, delivery.scope, connection)

    def ended(self, tx: Transaction, delivery: Delivery) -> None:
        """Forget the turn of a delivery that ends before its turn has come."""
        if tx.timers.get(CALL_TIMER, delivery.id) is not None:
            tx.timers.clear(CALL_TIMER, delivery.id)


def connection_of(tx: Transaction, scope: Scope, arn: str) -> Connection | None:
    """The connection with this ARN; None if it was deleted, or replaced by another one of the same name."""
    connection = find_connection(tx, scope, name_of_arn(arn))
    return None if connection is None or connection.arn(scope) != arn else connection


def _destination(tx: Transaction, scope: Scope, arn: str) -> ApiDestination:
    destination = tx.resources.get(ApiDestination, scope, name_of_arn(arn))
    if destination is None or destination.arn(scope) != arn:
        raise _gone(f"An api-destination '{name_of_arn(arn)}' does not exist.")
    return destination


def _authorize(tx: Transaction, caller: Caller, arn: str) -> None:
    """Ask for the permission to call: policies name an API destination by its ARN, or by the ARN without its last part.

    Errors: AccessDeniedException.
    """
    try:
        tx.services.authorize(tx, caller, _CALL, arn)
    except ServiceError:
        tx.services.authorize(tx, caller, _CALL, arn.rpartition("/")[0])


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


def _resolved(given: Document, event: str) -> Document:
    """The target's HttpParameters in which each JSONPath is replaced by its value in the event."""
    if not given:
        return given
    document = load_json(event)
    headers, query = given.get("HeaderParameters") or {}, given.get("QueryStringParameters") or {}
    return {
        "PathParameterValues": [_value(one, document) for one in given.get("PathParameterValues") or []],
        "HeaderParameters": {name: _value(one, document) for name, one in headers.items()},
        "QueryStringParameters": {name: _value(one, document) for name, one in query.items()},
    }


def _value(text: str, event: object) -> str:
    """A parameter, or the value of the path that it is; a path that finds nothing is an empty text."""
    if not text.startswith(_JSON_PATH):
        return text
    try:
        found = find(event, parse_path(text))
    except MalformedPath:
        return text
    if isinstance(found, str):
        return found
    return "" if found is MISSING else dump_json(found)
