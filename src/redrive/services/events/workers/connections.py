"""The worker of OAuth connections: requests tokens, outside of any transaction.

Each request has a lease, which is the time of its timer, and a fence: an answer after the next request is ignored.
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-target-connection-auth.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.http_call import HttpResult
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.events.connections import token_answered
from redrive.services.events.limits import TOKEN_LEASE_MS
from redrive.services.events.model.http_answer import read_token
from redrive.services.events.model.http_request import token_call
from redrive.services.events.model.timers import CONNECTION_TIMER, scope_and_name
from redrive.services.events.secrets import find_connection, store_connection
from redrive.store.api import Transaction


class ConnectionWorker:
    """Asks authorization endpoints for the tokens that connections await."""

    name = "connections"
    timer = None
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(CONNECTION_TIMER) if free.room_of("") > 0 else None

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        attempts: list[Attempt] = []
        for timer, _ in tx.timers.due(CONNECTION_TIMER, tx.now, free.room_of("")):
            scope, name = scope_and_name(timer)
            connection = find_connection(tx, scope, name)
            if connection is None or not connection.is_oauth or not connection.parameters:
                tx.timers.clear(CONNECTION_TIMER, timer)
                continue
            asking = replace(connection, fence=connection.fence + 1)
            store_connection(tx, scope, asking)
            tx.timers.set(CONNECTION_TIMER, timer, tx.now + TOKEN_LEASE_MS)
            attempts.append(Attempt(self.name, timer, asking.fence, token_call(asking)))
        return attempts

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        assert isinstance(result, HttpResult), "tokens are requested over HTTP"
        scope, name = scope_and_name(attempt.key)
        connection = find_connection(tx, scope, name)
        if connection is not None and connection.fence == attempt.fence:
            token_answered(tx, scope, connection, read_token(result))
