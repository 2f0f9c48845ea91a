"""The tokens of OAuth connections: when the authorization endpoint is to be asked, and what follows from its answer."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.retry import Failed, FailureKind
from redrive.core.scope import Scope
from redrive.services.events.limits import TOKEN_WAITS_MS
from redrive.services.events.model.connection import RENEWED_BEFORE_MS, Connection, ConnectionState
from redrive.services.events.model.http_answer import Token
from redrive.services.events.model.timers import CONNECTION_TIMER, timer_name
from redrive.services.events.secrets import store_connection
from redrive.store.api import Transaction

_REASON_LENGTH_MAX = 512


def await_token(tx: Transaction, scope: Scope, connection: Connection) -> Connection:
    """Have a new token requested at once. The answer to an earlier request counts no more."""
    waiting = replace(connection, fence=connection.fence + 1, failures=0)
    store_connection(tx, scope, waiting)
    tx.timers.set(CONNECTION_TIMER, timer_name(scope, connection.name), tx.now)
    tx.notify("due")
    return waiting


def renew_if_due(tx: Transaction, scope: Scope, connection: Connection) -> Connection:
    """Have a token requested that has expired or is about to, unless a request is under way already."""
    is_due = connection.state is ConnectionState.AUTHORIZED and tx.now >= connection.token_until - RENEWED_BEFORE_MS
    if is_due and tx.timers.get(CONNECTION_TIMER, timer_name(scope, connection.name)) is None:
        return await_token(tx, scope, connection)
    return connection


def renew_refused(tx: Transaction, scope: Scope, connection: Connection) -> None:
    """Drop a token that an endpoint has refused, and have a new one requested."""
    await_token(tx, scope, replace(connection, token="", token_until=0))


def has_token(connection: Connection, now: Instant) -> bool:
    """Whether a call can be made now."""
    return bool(connection.token) and now < connection.token_until


def token_answered(tx: Transaction, scope: Scope, connection: Connection, answer: Token | Failed) -> None:
    """Store a token. Without one, ask again a few times; then the connection is not authorized, and says why."""
    timer = timer_name(scope, connection.name)
    if isinstance(answer, Token):
        authorized = replace(
            connection, token=answer.text, token_until=tx.now + answer.lasts_ms, state=ConnectionState.AUTHORIZED,
            authorized_at=tx.now, reason=None, failures=0,
        )  # fmt: skip
        store_connection(tx, scope, authorized)
        tx.timers.clear(CONNECTION_TIMER, timer)
        return
    failures = connection.failures + 1
    if answer.kind is not FailureKind.PERMANENT and failures <= len(TOKEN_WAITS_MS):
        store_connection(tx, scope, replace(connection, failures=failures))
        tx.timers.set(CONNECTION_TIMER, timer, tx.now + max(answer.wait_ms, TOKEN_WAITS_MS[failures - 1]))
        return
    reason = f"The authorization endpoint gave no token: {answer.message}"[:_REASON_LENGTH_MAX]
    refused = replace(
        connection, state=ConnectionState.DEAUTHORIZED, reason=reason, token="", token_until=0, failures=0
    )  # fmt: skip
    store_connection(tx, scope, refused)
    tx.timers.clear(CONNECTION_TIMER, timer)
