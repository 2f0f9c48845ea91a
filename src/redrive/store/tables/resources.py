"""The control plane: queues, schedules, functions, roles and the like, one JSON document each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeVar, cast

from redrive.core.documents import dump_dataclass, load_dataclass
from redrive.core.scope import Scope
from redrive.store.database import Database
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
    """Decoded documents by key, shared by the transactions of one store. A missing resource is cached as None."""

    __slots__ = ("entries",)

    ENTRIES_MAX = 50_000

    def __init__(self) -> None:
        self.entries: dict[_Key, object | None] = {}

    def remember(self, key: _Key, value: object | None) -> None:
        """Keep a document; when the cache is full it starts anew."""
        if len(self.entries) >= self.ENTRIES_MAX:
            self.entries.clear()
        self.entries[key] = value


class ResourceTable:
    """Documents by (kind, scope, name)."""

    __slots__ = ("_cache", "_database", "_wrote")

    def __init__(self, database: Database, cache: ResourceCache) -> None:
        self._database = database
        self._cache = cache
        self._wrote = False

    def get(self, cls: type[R], scope: Scope, name: str) -> R | None:
        """The resource of that name, or None. Costs no statement when it is in the cache."""
        key = (cls.KIND, str(scope), name)
        entries = self._cache.entries
        if key in entries:
            return cast("R | None", entries[key])
        row = self._database.one(_SQL["get"], {"kind": key[0], "scope": key[1], "name": name})
        value = None if row is None else load_dataclass(cls, row[0])
        self._cache.remember(key, value)
        return value

    def put(self, scope: Scope, value: Resource) -> None:
        """Store a resource, over the one of the same name if there is one."""
        key = (value.KIND, str(scope), value.name)
        self._database.run(
            _SQL["put"], {"kind": key[0], "scope": key[1], "name": key[2], "document": dump_dataclass(value)}
        )
        self._wrote = True
        self._cache.remember(key, value)

    def delete(self, cls: type[R], scope: Scope, name: str) -> bool:
        """Forget a resource; answers whether it was there."""
        key = (cls.KIND, str(scope), name)
        changed = self._database.run(_SQL["delete"], {"kind": key[0], "scope": key[1], "name": name})
        self._wrote = True
        self._cache.remember(key, None)
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
        """All resources of one kind in all scopes."""
        rows = self._database.all(_SQL["everywhere"], {"kind": cls.KIND})
        return [(Scope(*scope.split("/", 1)), load_dataclass(cls, document)) for scope, _, document in rows]

    def count(self, cls: type[R], scope: Scope, *, prefix: str = "") -> int:
        """How many resources of one kind a scope holds."""
        row = self._database.one(
            _SQL["count"],
            {"kind": cls.KIND, "scope": str(scope), "prefix": prefix, "prefix_end": prefix + "\U0010ffff"},
        )
        return int(row[0]) if row else 0

    def forget(self) -> None:
        """Drop the cache after a rollback, if this transaction wrote a resource."""
        if self._wrote:
            self._cache.entries.clear()
