"""Client tokens make requests idempotent: the same request with the same token runs once.

Source: the ClientToken of https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html and, for
what AWS leaves open, docs/semantics/scheduler.md
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.scheduler import limits
from redrive.store.api import Transaction
from redrive.store.tables.tokens import UsedToken


def once(
    tx: Transaction, caller: Caller, operation: str, token: str | None, *, params: Mapping[str, object],
    run: Callable[[], Document],
) -> Document:  # fmt: skip
    """Run a request, or return the answer that the same request with the same token got within the last 24 hours.

    Errors: ConflictException if the token came with other parameters; errors of `run`, which are not stored.
    """
    if token is None:
        return run()
    kind = f"scheduler.{operation}"
    digest = hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()
    used = tx.tokens.find(kind, caller.scope, token, tx.now)
    if used is not None:
        if used.digest != digest:
            raise ServiceError("ConflictException", "The ClientToken was used before with other parameters.")
        return used.answer
    answer = run()
    expires_at = tx.now + limits.CLIENT_TOKEN_KEPT_MS
    tx.tokens.keep(kind, caller.scope, token, UsedToken(digest, answer), expires_at=expires_at)
    return answer
