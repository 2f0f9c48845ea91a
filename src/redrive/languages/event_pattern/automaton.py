"""Runs an event through all alternatives of many patterns at once.

A state is a set of alternatives that are still possible, and knows what to ask next: the value at the path that most of
them ask for. Each value leads to the state of the alternatives that it leaves. So an event takes as many steps as there
are paths that its own rules ask for, whatever other rules there are. States and the ways between them come into being
when an event needs them, and are forgotten when there are too many: they are a cache.

Where paths lead through arrays of objects, the fields of an alternative have to be satisfied by the same element. A
step looks at one path and cannot tell; it leaves whatever may be possible, and the definition (`conjunction.py`)
decides on the alternatives that are left. The same is done where keys with dots make several ways to a path.

Source: Aguilera et al., Matching events in a content-based subscription system (1999): a matching tree; here the tree
is built as far as events reach it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from redrive.languages.event_pattern.conditions import Scalar
from redrive.languages.event_pattern.conjunction import elements, satisfies, values_at
from redrive.languages.event_pattern.index import FieldIndex, bits_of, places
from redrive.languages.event_pattern.pattern import Alternative, Field, Pattern

WEIGHT_MAX: Final = 40_000
"""How much the cache may hold: a way between two states counts one, a state one for each 64 bytes of its sets."""

TEXTS_KEPT_MAX: Final = 1_024
TEXT_LENGTH_MAX: Final = 128
"""Of each state, the texts whose next state is known without a search: how many, and how long."""

FIELDS_BY_VALUE_MAX: Final = 12
"""With more fields than these to ask for, a state asks first which keys an object has at all."""

Path = tuple[str, ...]


@dataclass(slots=True)
class Reading:
    """An event while it is read. `is_open` says that steps could not tell, and the definition has to decide."""

    event: Mapping[str, object]
    is_open: bool = False


class End:
    """A state in which nothing is left to ask: these alternatives match, and these are the names of their patterns."""

    __slots__ = ("candidates", "names")

    def __init__(self, candidates: int, names: frozenset[str]) -> None:
        self.candidates = candidates
        self.names = names


class ByValue:
    """A state that asks for the value at a path."""

    __slots__ = ("_automaton", "_candidates", "_done", "_index", "_next", "_number", "path", "texts")

    def __init__(self, automaton: Automaton, candidates: int, done: _Done, number: int) -> None:
        self._automaton = automaton
        self._candidates = candidates
        self._done = done
        self._number = number
        self._index = automaton.fields[number]
        self.path: Path = self._index.path
        self.texts: dict[str, State] = {}
        self._next: dict[int, State] = {}

    def after(self, value: object) -> State:
        """The state after a value that is neither an object nor an array."""
        following = self._after(self._index.bits(value, self._candidates))  # type: ignore[arg-type] # A scalar.
        if isinstance(value, str) and len(self.texts) < TEXTS_KEPT_MAX and len(value) <= TEXT_LENGTH_MAX:
            self.texts[value] = following
            self._automaton.weigh(1)
        return following

    def after_search(self, reading: Reading) -> State:
        """The state after an event whose path does not lead straight to a scalar."""
        found, is_open = _search(reading.event, self.path)
        bits = 0
        for value in found:
            bits |= self._index.bits(value, self._candidates)
        if is_open:
            reading.is_open = True
        if is_open or not found:
            bits |= self._index.optional
        return self._after(bits)

    def forget(self) -> None:
        self.texts.clear()
        self._next.clear()

    def _after(self, bits: int) -> State:
        left = self._candidates & (bits | ~self._index.asking)
        following = self._next.get(left)
        if following is None:
            following = self._automaton.state(left, self._done.with_field(self._number))
            self._next[left] = following
            self._automaton.weigh(1)
        return following


class ByKeys:
    """A state that asks which keys the object at a path has, of those that some alternative asks for."""

    __slots__ = ("_automaton", "_candidates", "_done", "_next", "_object", "_wanted", "path", "texts")

    def __init__(
        self, automaton: Automaton, candidates: int, done: _Done, path: Path, wanted: Mapping[str, int]
    ) -> None:
        self._automaton = automaton
        self._candidates = candidates
        self._done = done
        self._object = path
        self._wanted = wanted
        # No value is asked for: reading `path` fails for every event, and so leads to after_search.
        self.path: Path = ()
        self.texts: dict[str, State] = {}
        self._next: dict[frozenset[str] | None, State] = {}

    def after(self, value: object) -> State:
        raise AssertionError("an event is an object, and no value")

    def after_search(self, reading: Reading) -> State:
        """The state after the keys of an event's object."""
        keys = _keys_at(reading.event, self._object, self._wanted)
        following = self._next.get(keys)
        if following is None:
            following = self._automaton.state(*self._without_absent(keys))
            self._next[keys] = following
            self._automaton.weigh(1)
        return following

    def forget(self) -> None:
        self._next.clear()

    def _without_absent(self, keys: frozenset[str] | None) -> tuple[int, _Done]:
        """The alternatives that are left, and the fields that are decided: those whose keys are not there."""
        left, done = self._candidates, self._done.with_keys(self._object)
        if keys is None:
            return left, done
        for key, ids in self._wanted.items():
            if key not in keys:
                for number in places(ids):
                    left &= ~self._automaton.fields[number].asking | self._automaton.fields[number].optional
                done = _Done(done.fields | ids, done.objects)
        return left, done


State = End | ByValue | ByKeys


@dataclass(frozen=True, slots=True)
class _Done:
    """What was asked on the way to a state: fields, as the bits of an integer, and the keys of objects."""

    fields: int = 0
    objects: frozenset[Path] = frozenset()

    def with_field(self, number: int) -> _Done:
        return _Done(self.fields | 1 << number, self.objects)

    def with_keys(self, path: Path) -> _Done:
        return _Done(self.fields, self.objects | {path})


class Automaton:
    """The alternatives of many patterns, and the states that events have needed so far."""

    def __init__(self, patterns: Mapping[str, Pattern]) -> None:
        self._alternatives: list[Alternative] = []
        self._names: list[str] = []
        self._ids: dict[str, range] = {}
        by_path: dict[Path, list[tuple[int, Field]]] = {}
        for name, pattern in patterns.items():
            first = len(self._alternatives)
            for alternative in pattern.alternatives:
                for field in alternative:
                    by_path.setdefault(field.path, []).append((len(self._alternatives), field))
                self._alternatives.append(alternative)
                self._names.append(name)
            self._ids[name] = range(first, len(self._alternatives))
        self.fields: Sequence[FieldIndex] = [FieldIndex(path, fields) for path, fields in by_path.items()]
        self._field_ids = {field.path: number for number, field in enumerate(self.fields)}
        self._states: dict[tuple[int, _Done], State] = {}
        self._weight = 0

    def start(self, without: frozenset[str] = frozenset()) -> State:
        """The state before an event, with all patterns but these."""
        hidden = bits_of(number for name in without for number in self._ids.get(name, ()))
        return self.state(((1 << len(self._alternatives)) - 1) & ~hidden, _Done())

    def names(self, start: State, event: Mapping[str, object]) -> frozenset[str]:
        """The names of the patterns that an event matches, of those that the start has."""
        state = start
        reading: Reading | None = None
        while not isinstance(state, End):
            value: object = event
            try:
                for key in state.path:
                    value = value[key]  # type: ignore[index] # What has no keys raises, and is searched.
            except (KeyError, TypeError):
                value = event
            if type(value) is str:
                state = state.texts.get(value) or state.after(value)
            elif type(value) is dict or type(value) is list:
                reading = reading or Reading(event)
                state = state.after_search(reading)
            else:
                state = state.after(value)
        if reading is not None and reading.is_open:
            return self._decided(state.candidates, event)
        return state.names

    def state(self, candidates: int, done: _Done) -> State:
        """The state of these candidates, of which this was asked."""
        key = (candidates, done)
        state = self._states.get(key)
        if state is None:
            state = self._new_state(candidates, done)
            self.weigh(1 + (candidates.bit_length() + done.fields.bit_length()) // 512)
            self._states[key] = state
        return state

    def weigh(self, weight: int) -> None:
        """Count what a state keeps, and forget all if it is too much."""
        self._weight += weight
        if self._weight > WEIGHT_MAX:
            self._weight = 0
            for state in list(self._states.values()):
                if not isinstance(state, End):
                    state.forget()
            # Matchers hold their first states, which must stay in reach to be forgotten again.
            self._states = {key: state for key, state in list(self._states.items()) if key[1] == _Done()}

    def _decided(self, candidates: int, event: Mapping[str, object]) -> frozenset[str]:
        """The names of the candidates that satisfy the definition."""
        names: set[str] = set()
        for number in places(candidates):
            name = self._names[number]
            if name not in names and satisfies(event, self._alternatives[number]):
                names.add(name)
        return frozenset(names)

    def _new_state(self, candidates: int, done: _Done) -> State:
        asked = self._asked(candidates, done)
        if not asked:
            return End(candidates, frozenset(self._names[number] for number in places(candidates)))
        if len(asked) > FIELDS_BY_VALUE_MAX:
            path, wanted = self._widest(asked, done)
            if len(wanted) > FIELDS_BY_VALUE_MAX:
                return ByKeys(self, candidates, done, path, wanted)
        best = max(asked, key=lambda number: (asked[number], self.fields[number].spread, -number))
        return ByValue(self, candidates, done, best)

    def _asked(self, candidates: int, done: _Done) -> dict[int, int]:
        """The fields that candidates still ask for, each with the number of candidates."""
        count = candidates.bit_count()
        if count < len(self.fields):
            asked: dict[int, int] = {}
            for candidate in places(candidates):
                for field in self._alternatives[candidate]:
                    number = self._field_ids[field.path]
                    if not done.fields >> number & 1:
                        asked[number] = asked.get(number, 0) + 1
            return asked
        counts = {number: (field.asking & candidates).bit_count() for number, field in enumerate(self.fields)}
        return {number: count for number, count in counts.items() if count and not done.fields >> number & 1}

    def _widest(self, asked: Mapping[int, int], done: _Done) -> tuple[Path, Mapping[str, int]]:
        """The object of which most keys are asked for, and these keys with the fields that they lead to."""
        keys: dict[Path, dict[str, int]] = {}
        for number in asked:
            path = self.fields[number].path
            for depth in range(len(path)):
                if path[:depth] not in done.objects:
                    wanted = keys.setdefault(path[:depth], {})
                    wanted[path[depth]] = wanted.get(path[depth], 0) | 1 << number
        return max(keys.items(), key=lambda item: len(item[1]), default=((), {}))


def _search(event: Mapping[str, object], path: Path) -> tuple[list[Scalar], bool]:
    """The values of an event at a path, and whether there may be more to know than they tell."""
    value: object = event
    is_plain = True
    for key in path:
        if not isinstance(value, dict):
            is_plain = not isinstance(value, list)
            value = []
            break
        if _has_dots(value):
            is_plain = False
            break
        value = value.get(key, ())
    if not is_plain:
        return list(values_at(event, path)), True
    if not isinstance(value, list):
        return [], False
    found = list(elements(value))
    scalars: list[Scalar] = [one for one in found if not isinstance(one, dict)]  # type: ignore[misc]
    return scalars, len(scalars) < len(found)


def _keys_at(event: Mapping[str, object], path: Path, wanted: Mapping[str, int]) -> frozenset[str] | None:
    """Which of the wanted keys the object at a path has, or the objects if arrays lead there; None if dots hide it."""
    values: list[object] = [event]
    for key in path:
        following: list[object] = []
        for value in values:
            if isinstance(value, dict):
                if _has_dots(value):
                    return None
                following.extend(elements(value.get(key)))
        values = following
    keys: set[str] = set()
    for value in values:
        if isinstance(value, dict):
            if _has_dots(value):
                return None
            keys |= wanted.keys() & value.keys()
    return frozenset(keys)


def _has_dots(value: Mapping[str, object]) -> bool:
    return "." in "".join(value)
