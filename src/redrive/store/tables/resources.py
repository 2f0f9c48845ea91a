"""The control plane: queues, schedules, functions, roles and other resources, one JSON document each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Protocol, TypeVar, cast

from redrive.core.documents import load_dataclass
from redrive.core.knobs import PRODUCTION
from redrive.core.scope import Scope
from redrive.store.database import Database
from redrive.store.documents import dataclass_text
from redrive.store.memo import Memo
from redrive.store.queries import load_queries

_SQL = load_queries("resources")

PAGE_MAX = 10_000


class Resource(Protocol):
    """A frozen dataclass with a KIND and a `name` that is unique in its scope and kind.

    The name of a child begins with its parent's name (`group/schedule`), so that a prefix lists all children.

    A class with `IS_STATE = True` is changed all the time, by steps that run beside others. The other kinds are
    definitions: every node remembers them, and a step that changes one runs alone in the store.
    """

    KIND: ClassVar[str]

    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=Resource)


class Load(Protocol):
    """Reads the document of a resource of a class."""

    def __call__(self, cls: type[R], text: str, /) -> R: ...


_Key = tuple[str, str, str]


class ResourceCache:
    """Decoded documents by key (None: known to be missing), and complete lists for kinds that were read everywhere."""

    __slots__ = ("entries", "entries_max", "everywhere")

    EVERYWHERE_MAX = 1_000

    def __init__(self, entries_max: int = PRODUCTION.cached_resources) -> None:
        self.entries_max = entries_max
        self.entries: dict[_Key, object | None] = {}
        self.everywhere: dict[str, Sequence[tuple[Scope, object]]] = {}

    def remember(self, key: _Key, value: object | None) -> None:
        """Cache a document. A full cache is emptied first."""
        if len(self.entries) >= self.entries_max:
            self.entries.clear()
        self.entries[key] = value

    def wrote(self, key: _Key, value: object | None) -> None:
        """Cache a document that was written, or None for a deleted one."""
        self.everywhere.pop(key[0], None)
        self.remember(key, value)

    def forget(self) -> None:
        """Empty the cache."""
        self.entries.clear()
        self.everywhere.clear()

    def copied(self) -> ResourceCache:
        """A copy of the cache."""
        made = ResourceCache(self.entries_max)
        made.entries.update(self.entries)
        made.everywhere.update(self.everywhere)
        return made


class ResourceTable:
    """Documents by (kind, scope, name)."""

    __slots__ = ("_cache", "_database", "_is_shared", "_load", "memo")

    def __init__(self, database: Database, cache: ResourceCache, load: Load = load_dataclass) -> None:
        """`load` reads documents."""
        self._database = database
        self._load = load
        self._is_shared = database.is_shared
        self._cache = cache
        self.memo = Memo()
        """What services have computed from resources, such as the matchers of event buses."""

    @property
    def cache(self) -> ResourceCache:
        """The cache of documents that were read and written."""
        return self._cache

    @cache.setter
    def cache(self, cache: ResourceCache) -> None:
        self._cache = cache

    def get(self, cls: type[R], scope: Scope, name: str) -> R | None:
        """The resource with that name, or None. Runs no statement on a cache hit."""
        key = (cls.KIND, str(scope), name)
        if self._is_shared and _is_state(cls):
            self._database.reserve(_lock_of(key))
            row = self._database.one(_SQL["get"], key)
            return None if row is None else self._load(cls, row[0])
        entries = self._cache.entries
        if key in entries:
            return cast("R | None", entries[key])
        row = self._database.one(_SQL["get"], key)
        value = None if row is None else self._load(cls, row[0])
        self._cache.remember(key, value)
        return value

    def announce(self, cls: type[Resource], scope: Scope, names: Iterable[str]) -> None:
        """Say that this step will read these states, before it reserves anything else. See Database.announce."""
        if self._is_shared:
            self._database.announce(*(_lock_of((cls.KIND, str(scope), name)) for name in names))

    def put(self, scope: Scope, value: Resource) -> None:
        """Store a resource; replaces one with the same name."""
        key = (value.KIND, str(scope), value.name)
        if self._is_shared:
            self._change(type(value), key)
        self._database.write(_SQL["put"], (*key, dataclass_text(value)))
        self._remember(type(value), key, value)

    def delete(self, cls: type[R], scope: Scope, name: str) -> bool:
        """Delete a resource. Returns whether it existed."""
        key = (cls.KIND, str(scope), name)
        if self._is_shared:
            self._change(cls, key)
        changed = self._database.run(_SQL["delete"], key)
        self._remember(cls, key, None)
        return changed > 0

    def list(self, cls: type[R], scope: Scope, *, prefix: str = "", after: str = "", limit: int = PAGE_MAX) -> list[R]:
        """Resources of one kind in one scope, ordered by name: those with this prefix, after the name `after`."""
        rows = self._database.all(
            _SQL["page"],
            {
                "kind": cls.KIND, "scope": str(scope), "after": after, "limit": limit,
                "prefix": prefix, "prefix_end": prefix + "\U0010ffff",
            },
        )  # fmt: skip
        return [self._load(cls, document) for _, document in rows]

    def everywhere(self, cls: type[R]) -> Sequence[tuple[Scope, R]]:
        """All resources of one kind in all scopes. Cached up to 1,000 resources, until one of this kind is written."""
        known = self._cache.everywhere.get(cls.KIND)
        if known is not None:
            return cast("Sequence[tuple[Scope, R]]", known)
        rows = self._database.all(_SQL["everywhere"], {"kind": cls.KIND})
        found = [(Scope(*scope.split("/", 1)), self._load(cls, document)) for scope, _, document in rows]
        if len(found) <= self._cache.EVERYWHERE_MAX and not (self._is_shared and _is_state(cls)):
            self._cache.everywhere[cls.KIND] = found
        return found

    def count(self, cls: type[R], scope: Scope, *, prefix: str = "") -> int:
        """How many resources of one kind a scope holds."""
        row = self._database.one(
            _SQL["count"],
            {"kind": cls.KIND, "scope": str(scope), "prefix": prefix, "prefix_end": prefix + "\U0010ffff"},
        )
        return int(row[0]) if row else 0

    def _remember(self, cls: type[Resource], key: _Key, value: object | None) -> None:
        if not (self._is_shared and _is_state(cls)):
            self._cache.wrote(key, value)

    def _change(self, cls: type[Resource], key: _Key) -> None:
        """Make sure that a resource may be written now, beside other nodes."""
        if _is_state(cls):
            self._database.reserve(_lock_of(key))
        else:
            self._database.change_definitions()

    def forget(self) -> None:
        """Clear the cache after a rollback."""
        self._cache.forget()


def _is_state(cls: type[Resource]) -> bool:
    return getattr(cls, "IS_STATE", False)


def _lock_of(key: _Key) -> str:
    return "/".join(("resource", *key))
