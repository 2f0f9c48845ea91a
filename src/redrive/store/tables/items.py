"""(being written)"""

from __future__ import annotations

from redrive.store.database import Database


class ItemTable:
    """(being written)"""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database
