"""The due work of DynamoDB's transactions: tokens are forgotten after ten minutes."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.invocation import InvocationResult
from redrive.delivery.worker import Attempt
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model_transactions import TransactionToken
from redrive.store.api import Transaction

TOKENS = "dynamodb.transaction-tokens"
"""The kind of the timers that forget tokens, and the name of their worker."""


def forget_later(tx: Transaction, scope: Scope, token: TransactionToken) -> None:
    """Have a token forgotten when its time is over. Nobody waits for that, so nobody is woken."""
    tx.timers.set(TOKENS, f"{scope.account}/{scope.region}/{token.name}", token.expires_at)


class TransactionTokenWorker:
    """Forgets tokens, a bounded number at a time."""

    name = TOKENS
    upkeep = True

    def next_due(self, tx: Transaction, *, free: int) -> Instant | None:
        return tx.timers.next(TOKENS)

    def claim(self, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        for name, _ in tx.timers.due(TOKENS, tx.now, limits.TOKENS_FORGOTTEN_PER_STEP_MAX):
            account, region, token = name.split("/", 2)
            tx.resources.delete(TransactionToken, Scope(account, region), token)
            tx.timers.clear(TOKENS, name)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: InvocationResult) -> None:
        raise Bug("tokens are forgotten inside the store: no attempts are made")
