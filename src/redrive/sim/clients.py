"""Clients of a simulated engine: they speak in operations, and know no more than real ones do."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.entropy import Entropy, new_uuid
from redrive.core.scope import Caller, Scope
from redrive.engine.engine import Engine

SCOPE = Scope("000000000000", "us-east-1")


class Client:
    """Calls operations as the account. In bad weather a call may fail, or succeed without being told."""

    def __init__(self, engine: Engine, entropy: Entropy) -> None:
        self._engine = engine
        self._entropy = entropy

    def call(self, service: str, operation: str, **params: object) -> Document:
        """Run an operation. Errors: ServiceError; Conflict (it did not happen); AnswerLost (it did)."""
        return self._engine.call(Caller(SCOPE, new_uuid(self._entropy)), service, operation, params)
