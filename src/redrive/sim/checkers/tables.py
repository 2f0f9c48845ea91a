"""The rules of tables that are followed: a table is the replay of its stream, an index the projection of its table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from redrive.core.documents import Document, dump_json
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import ChangesRead, Happening, IndexRead, ItemWritten, LeftMessage, TableRead
from redrive.sim.checkers.stream_batches import item_key


class TablesFollowed:
    """A table has what was written, its indexes have the same, and its stream has each change of it."""

    rule = "a table is what was written; an index is its projection, and its stream its history"

    def __init__(self, table_keys: Sequence[str]) -> None:
        """`table_keys`: the names of the key's attributes, which all indexes have."""
        self._table_keys = table_keys
        self._items: dict[str, dict[str, Document]] = defaultdict(dict)

    def observe(self, happening: Happening) -> None:
        match happening:
            case ItemWritten(table, key, None):
                self._items[table].pop(key, None)
            case ItemWritten(table, key, item) if item is not None:
                self._items[table][key] = item
            case TableRead(table, items, indexes):
                self._compare(table, list(self._items[table].values()), items)
                for index in indexes:
                    self._compare(f"{table}'s index {index.name}", self._projection(index, items), index.entries)
            case ChangesRead():
                self._replay(happening)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: tables are compared when they are read."""

    def _projection(self, index: IndexRead, items: Sequence[Document]) -> list[Document]:
        """The items that have the index's key, with the attributes that the index has."""
        found = [item for item in items if all(name in item for name in index.key_names)]
        if index.projected is None:
            return found
        names = {*self._table_keys, *index.key_names, *index.projected}
        return [{name: value for name, value in item.items() if name in names} for item in found]

    def _replay(self, read: ChangesRead) -> None:
        items: dict[str, Document] = {}
        for key, old, new in read.changes:
            if items.get(key) != old:
                raise RuleBroken(self.rule, f"the stream changes {key} from {old}, which was {items.get(key)}")
            items.pop(key, None)
            if new is not None:
                items[key] = new
        self._compare(f"{read.table}'s replay", list(self._items[read.table].values()), list(items.values()))

    def _compare(self, what: str, expected: Sequence[Document], found: Sequence[Document]) -> None:
        wanted, there = _texts(expected), _texts(found)
        if wanted != there:
            lacks = sorted(set(wanted) - set(there))
            adds = sorted(set(there) - set(wanted))
            raise RuleBroken(self.rule, f"{what} lacks {lacks}, and has {adds} instead")


def _texts(items: Sequence[Document]) -> list[str]:
    return sorted(f"{item_key(item)} {dump_json(dict(sorted(item.items())))}" for item in items)
