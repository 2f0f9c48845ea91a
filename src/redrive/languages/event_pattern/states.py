"""The states of an automaton: what each asks of an event, and to which state the answer leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from redrive.languages.event_pattern.conditions import Scalar
from redrive.languages.event_pattern.index import EVERYTHING, FieldIndex, places
from redrive.languages.event_pattern.searching import Path, keys_at, values_by_search

TEXTS_KEPT_MAX: Final = 1_024
TEXT_LENGTH_MAX: Final = 128
"""Of each state, the texts whose next state is known without a search: how many, and how long."""

ENDS_KEPT_MAX: Final = 256
TEXTS_OF_FIELD_MAX: Final = 1_024
"""As TEXTS_KEPT_MAX, for each field: what a text satisfies is the same in all states that ask for several fields."""


class Reading:
    """An event while it is read.

    `unsure` are the alternatives for which steps cannot tell alone, because several of their fields, or one that may be
    absent, are under arrays or dots.
    """

    __slots__ = ("_seen", "event", "unsure")

    def __init__(self, event: Mapping[str, object]) -> None:
        self.event = event
        self.unsure = self._seen = 0

    def doubt(self, index: FieldIndex) -> None:
        """Note that the values of a field may belong to different elements."""
        self.unsure |= index.optional | (self._seen & index.asking)
        self._seen |= index.asking


@dataclass(frozen=True, slots=True)
class Done:
    """What was asked on the way to a state: fields, as the bits of an integer, and the keys of objects."""

    fields: int = 0
    objects: frozenset[Path] = frozenset()

    def with_field(self, number: int) -> Done:
        return Done(self.fields | 1 << number, self.objects)

    def with_keys(self, path: Path) -> Done:
        return Done(self.fields, self.objects | {path})


class States(Protocol):
    """Where a state gets the next one, and reports what it keeps."""

    fields: Sequence[FieldIndex]

    def state(self, candidates: int, done: Done) -> State: ...
    def end(self, candidates: int) -> End: ...
    def weigh(self, weight: int) -> None: ...


class End:
    """A state in which nothing is left to ask: these alternatives match, and these are the names of their patterns."""

    __slots__ = ("candidates", "names")

    def __init__(self, candidates: int, names: frozenset[str]) -> None:
        self.candidates = candidates
        self.names = names


class ByValue:
    """A state that asks for the value at a path, and knows the next state for each text that it met."""

    __slots__ = ("_candidates", "_done", "_index", "_next", "_number", "_states", "path", "texts")

    def __init__(self, states: States, candidates: int, done: Done, number: int) -> None:
        self._states = states
        self._candidates = candidates
        self._done = done
        self._number = number
        self._index = states.fields[number]
        self.path: Path = self._index.path
        self.texts: dict[str, State] = {}
        self._next: dict[int, State] = {}

    def after(self, value: Scalar) -> State:
        """The state after the value of an event."""
        following = self._after(self._index.bits(value, self._candidates))
        if isinstance(value, str) and len(self.texts) < TEXTS_KEPT_MAX and len(value) <= TEXT_LENGTH_MAX:
            self.texts[value] = following
            self._states.weigh(1)
        return following

    def after_event(self, reading: Reading) -> State:
        """The state after an event whose path does not lead straight to a scalar."""
        return self._after(_bits_by_search(self._index, reading, self._candidates))

    def forget(self) -> None:
        """Forget all next states."""
        self.texts.clear()
        self._next.clear()

    def _after(self, bits: int) -> State:
        left = self._candidates & (bits | ~self._index.asking)
        following = self._next.get(left)
        if following is None:
            following = self._states.state(left, self._done.with_field(self._number))
            self._next[left] = following
            self._states.weigh(1)
        return following


class ByKeys:
    """A state that asks which keys the object at a path has, of those that some alternative asks for."""

    __slots__ = ("_candidates", "_done", "_next", "_object", "_states", "_wanted")

    def __init__(self, states: States, candidates: int, done: Done, path: Path, wanted: Mapping[str, int]) -> None:
        self._states = states
        self._candidates = candidates
        self._done = done
        self._object = path
        self._wanted = wanted
        self._next: dict[frozenset[str] | None, State] = {}

    def after_event(self, reading: Reading) -> State:
        """The state after the keys of an event's object."""
        keys = keys_at(reading.event, self._object, self._wanted)
        following = self._next.get(keys)
        if following is None:
            following = self._states.state(*self._without_absent(keys))
            self._next[keys] = following
            self._states.weigh(1)
        return following

    def forget(self) -> None:
        """Forget all next states."""
        self._next.clear()

    def _without_absent(self, keys: frozenset[str] | None) -> tuple[int, Done]:
        """The alternatives that are left, and what is decided then: the fields whose keys are not there."""
        left, absent = self._candidates, 0
        for key, numbers in self._wanted.items() if keys is not None else ():
            if key not in (keys or ()):
                absent |= numbers
                for number in places(numbers):
                    field = self._states.fields[number]
                    left &= ~field.asking | field.optional
        return left, Done(self._done.fields | absent, self._done.objects | {self._object})


class ByFields:
    """A state that asks for all that its alternatives still ask for, field by field, without states for the answers.

    Fields whose values differ from event to event would make a state for each combination of them.
    """

    __slots__ = ("_candidates", "_ends", "_fields", "_states")

    def __init__(self, states: States, candidates: int, fields: Sequence[tuple[FieldIndex, FieldIndex]]) -> None:
        """`fields`: for each field the index of all alternatives, and one that knows at least these candidates."""
        self._states = states
        self._candidates = candidates
        self._fields = [
            (own, whole, whole.path, candidates & ~whole.asking, whole.texts) for whole, own in fields
        ]  # fmt: skip
        self._ends: dict[int, End] = {}

    def after_event(self, reading: Reading) -> State:
        """The end after an event."""
        left = self._candidates
        for field, whole, path, others, texts in self._fields:
            value: object = reading.event
            try:
                for key in path:
                    value = value[key]  # type: ignore[index] # What has no keys raises, and is searched.
            except (KeyError, TypeError):
                bits = _bits_by_search(field, reading, left)
            else:
                if type(value) is str:
                    known = texts.get(value)
                    bits = self._bits_of_text(field, whole, value) if known is None else known
                elif type(value) is dict or type(value) is list:
                    bits = _bits_by_search(field, reading, left)
                else:
                    bits = field.bits(value, left)  # type: ignore[arg-type] # JSON has no other kinds.
            left &= bits | others
            if not left:
                break
        end = self._ends.get(left)
        if end is None:
            end = self._states.end(left)
            if len(self._ends) < ENDS_KEPT_MAX:
                self._ends[left] = end
                self._states.weigh(1)
        return end

    def forget(self) -> None:
        """Forget all ends."""
        self._ends.clear()

    def _bits_of_text(self, field: FieldIndex, whole: FieldIndex, value: str) -> int:
        """The alternatives that a new text satisfies: all of them while there is room to keep them."""
        texts = whole.texts
        if len(texts) >= TEXTS_OF_FIELD_MAX or len(value) > TEXT_LENGTH_MAX:
            return field.bits(value, self._candidates)
        bits = texts[value] = whole.bits(value, EVERYTHING)
        self._states.weigh(1 + bits.bit_length() // 512)
        return bits


State = End | ByValue | ByKeys | ByFields


def _bits_by_search(index: FieldIndex, reading: Reading, among: int) -> int:
    """The alternatives that an event's values satisfy, or may satisfy, where it does not lead straight to one."""
    found, is_unsure = values_by_search(reading.event, index.path)
    bits = 0
    texts = index.texts
    for value in found:
        known = texts.get(value) if type(value) is str else None
        bits |= index.bits(value, among) if known is None else known
    if is_unsure:
        reading.doubt(index)
    return bits | index.optional if is_unsure or not found else bits
