"""The contents of a stage's store as values, and what was answered where its tables had these contents.

A search comes to the same contents of single tables much more often than to the same state of the whole: a claim does
not depend on the handler's items, nor a write of an item on the queue. So an answer is kept with the contents of those
tables alone that it depends on, and with what it has left in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from redrive.core.clock import Instant
from redrive.prove.stage.ids import Ids
from redrive.store.api import Step
from redrive.store.contents import EXPIRING, SEQUENCES, ContentStore, StaleRead
from redrive.store.database import Row
from redrive.store.parts import ITEMS, Part, part_of, with_part

T = TypeVar("T")

Rows = tuple[Row, ...]
_EXPIRES: Part = (ITEMS, EXPIRING)
"""The part of the items that says when the next one expires."""

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


@dataclass(slots=True)
class Asked(Generic[T]):
    """A question to the engine. `key` is all of it, and the time; None if it cannot be compared with others.

    `answer` asks the engine. `place` is where ids are drawn, and `ids` say after the answer whether any were.
    """

    key: tuple[bytes, Instant] | None
    answer: Callable[[], T]
    place: object
    ids: Ids


@dataclass(slots=True, eq=False)
class _PartOf:
    """A part of a table, and its contents by the contents of the whole table."""

    part: Part
    table: int
    contents: dict[int, int] = field(default_factory=dict)
    spliced: dict[tuple[int, int], int] = field(default_factory=dict)
    """The contents of the whole table, by what they were and by another content of the part."""


@dataclass(slots=True)
class _Known:
    """An answer, and what it has left behind: the new contents of tables and of parts of tables, and the rows that it
    has added to tables.
    """

    answer: object
    written: Sequence[tuple[int, int]]
    parts: Sequence[tuple[_PartOf, int]]
    added: Sequence[tuple[int, Rows]]


@dataclass(slots=True)
class _Depending:
    """Answers to a question that depend on the same tables and parts, by the contents of these.

    `has_ids` says whether they have ids in them: then they depend on the place of the draw, too.
    """

    tables: tuple[int, ...]
    parts: tuple[_PartOf, ...]
    has_ids: bool
    answers: dict[tuple[object, ...], _Known] = field(default_factory=dict)


class Contents:
    """The current contents of all tables. The store is given them when a step needs them."""

    def __init__(self, store: ContentStore) -> None:
        self.known = 0
        """How many questions were answered by what is known."""
        self.asked = 0
        """How many questions the engine has answered."""
        self._store = store
        self._index = {table: at for at, table in enumerate(store.tables)}
        self._numbers: list[dict[Rows, int]] = [{} for _ in self._index]
        self._rows: list[Rows] = []
        self._texts: dict[int, str] = {}
        self._told: dict[tuple[int, ...], Sequence[str]] = {}
        self._places: dict[tuple[str, ...], Sequence[int]] = {}
        self._current = [_UNKNOWN] * len(store.tables)
        self._held = self._current.copy()
        self._unread = set(range(len(store.tables)))
        self._adding = frozenset(self._index[table] for table in ADDED_TO)
        self._always = frozenset(self._index[table] for table in CACHED)
        self._parts: dict[Part, _PartOf] = {}
        self._expiring = self._part_named(_EXPIRES)
        self._answers: dict[tuple[bytes, Instant], dict[object, _Depending]] = {}
        self._is_asking = False
        self._is_simple = True
        self._is_lazy = True
        """Whether the tables in ADDED_TO may stay empty in the store: until a step reads one of them."""
        self._read: set[int] = set()
        self._written: set[int] = set()
        self._parts_read: set[Part] = set()
        self._parts_written: set[Part] = set()
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

    def numbers(self, tables: tuple[str, ...]) -> tuple[int, ...]:
        """The contents of these tables, as numbers: equal numbers are equal contents."""
        self._look()
        return tuple([self._current[at] for at in self._places_of(tables)])

    def told(self, tables: tuple[str, ...]) -> Sequence[str]:
        """The contents of these tables as texts."""
        numbers = self.numbers(tables)
        known = self._told.get(numbers)
        if known is None:
            known = self._told[numbers] = [self._text(number) for number in numbers]
        return known

    def _places_of(self, tables: tuple[str, ...]) -> Sequence[int]:
        known = self._places.get(tables)
        if known is None:
            known = self._places[tables] = [self._index[table] for table in tables]
        return known

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
        if self._unread:
            self._look()
        known = self._find(asked)
        if known is None:
            return self._asked(asked)
        self.known += 1
        current = self._current
        for at, number in known.written:
            current[at] = number
        for part, number in known.parts:
            current[part.table] = self._with_part(part, current[part.table], number)
        for at, rows in known.added:
            current[at] = self._with(at, rows)
        return cast("T", known.answer)

    def _find(self, asked: Asked[T]) -> _Known | None:
        of_key = self._answers.get(asked.key)  # type: ignore[arg-type] # None is no key.
        if of_key is None:
            return None
        for depending in of_key.values():
            known = depending.answers.get(self._contents(depending, self._current, asked.place))
            if known is not None:
                return known
        return None

    def _contents(self, depending: _Depending, current: Sequence[int], place: object) -> tuple[object, ...]:
        """The contents of what answers depend on, if these are the contents of all tables."""
        found: list[object] = [current[at] for at in depending.tables]
        if depending.has_ids:
            found.append(place)
        for part in depending.parts:
            whole = current[part.table]
            number = part.contents.get(whole)
            found.append(self._part(part, whole) if number is None else number)
        return tuple(found)

    def _part_named(self, part: Part) -> _PartOf:
        known = self._parts.get(part)
        if known is None:
            known = self._parts[part] = _PartOf(part, self._index[str(part[0])])
        return known

    def _part(self, part: _PartOf, whole: int) -> int:
        """The content of a part, in a content of its table."""
        number = part.contents.get(whole)
        if number is None:
            all_rows = self._rows[whole]
            rows = self._store.expiring(all_rows) if part is self._expiring else part_of(all_rows, part.part)
            number = part.contents[whole] = self._number(part.table, rows)
        return number

    def _with_part(self, part: _PartOf, whole: int, number: int) -> int:
        """The content of a table with another content of a part."""
        spliced = part.spliced.get((whole, number))
        if spliced is None:
            rows = with_part(self._rows[whole], part.part, self._rows[number])
            spliced = part.spliced[whole, number] = self._number(part.table, rows)
        return spliced

    def _asked(self, asked: Asked[T]) -> T:
        """Ask the engine, and keep the answer."""
        self.asked += 1
        before = self._current.copy()
        self._is_asking = self._is_simple = True
        self._forget_touched()
        self._store.begin_touching()
        try:
            answer = self._answer_of(asked, before)
        finally:
            self._is_asking = False
        self._look()
        if self._is_simple:
            self._keep(asked, answer, before)
        return answer

    def _keep(self, asked: Asked[T], answer: T, before: Sequence[int]) -> None:
        """Keep an answer with the contents that it depends on, and with those that it has left."""
        if _EXPIRES in self._parts_read and any(part[0] == ITEMS for part in self._parts_written):
            self._read.add(self._index[ITEMS])  # Which item expires next may follow from any of them now.
        written = self._written - self._added.keys()
        whole = (self._read | written | self._always) - self._added.keys()
        left = [part for part in self._parts_written if self._index[str(part[0])] not in written]
        parts = [part for part in self._parts_read if self._index[str(part[0])] not in whole]
        if any(self._index[str(part[0])] in whole for part in left):
            written |= {self._index[str(part[0])] for part in left} & whole
            left = [part for part in left if self._index[str(part[0])] not in whole]
        tables, in_order = tuple(sorted(whole)), tuple(map(self._part_named, sorted(parts, key=repr)))
        has_ids = asked.ids.draws > 0
        of_key = self._answers.setdefault(asked.key, {})  # type: ignore[arg-type] # None is no key.
        which = (tables, in_order, has_ids)
        depending = of_key.get(which)
        if depending is None:
            depending = of_key[which] = _Depending(tables, in_order, has_ids)
        left_in = map(self._part_named, sorted(left, key=repr))
        depending.answers[self._contents(depending, before, asked.place)] = _Known(
            answer,
            [(at, self._current[at]) for at in sorted(written)],
            [(part, self._part(part, self._current[part.table])) for part in left_in],
            list(self._added.items()),
        )

    def _forget_touched(self) -> None:
        self._read, self._written, self._added = set(), set(), {}
        self._parts_read, self._parts_written = set(), set()

    def _answer_of(self, asked: Asked[T], before: Sequence[int]) -> T:
        try:
            return asked.answer()
        except StaleRead:  # This proof needs all tables: from now on all of them are in the store.
            self._is_lazy = False
            self._look()
            self._current = list(before)
            self._forget_touched()
            return asked.answer()

    def _bring(self) -> None:
        """Have the store hold the current contents; of tables that rows are only added to, nothing."""
        self._look()
        is_lazy = self._is_asking and self._is_lazy
        stale = self._adding if is_lazy else frozenset()
        put: dict[str, Rows] = {}
        before: dict[str, Rows] = {}
        for at, (held, current) in enumerate(zip(self._held, self._current, strict=True)):
            number = self._number(at, ()) if at in stale else current
            if held != number:
                put[self._store.tables[at]] = self._rows[number]
                if held != _UNKNOWN:
                    before[self._store.tables[at]] = self._rows[held]
                self._held[at] = number
        if put:
            if put.keys() & self._store.counting:
                put[SEQUENCES] = self._rows[self._current[self._index[SEQUENCES]]]
                self._held[self._index[SEQUENCES]] = self._current[self._index[SEQUENCES]]
            self._store.put(put, before)
        touched = self._store.touched
        touched.stale = ADDED_TO if is_lazy else frozenset()
        touched.clean = dict(zip(self._store.tables, self._held, strict=True))
        touched.clean[EXPIRING] = self._part(self._expiring, touched.clean[ITEMS])

    def _take_touched(self) -> None:
        """Take what the last step has touched; what it has written is read when it is needed."""
        touched = self._store.touched
        written = {self._index[table] for table in touched.written_to}
        self._read |= {self._index[table] for table in touched.read if table != EXPIRING}
        self._written |= {self._index[table] for table in touched.written_whole}
        self._parts_read |= touched.parts | ({_EXPIRES} if EXPIRING in touched.read else set())
        self._parts_written |= touched.parts_written
        touched.forget_touched()
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
