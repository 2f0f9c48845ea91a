"""Client tokens: the same request made twice is made once.

Source: the ClientToken of https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html and, for
what AWS leaves open, docs/semantics/scheduler.md
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.scheduler import limits
from redrive.services.scheduler.workers_timers import timer_name
from redrive.store.api import Transaction

TOKEN_TIMER = "scheduler.token"


@dataclass(frozen=True, slots=True)
class ClientToken:
    """A request that succeeded, under the token that came with it: a digest of its parameters, and its answer."""

    KIND: ClassVar[str] = "scheduler.token"

    name: str
    digest: str
    answer: Document


def once(
    tx: Transaction, caller: Caller, operation: str, token: str | None, *, params: Mapping[str, object],
    run: Callable[[], Document],
) -> Document:  # fmt: skip
    """Run a request, or give the answer that the same request with the same token got within the last 24 hours.

    Errors: ConflictException if the token came with other parameters; whatever `run` raises, and then nothing is kept.
    """
    if token is None:
        return run()
    name = f"{operation}/{token}"
    digest = hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()
    earlier = tx.resources.get(ClientToken, caller.scope, name)
    if earlier is not None:
        if earlier.digest != digest:
            raise ServiceError("ConflictException", "The ClientToken was used before with other parameters.")
        return earlier.answer
    answer = run()
    tx.resources.put(caller.scope, ClientToken(name, digest, answer))
    tx.timers.set(TOKEN_TIMER, timer_name(caller.scope, name), tx.now + limits.CLIENT_TOKEN_KEPT_MS)
    return answer
