"""Client tokens of requests: a repeated request with the same token has no second effect, until the token expires."""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.store.database import Database
from redrive.store.documents import document_from, document_text
from redrive.store.queries import load_queries

_SQL = load_queries("tokens")


class UsedToken(NamedTuple):
    """What a token was used for: a digest of the request, and its answer."""

    digest: str
    answer: Document


class TokenTable:
    """Used tokens by kind (`scheduler.CreateSchedule`), scope and token."""

    __slots__ = ("_database", "_earliest", "_is_known")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._earliest: Instant | None = None
        self._is_known = False

    def find(self, kind: str, scope: Scope, token: str, now: Instant) -> UsedToken | None:
        """What a token was used for; None if it was never used, or has expired."""
        self._database.reserve(f"token/{kind}/{scope}/{token}")
        row = self._database.one(_SQL["find"], {"kind": kind, "scope": str(scope), "token": token, "now": now})
        return None if row is None else UsedToken(str(row[0]), document_from(row[1]))

    def keep(self, kind: str, scope: Scope, token: str, used: UsedToken, *, expires_at: Instant) -> None:
        """Store a token until it expires; replaces an earlier use."""
        self._database.write(
            _SQL["keep"],
            {
                "kind": kind, "scope": str(scope), "token": token, "digest": used.digest,
                "answer": document_text(used.answer), "expires_at": expires_at,
            },
        )  # fmt: skip
        # If the earliest token is used again, this instant is too early. The sweep then finds nothing to do.
        if self._earliest is None or expires_at < self._earliest:
            self._earliest = expires_at if self._is_known else None

    def next(self) -> Instant | None:
        """When the next token may expire; None if there is none."""
        if not self._is_known:
            row = self._database.one(_SQL["next"], {})
            self._earliest = None if row is None or row[0] is None else int(row[0])
            self._is_known = True
        return self._earliest

    def sweep(self, now: Instant, limit: int) -> int:
        """Delete up to `limit` expired tokens. Returns how many were deleted."""
        self.forget()
        return self._database.run(_SQL["sweep"], {"now": now, "limit": limit})

    def forget(self) -> None:
        """Clear the cache after a rollback."""
        self._earliest, self._is_known = None, False
