"""The control plane: queues, schedules, functions, roles and the like, one JSON document each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeVar, cast

from redrive.core.documents import load_dataclass
from redrive.core.knobs import PRODUCTION
from redrive.core.scope import Scope
from redrive.store.database import Database
from redrive.store.documents import dataclass_text
from redrive.store.queries import load_queries

_SQL = load_queries("resources")

PAGE_MAX = 10_000


class Resource(Protocol):
    """A frozen dataclass with a KIND and a `name` that is unique in its scope and kind.

    Children carry their parent in the name (`group/schedule`), so that a prefix lists them.
    """

    KIND: ClassVar[str]

    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=Resource)

_Key = tuple[str, str, str]


class ResourceCache:
    """Decoded documents by key, a missing one as None; and for kinds that were asked for everywhere, all there are."""

    __slots__ = ("entries", "entries_max", "everywhere")

    EVERYWHERE_MAX = 1_000

    def __init__(self, entries_max: int = PRODUCTION.cached_resources) -> None:
        self.entries_max = entries_max
        self.entries: dict[_Key, object | None] = {}
        self.everywhere: dict[str, Sequence[tuple[Scope, object]]] = {}

    def remember(self, key: _Key, value: object | None) -> None:
        """Keep a document; when the cache is full it starts anew."""
        if len(self.entries) >= self.entries_max:
            self.entries.clear()
        self.entries[key] = value

    def wrote(self, key: _Key, value: object | None) -> None:
        """Keep a document that was written, or None for one that was deleted."""
        self.everywhere.pop(key[0], None)
        self.remember(key, value)

    def forget(self) -> None:
        """Drop everything."""
        self.entries.clear()
        self.everywhere.clear()

    def copied(self) -> ResourceCache:
        """What is kept now."""
        made = ResourceCache(self.entries_max)
        made.entries.update(self.entries)
        made.everywhere.update(self.everywhere)
        return made


class ResourceTable:
    """Documents by (kind, scope, name)."""

    __slots__ = ("_cache", "_database")

    def __init__(self, database: Database, cache: ResourceCache) -> None:
        self._database = database
        self._cache = cache

    @property
    def cache(self) -> ResourceCache:
        """What was read and written, as documents."""
        return self._cache

    @cache.setter
    def cache(self, cache: ResourceCache) -> None:
        self._cache = cache

    def get(self, cls: type[R], scope: Scope, name: str) -> R | None:
        """The resource of that name, or None. Costs no statement when it is in the cache."""
        key = (cls.KIND, str(scope), name)
        entries = self._cache.entries
        if key in entries:
            return cast("R | None", entries[key])
        row = self._database.one(_SQL["get"], key)
        value = None if row is None else load_dataclass(cls, row[0])
        self._cache.remember(key, value)
        return value

    def put(self, scope: Scope, value: Resource) -> None:
        """Store a resource, over the one of the same name if there is one."""
        key = (value.KIND, str(scope), value.name)
        self._database.run(_SQL["put"], (*key, dataclass_text(value)))
        self._cache.wrote(key, value)

    def delete(self, cls: type[R], scope: Scope, name: str) -> bool:
        """Forget a resource; answers whether it was there."""
        key = (cls.KIND, str(scope), name)
        changed = self._database.run(_SQL["delete"], key)
        self._cache.wrote(key, None)
        return changed > 0

    def list(self, cls: type[R], scope: Scope, *, prefix: str = "", after: str = "", limit: int = PAGE_MAX) -> list[R]:
        """Resources of one kind in one scope in order of name: those with the prefix, after the name `after`."""
        rows = self._database.all(
            _SQL["page"],
            {
                "kind": cls.KIND, "scope": str(scope), "after": after, "limit": limit,
                "prefix": prefix, "prefix_end": prefix + "\U0010ffff",
            },
        )  # fmt: skip
        return [load_dataclass(cls, document) for _, document in rows]

    def everywhere(self, cls: type[R]) -> Sequence[tuple[Scope, R]]:
        """All resources of one kind in all scopes. Costs no statement while none of a moderate number is written."""
        known = self._cache.everywhere.get(cls.KIND)
        if known is not None:
            return cast("Sequence[tuple[Scope, R]]", known)
        rows = self._database.all(_SQL["everywhere"], {"kind": cls.KIND})
        found = [(Scope(*scope.split("/", 1)), load_dataclass(cls, document)) for scope, _, document in rows]
        if len(found) <= self._cache.EVERYWHERE_MAX:
            self._cache.everywhere[cls.KIND] = found
        return found

    def count(self, cls: type[R], scope: Scope, *, prefix: str = "") -> int:
        """How many resources of one kind a scope holds."""
        row = self._database.one(
            _SQL["count"],
            {"kind": cls.KIND, "scope": str(scope), "prefix": prefix, "prefix_end": prefix + "\U0010ffff"},
        )
        return int(row[0]) if row else 0

    def forget(self) -> None:
        """Drop the cache: what was written has been undone."""
        self._cache.forget()
