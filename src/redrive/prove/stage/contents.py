"""The contents of a stage's store as values, and what was answered where its tables had these contents.

A search comes to the same contents of single tables much more often than to the same state of the whole: a claim does
not depend on the handler's items, nor a write of an item on the queue. So an answer is kept with the contents of those
tables alone that it depends on, and with what it has left in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from redrive.store.api import Step
from redrive.store.contents import EXPIRING, RESOURCES, SEQUENCES, ContentStore, StaleRead
from redrive.store.database import Row

T = TypeVar("T")

Rows = tuple[Row, ...]
_Depends = tuple[tuple[int, ...], tuple[str, ...]]
"""The tables, and the kinds of resources, that an answer depends on."""

ADDED_TO = frozenset({"log_events"})
"""Tables without keys, to which steps add rows: an answer that only adds to them does not depend on them."""
CACHED = frozenset({"facts"})
"""Tables that steps may read from a cache, without a statement: all answers depend on them."""
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class World:
    """The contents of all tables, as the numbers that `owner` has given to them."""

    owner: Contents
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """A question to the engine. `key` is all of it, and the time; None if it cannot be compared with others.

    `answer` asks the engine. `place` is where ids are drawn, and `draws` says after the answer whether any were.
    """

    key: object
    answer: Callable[[], T]
    place: object
    draws: Callable[[], int]


@dataclass(frozen=True, slots=True)
class _Known:
    """An answer, and what it has left behind: the new contents of tables, the new resources of some kinds, and the rows
    that it has added to tables.
    """

    answer: object
    written: Sequence[tuple[int, int]]
    resources: Sequence[tuple[str, int]]
    added: Sequence[tuple[int, Rows]]


class Contents:
    """The current contents of all tables. The store is given them when a step needs them."""

    def __init__(self, store: ContentStore) -> None:
        self.known = 0
        """How many questions were answered by what is known."""
        self.asked = 0
        """How many questions the engine has answered."""
        self._store = store
        self._index = {table: at for at, table in enumerate([*store.tables, EXPIRING])}
        self._numbers: list[dict[Rows, int]] = [{} for _ in self._index]
        self._expiring: dict[int, int] = {}
        self._rows: list[Rows] = []
        self._texts: dict[int, str] = {}
        self._current = [_UNKNOWN] * len(store.tables)
        self._held = self._current.copy()
        self._unread = set(range(len(store.tables)))
        self._adding = frozenset(self._index[table] for table in ADDED_TO)
        self._always = frozenset(self._index[table] for table in CACHED)
        self._resources = self._index[RESOURCES]
        self._by_kind: dict[int, dict[str, int]] = {}
        """The resources of each kind, as a content, by the content of the whole table."""
        self._spliced: dict[tuple[int, str, int], int] = {}
        self._answers: dict[object, dict[_Depends, dict[tuple[int, ...], _Known]]] = {}
        self._is_asking = False
        self._is_simple = True
        self._is_lazy = True
        """Whether the tables in ADDED_TO may stay empty in the store: until a step reads one of them."""
        self._read: set[int] = set()
        self._written: set[int] = set()
        self._kinds: set[str] = set()
        self._kinds_written: set[str] = set()
        self._added: dict[int, Rows] = {}

    def save(self) -> World:
        """The current contents."""
        self._look()
        return World(self, tuple(self._current))

    def load(self, world: World) -> None:
        """Replace all contents."""
        self._look()
        if world.owner is self:
            self._current = list(world.numbers)
        else:
            self._current = [self._number(at, world.owner.rows(one)) for at, one in enumerate(world.numbers)]

    def rows(self, number: int) -> Rows:
        """The rows of a content."""
        return self._rows[number]

    def told(self, tables: Sequence[str]) -> list[str]:
        """The contents of these tables as texts."""
        self._look()
        return [self._text(self._current[self._index[table]]) for table in tables]

    def run(self, step: Step[T]) -> T:
        """Run a step on the store, with the current contents."""
        self._bring()
        try:
            return self._store.run(step)
        finally:
            self._take_touched()

    def ask(self, asked: Asked[T]) -> T:
        """The answer to a question, and its effect: as they are known, if what they depend on is the same."""
        if self._is_asking:  # Asked by what another question has begun, as by a function that it invokes.
            self._is_simple = self._is_lazy = False
            return asked.answer()
        if asked.key is None:
            return asked.answer()
        self._look()
        for key in (asked.key, (asked.key, asked.place)):
            known = self._find(key)
            if known is not None:
                self.known += 1
                for at, number in known.written:
                    self._current[at] = number
                for kind, number in known.resources:
                    self._current[self._resources] = self._with_kind(self._current[self._resources], kind, number)
                for at, rows in known.added:
                    self._current[at] = self._with(at, rows)
                return cast("T", known.answer)
        return self._asked(asked)

    def _find(self, key: object) -> _Known | None:
        for tables, by_contents in self._answers.get(key, {}).items():
            known = by_contents.get(self._contents(tables, self._current))
            if known is not None:
                return known
        return None

    def _contents(self, depends: _Depends, current: Sequence[int]) -> tuple[int, ...]:
        """The contents of these tables and kinds of resources, if these are the contents of all tables."""
        tables, kinds = depends
        items, expiring = self._index["items"], self._index[EXPIRING]
        found = [current[at] if at != expiring else self._expiring_of(current[items]) for at in tables]
        by_kind = self._kinds_of(current[self._resources])
        return (*found, *[by_kind.get(kind, _UNKNOWN) for kind in kinds])

    def _kinds_of(self, resources: int) -> Mapping[str, int]:
        """The contents of the kinds of resources, in a content of the whole table."""
        known = self._by_kind.get(resources)
        if known is None:
            grouped = itertools.groupby(self._rows[resources], key=lambda row: str(row[0]))
            known = {kind: self._number(self._resources, tuple(rows)) for kind, rows in grouped}
            self._by_kind[resources] = known
        return known

    def _with_kind(self, resources: int, kind: str, number: int) -> int:
        """The content of the whole table with other resources of a kind."""
        key = (resources, kind, number)
        if key not in self._spliced:
            others = [row for row in self._rows[resources] if row[0] != kind]
            rows = sorted([*others, *(self._rows[number] if number != _UNKNOWN else ())])
            self._spliced[key] = self._number(self._resources, tuple(rows))
        return self._spliced[key]

    def _expiring_of(self, items: int) -> int:
        number = self._expiring.get(items)
        if number is None:
            rows = self._store.expiring(self._rows[items])
            number = self._expiring[items] = self._number(self._index[EXPIRING], rows)
        return number

    def _asked(self, asked: Asked[T]) -> T:
        """Ask the engine, and keep the answer."""
        self.asked += 1
        before = self._current.copy()
        self._is_asking = self._is_simple = True
        self._read, self._written, self._added = set(), set(), {}
        self._kinds, self._kinds_written = set(), set()
        self._store.begin_touching()
        try:
            answer = self._answer_of(asked, before)
        finally:
            self._is_asking = False
        self._look()
        if self._is_simple:
            written = self._written - self._added.keys() - {self._resources}
            tables = (self._read | written | self._always) - self._added.keys()
            depends = tuple(sorted(tables)), tuple(sorted(self._kinds))
            key = (asked.key, asked.place) if asked.draws() else asked.key
            by_kind = self._kinds_of(self._current[self._resources])
            by_contents = self._answers.setdefault(key, {}).setdefault(depends, {})
            by_contents[self._contents(depends, before)] = _Known(
                answer,
                [(at, self._current[at]) for at in sorted(written)],
                [(kind, by_kind.get(kind, _UNKNOWN)) for kind in sorted(self._kinds_written)],
                list(self._added.items()),
            )
        return answer

    def _answer_of(self, asked: Asked[T], before: Sequence[int]) -> T:
        try:
            return asked.answer()
        except StaleRead:  # This proof needs all tables: from now on all of them are in the store.
            self._is_lazy = False
            self._look()
            self._current = list(before)
            self._read, self._written, self._added = set(), set(), {}
            self._kinds, self._kinds_written = set(), set()
            return asked.answer()

    def _bring(self) -> None:
        """Have the store hold the current contents; of tables that rows are only added to, nothing."""
        self._look()
        is_lazy = self._is_asking and self._is_lazy
        stale = self._adding if is_lazy else frozenset()
        put: dict[str, Rows] = {}
        for at, (held, current) in enumerate(zip(self._held, self._current, strict=True)):
            number = self._number(at, ()) if at in stale else current
            if held != number:
                put[self._store.tables[at]] = self._rows[number]
                self._held[at] = number
        if put:
            if put.keys() & self._store.counting:
                put[SEQUENCES] = self._rows[self._current[self._index[SEQUENCES]]]
                self._held[self._index[SEQUENCES]] = self._current[self._index[SEQUENCES]]
            self._store.put(put)
        touched = self._store.touched
        touched.stale = ADDED_TO if is_lazy else frozenset()
        touched.clean = dict(zip(self._store.tables, self._held, strict=True))
        touched.clean[EXPIRING] = self._expiring_of(touched.clean["items"])

    def _take_touched(self) -> None:
        """Take what the last step has touched; what it has written is read when it is needed."""
        touched = self._store.touched
        written = {self._index[table] for table in touched.written_to}
        self._read |= {self._index[table] for table in touched.read}
        self._written |= written
        self._kinds |= touched.kinds
        self._kinds_written |= touched.kinds_written
        touched.read, touched.written_to = set(), set()
        touched.kinds.clear()
        touched.kinds_written.clear()
        if touched.stale:
            for at in written & self._adding:
                rows = self._store.content(self._store.tables[at])
                self._added[at] = (*self._added.get(at, ()), *rows)
                self._current[at] = self._with(at, rows)
                self._held[at] = _UNKNOWN
            written -= self._adding
        self._unread |= written

    def _look(self) -> None:
        """Read what steps have written."""
        for at in self._unread:
            number = self._number(at, self._store.content(self._store.tables[at]))
            self._current[at] = self._held[at] = number
        self._unread.clear()

    def _number(self, at: int, rows: Rows) -> int:
        """The number of a content of a table."""
        known = self._numbers[at].get(rows)
        if known is None:
            known = self._numbers[at][rows] = len(self._rows)
            self._rows.append(rows)
        return known

    def _with(self, at: int, rows: Rows) -> int:
        return self._number(at, (*self._rows[self._current[at]], *rows))

    def _text(self, number: int) -> str:
        text = self._texts.get(number)
        if text is None:
            text = self._texts[number] = repr(self._rows[number])
        return text
