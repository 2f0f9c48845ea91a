"""HTTP tasks in a transaction: who may call, what the connection adds, and what follows from an answer.

The call is an errand outside of any transaction. Secrets of the connection are in the errand only: neither the history
of the execution nor the stored delivery has them.
"""

from __future__ import annotations

from redrive.core.clock import SECOND_MS
from redrive.core.errors import ServiceError
from redrive.core.retry import Failed, FailureKind, Outcome, Succeeded
from redrive.core.scope import Caller
from redrive.delivery.outside.http_call import HttpCall, HttpResult
from redrive.delivery.sources.call import Later
from redrive.delivery.sources.letters import writable
from redrive.languages.states.errors import StatesError
from redrive.services.stepfunctions.executions import Live
from redrive.services.stepfunctions.model.http_tasks import CONNECTION, answer_of, call_of, read_request
from redrive.store.api import Transaction

PERMISSIONS = "States.Permissions"
TOKEN_POLL_MS = SECOND_MS
"""How long a task waits before it looks again for the token of its connection. Ours."""

_INVOKE = "states:InvokeHTTPEndpoint"
_UNAUTHORIZED = frozenset({401, 407})


def http_call(tx: Transaction, live: Live, caller: Caller, parameters: object) -> HttpCall | Later:
    """The call of an HTTP task, or when to ask again.

    Errors: ServiceError, whose code is the name of the task's error: States.Permissions, Events.ConnectionResource.…,
    States.Runtime.
    """
    try:
        request = read_request(parameters)
        context = {"states:HTTPEndpoint": (request.endpoint,), "states:HTTPMethod": (request.method,)}
        try:
            tx.services.authorize(tx, caller, _INVOKE, live.execution.machine, context=context)
        except ServiceError as error:
            raise ServiceError(PERMISSIONS, error.message) from error
        try:
            added = tx.services.connection(tx, caller, request.connection)
        except ServiceError as error:
            raise ServiceError(f"{CONNECTION}{error.code}", error.message) from error
        if added is None:
            return Later(tx.now + TOKEN_POLL_MS)
        return call_of(request, added, live.execution.scope.region)
    except StatesError as error:
        raise ServiceError(error.error, error.cause) from error


def http_outcome(result: HttpResult) -> Outcome:
    """How an answer counts. The machine's Retry alone decides about failures."""
    try:
        return Succeeded(answer_of(result))
    except StatesError as error:
        return Failed(error.error, writable(error.cause), FailureKind.PERMANENT)


def http_answered(tx: Transaction, parameters: object, call: HttpCall, result: HttpResult) -> None:
    """Have the token of a connection renewed that the endpoint has refused."""
    if result.status in _UNAUTHORIZED:
        tx.services.connection_refused(tx, read_request(parameters).connection, call.headers)
