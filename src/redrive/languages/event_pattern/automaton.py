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
from typing import Final

from redrive.languages.event_pattern.conjunction import satisfies
from redrive.languages.event_pattern.index import FieldIndex, bits_of, places
from redrive.languages.event_pattern.pattern import Alternative, Field, Pattern
from redrive.languages.event_pattern.searching import Path
from redrive.languages.event_pattern.states import ByFields, ByKeys, ByValue, Done, End, Reading, State

WEIGHT_MAX: Final = 40_000
"""How much the cache may hold: a way between two states counts one, a state one for each 64 bytes of its sets."""

FIELDS_BY_VALUE_MAX: Final = 12
"""With more fields than these to ask for, a state asks first which keys an object has at all."""

FEW: Final = 4
"""So few alternatives are asked for all their fields at once."""

SPREAD_MAX: Final = 64
"""A field of which more values are told apart makes no states: there would be one for each value."""

OWN_INDEX_MAX: Final = 64
"""A state with at most so many alternatives has an index of their own."""


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
        self._states: dict[tuple[int, Done], State] = {}
        self._weight = 0

    def start(self, without: frozenset[str] = frozenset()) -> State:
        """The state before an event, with all patterns but these."""
        hidden = bits_of(number for name in without for number in self._ids.get(name, ()))
        return self.state(((1 << len(self._alternatives)) - 1) & ~hidden, Done())

    def names(self, start: State, event: Mapping[str, object]) -> frozenset[str]:
        """The names of the patterns that an event matches, of those that the start has."""
        state = start
        reading: Reading | None = None
        while not isinstance(state, End):
            if isinstance(state, ByValue):
                value: object = event
                try:
                    for key in state.path:
                        value = value[key]  # type: ignore[index] # What has no keys raises, and is searched.
                except (KeyError, TypeError):
                    value = event
                if type(value) is str:
                    state = state.texts.get(value) or state.after(value)
                    continue
                if type(value) is not dict and type(value) is not list:
                    state = state.after(value)  # type: ignore[arg-type] # JSON has no other kinds.
                    continue
            reading = reading or Reading(event)
            state = state.after_event(reading)
        if reading is not None and reading.unsure & state.candidates:
            return self._decided(state.candidates, reading)
        return state.names

    def state(self, candidates: int, done: Done) -> State:
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
            for field in self.fields:
                field.texts.clear()
            for state in list(self._states.values()):
                if not isinstance(state, End):
                    state.forget()
            # Matchers hold their first states, which must stay in reach to be forgotten again.
            self._states = {key: state for key, state in list(self._states.items()) if key[1] == Done()}

    def end(self, candidates: int) -> End:
        """The end for these candidates."""
        return End(candidates, frozenset(self._names[number] for number in places(candidates)))

    def _decided(self, candidates: int, reading: Reading) -> frozenset[str]:
        """The names of the candidates, without those that the definition refuses."""
        names = {self._names[number] for number in places(candidates & ~reading.unsure)}
        for number in places(candidates & reading.unsure):
            name = self._names[number]
            if name not in names and satisfies(reading.event, self._alternatives[number]):
                names.add(name)
        return frozenset(names)

    def _new_state(self, candidates: int, done: Done) -> State:
        asked = self._asked(candidates, done)
        if not asked:
            return self.end(candidates)
        count = candidates.bit_count()
        apart = [one for one in asked if 1 < self.fields[one].spread <= SPREAD_MAX and 2 * asked[one] >= count > FEW]
        if apart:
            return ByValue(self, candidates, done, max(apart, key=lambda one: (asked[one], -one)))
        if len(asked) > FIELDS_BY_VALUE_MAX:
            path, wanted = self._widest(asked, done)
            if len(wanted) > FIELDS_BY_VALUE_MAX:
                return ByKeys(self, candidates, done, path, wanted)
        order = sorted(asked, key=lambda number: -asked[number])
        wholes = [self.fields[number] for number in order]
        owns = wholes if count > OWN_INDEX_MAX else [self._own_index(number, candidates) for number in order]
        return ByFields(self, candidates, list(zip(wholes, owns, strict=True)))

    def _own_index(self, number: int, candidates: int) -> FieldIndex:
        """An index of a field for these candidates alone."""
        path = self.fields[number].path
        asking = places(candidates & self.fields[number].asking)
        return FieldIndex(path, [(one, self._field(one, path)) for one in asking])

    def _field(self, number: int, path: Path) -> Field:
        return next(field for field in self._alternatives[number] if field.path == path)

    def _asked(self, candidates: int, done: Done) -> dict[int, int]:
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

    def _widest(self, asked: Mapping[int, int], done: Done) -> tuple[Path, Mapping[str, int]]:
        """The object of which most keys are asked for, and these keys with the fields that they lead to."""
        keys: dict[Path, dict[str, int]] = {}
        for number in asked:
            path = self.fields[number].path
            for depth in range(len(path)):
                if path[:depth] not in done.objects:
                    wanted = keys.setdefault(path[:depth], {})
                    wanted[path[depth]] = wanted.get(path[depth], 0) | 1 << number
        return max(keys.items(), key=lambda item: len(item[1]), default=((), {}))
