"""Immutable bytes by digest, such as the code of functions."""

from __future__ import annotations

from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("blobs")


class BlobTable:
    """Content-addressed storage. The caller computes the digest; the same digest means the same content."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, digest: str, content: bytes) -> None:
        """Store the content under its digest."""
        self._database.write(_SQL["put"], {"digest": digest, "content": content})

    def get(self, digest: str) -> bytes | None:
        """The content with that digest, or None."""
        row = self._database.one(_SQL["get"], {"digest": digest})
        return None if row is None else bytes(row[0])

    def delete(self, digest: str) -> None:
        """Delete the content."""
        self._database.write(_SQL["delete"], {"digest": digest})
