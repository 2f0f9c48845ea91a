"""Clients of a simulated engine: they call operations, and know no more than real clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from redrive.core.documents import Document
from redrive.core.entropy import Entropy, new_uuid
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import Answer
from redrive.engine.engine import Engine
from redrive.sim.fleet.serving import Committed

SCOPE = Scope("000000000000", "us-east-1")


class Client:
    """Calls operations as the account. In bad weather a call may fail, or succeed without an answer."""

    def __init__(self, engine: Callable[[Committed | None], Engine], entropy: Entropy) -> None:
        """`engine` creates an engine whose steps report their commits."""
        self._engine = engine
        self._entropy = entropy
        self._silent = engine(None)

    def call(self, service: str, operation: str, **params: object) -> Document:
        """Run an operation. Errors: ServiceError; Conflict (it did not happen); AnswerLost (it happened)."""
        return self._silent.call(self._caller(), service, operation, params)

    def call_seen(
        self, seen: Callable[[Document], None], service: str, operation: str, **params: object
    ) -> Document:  # fmt: skip
        """Run an operation without an outside part. `seen` gets the answer at the commit, even if it is then lost."""

        def committed(answer: object) -> None:
            seen(self._silent.conclude(cast(Answer, answer)))

        return self._engine(committed).call(self._caller(), service, operation, params)

    def _caller(self) -> Caller:
        return Caller(SCOPE, new_uuid(self._entropy))
