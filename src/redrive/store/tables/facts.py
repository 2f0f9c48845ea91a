"""A store's facts about itself, by name: the secret of its session tokens, how often it was opened."""

from __future__ import annotations

from redrive.store.database import Database
from redrive.store.queries import load_queries

SECRET = "secret"

_SQL = load_queries("facts")


class FactTable:
    """A few small values that belong to the store and not to a user. A reset keeps them."""

    __slots__ = ("_database", "_secret")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._secret: bytes | None = None

    def get(self, name: str) -> bytes | None:
        """The value with that name, or None."""
        row = self._database.one(_SQL["get"], {"name": name})
        return None if row is None else bytes(row[0])

    def secret(self) -> bytes:
        """The store's secret, cached. Keys, session tokens and signed URLs derive from it (core.sessions)."""
        if self._secret is None:
            self._secret = self.get(SECRET)
            assert self._secret is not None, "a store has a secret from its first opening on"
        return self._secret

    def forget(self) -> None:
        """Clear the cache, because the content of the store may be another one now."""
        self._secret = None

    def set(self, name: str, value: bytes) -> None:
        """Store a value under its name; replaces an earlier one."""
        if name == SECRET:
            self.forget()
        self._database.write(_SQL["set"], {"name": name, "value": value})
