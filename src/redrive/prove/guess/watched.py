"""Values that know where they come from, for the runs in which guesses are mended.

A handler is given its event, and the answers to its calls, as these values. They are dictionaries, lists, texts and
numbers, and keep their place through `json.loads`, the splitting of texts, and the decoding of base64 and gzip. What is
looked up in vain, and what texts are compared with, is written down. No history of a proof is played with them.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any

from redrive.prove.guess.parts import MEMBER, Member, Part
from redrive.prove.guess.reading import EventKey, EventPath

NOTES_MAX = 2_000
"""How many look-ups are written down at most."""
EVENT = "event"
"""The source of what the handler is given."""
_OPPOSITES = {"running": "stopped", "stopped": "running", "enabled": "DISABLED", "true": "false", "false": "true"}
"""States that a handler may ask for in place of a made-up one."""
HTTP = "http"
"""The source of answers to requests over HTTP."""


@dataclass(frozen=True, slots=True)
class At:
    """Where a value comes from: the event, or an answer; and the path in it. The indices of lists are 0."""

    source: str
    path: EventPath = ()

    def below(self, step: EventKey) -> At:
        """A member of it."""
        is_index = isinstance(step, int) and not isinstance(step, Member)
        return At(self.source, (*self.path, 0 if is_index else step))


@dataclass(frozen=True, slots=True)
class InVain:
    """Something was looked up in vain; with `is_required`, an error came of it."""

    at: At
    is_required: bool
    line: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A text was compared with another one, in vain."""

    at: At
    other: str
    line: str


@dataclass(slots=True)
class Observations:
    """What the values of a run have been asked for. `line_of` says which line of the user's code is the innermost in a
    frame and its callers, or, without the callers, whether the frame is the user's own.
    """

    line_of: Callable[[FrameType | None, bool], str]
    notes: list[InVain | Compared] = field(default_factory=list)
    met: list[Compared] = field(default_factory=list)
    """Comparisons that were met, with another text for each."""
    splits: list[tuple[At, str, str, str]] = field(default_factory=list)
    """The texts that were split, with their places, the separators and the lines."""
    texts: dict[str, At] = field(default_factory=dict)
    """The texts that were passed on, with their places: an error that names one tells its place."""
    is_idle: bool = False
    bodies: dict[str, str] = field(default_factory=dict)
    """Texts without a place of their own that come from a source: `json.loads` of one gives values of that source."""

    def missed(self, at: At, *, is_required: bool) -> None:
        """Write down a look-up, of the user's code or of a library that it uses."""
        line = "" if self._is_full else self.line_of(_caller(), True)
        if line:
            self.notes.append(InVain(at, is_required, line))

    def iterated(self, at: At) -> None:
        """Write down that the user's own code takes the characters of a text, which may stand for a list."""
        if not self._is_full and (line := self.line_of(_caller(), False)):
            self.notes.append(InVain(at, False, line))

    def compared(self, at: At, other: object) -> None:
        """Write down a comparison of the user's own code."""
        if not self._is_full and isinstance(other, str) and other and (line := self.line_of(_caller(), False)):
            self.notes.append(Compared(at, str.__str__(other), line))

    def matched(self, at: At, other: str) -> None:
        """Write down that a made-up text is what the user's own code compares it with."""
        if not self._is_full and (line := self.line_of(_caller(), False)):
            self.met.append(Compared(at, _OPPOSITES.get(other.lower(), f"other-{other}"), line))

    def split(self, text: WatchedText, separator: str) -> None:
        """Write down that the user's own code splits a text: it may ask for more parts."""
        if not self._is_full and separator and (line := self.line_of(_caller(), False)):
            self.splits.append((text.redrive_at, str.__str__(text), separator, line))

    @property
    def _is_full(self) -> bool:
        return self.is_idle or len(self.notes) >= NOTES_MAX

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While entered, nothing is written down."""
        before, self.is_idle = self.is_idle, True
        try:
            yield
        finally:
            self.is_idle = before

    def wrap(self, value: object, at: At) -> object:
        """The value, as one that knows its place."""
        match value:
            case WatchedObject() | WatchedList() | WatchedText() | WatchedBytes() | bool() | None:
                return value
            case dict():
                return WatchedObject(value, self, at)
            case list():
                return WatchedList(value, self, at)
            case str():
                self.texts.setdefault(value, at)
                return WatchedText.of(value, self, at)
            case bytes():
                return WatchedBytes.of(value, self, at)
            case int():
                return WatchedInt.of(value, at)
            case float():
                return WatchedFloat.of(value, at)
            case _:
                return value

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """While entered, `json.loads` and `b64decode` of a value that knows its place give such values."""
        loads, dump, decode, decompress = json.loads, json.dumps, base64.b64decode, gzip.decompress

        def loads_watched(text: str | bytes | bytearray, *args: Any, **named: Any) -> object:
            read: object = loads(text, *args, **named)
            at = place_of(text) or self._source_of(text)
            return read if at is None else self.wrap(read, at)

        def decode_watched(text: str | bytes, *args: Any, **named: Any) -> bytes:
            read = decode(text, *args, **named)
            at = place_of(text)
            return read if at is None else WatchedBytes.of(read, self, at)

        def decompress_watched(content: bytes, *args: Any, **named: Any) -> bytes:
            read = decompress(content, *args, **named)
            at = place_of(content)
            return read if at is None else WatchedBytes.of(read, self, at)

        def dump_watched(value: object, *args: Any, **named: Any) -> str:
            text = dump(value, *args, **named)
            at = place_of(value)
            return text if at is None else WatchedText.of(text, self, at)

        simple = sys.modules.get("simplejson")
        places: list[tuple[ModuleType, str, object]] = [
            (json, "loads", loads_watched), (json, "dumps", dump_watched), (base64, "b64decode", decode_watched),
            (gzip, "decompress", decompress_watched),
        ]  # fmt: skip
        if simple is not None:
            places.append((simple, "loads", loads_watched))  # requests takes it where it is installed.
        before = [(place, name, getattr(place, name)) for place, name, _ in places]
        for place, name, function in places:
            setattr(place, name, function)
        try:
            yield
        finally:
            for place, name, function in before:
                setattr(place, name, function)

    def _source_of(self, text: object) -> At | None:
        plain = text.decode("utf-8", "replace") if isinstance(text, bytes | bytearray) else text
        source = self.bodies.get(plain) if isinstance(plain, str) else None
        return None if source is None else At(source)


def _caller() -> FrameType | None:
    """The frame that asks a value of this module."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - who looks something up is told to the user.
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame


def place_of(value: object) -> At | None:
    """Where a value comes from; None if it does not know."""
    at = getattr(value, "redrive_at", None) if isinstance(value, _KINDS) else None
    return at if isinstance(at, At) else None


class WatchedObject(dict[object, object]):
    """A dictionary that writes down which of its keys are asked for in vain."""

    def __init__(self, content: dict[object, object], watch: Observations, at: At) -> None:
        super().__init__({key: watch.wrap(value, at.below(str(key))) for key, value in content.items()})
        self.redrive_at = at
        self._watch = watch

    def __missing__(self, key: object) -> object:
        self._note(key, is_required=True)
        raise KeyError(key)

    def get(self, key: object, default: object = None) -> object:
        if key not in self.keys():
            self._note(key, is_required=False)
        return super().get(key, default)

    def pop(self, key: object, *default: object) -> object:
        if key not in self.keys():
            self._note(key, is_required=not default)
        return super().pop(key, *default)

    def __contains__(self, key: object) -> bool:
        is_here = super().__contains__(key)
        if not is_here:
            self._note(key, is_required=False)
        return is_here

    def __iter__(self) -> Iterator[object]:
        """Its keys. Who takes them for members of a list is told by an error that comes of it."""
        at = self.redrive_at.below(MEMBER)
        if not len(self):
            self._watch.missed(at, is_required=False)
        return (WatchedText.of(key, self._watch, at) if type(key) is str else key for key in super().__iter__())

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)

    def __deepcopy__(self, memo: object) -> WatchedObject:
        return WatchedObject(dict(self), self._watch, self.redrive_at)

    def _note(self, key: object, *, is_required: bool) -> None:
        if isinstance(key, str):
            self._watch.missed(self.redrive_at.below(str(key)), is_required=is_required)


class WatchedList(list[object]):
    """A list that writes down where something of it is asked for in vain."""

    def __init__(self, content: list[object], watch: Observations, at: At) -> None:
        super().__init__(watch.wrap(value, at.below(0)) for value in content)
        self.redrive_at = at
        self._watch = watch

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except IndexError:
            self._watch.missed(self.redrive_at.below(0), is_required=True)
            raise

    def __iter__(self) -> Iterator[object]:
        if not len(self):
            self._watch.missed(self.redrive_at.below(0), is_required=False)
        return super().__iter__()

    def __bool__(self) -> bool:
        if not len(self):
            self._watch.missed(self.redrive_at.below(0), is_required=False)
        return len(self) > 0

    def __deepcopy__(self, memo: object) -> WatchedList:
        return WatchedList(list(self), self._watch, self.redrive_at)

    def __reduce__(self) -> tuple[object, ...]:
        return list, (list(super().__iter__()),)


class WatchedText(str):  # noqa: SLOT000 - the place is an attribute.
    """A text that writes down what it is compared with in vain."""

    redrive_at: At
    _watch: Observations

    @classmethod
    def of(cls, text: str, watch: Observations, at: At) -> WatchedText:
        made = cls(text)
        made.redrive_at, made._watch = at, watch
        return made

    def __eq__(self, other: object) -> bool:
        is_same = str.__eq__(self, other) is True if isinstance(other, str) else False
        if not is_same:
            self._watch.compared(self.redrive_at, other)
        elif not isinstance(other, WatchedText):  # A text of the code's own.
            self._watch.matched(self.redrive_at, str(other))
        return is_same

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = str.__hash__

    def startswith(self, prefix: Any, *bounds: Any) -> bool:
        found = super().startswith(prefix, *bounds)
        if not found:
            first = prefix[0] if isinstance(prefix, tuple) and prefix else prefix
            self._watch.compared(self.redrive_at, f"{first}{self}")
        return found

    def endswith(self, suffix: Any, *bounds: Any) -> bool:
        found = super().endswith(suffix, *bounds)
        if not found:
            first = suffix[0] if isinstance(suffix, tuple) and suffix else suffix
            self._watch.compared(self.redrive_at, f"{self}{first}")
        return found

    def __contains__(self, part: Any) -> bool:
        found = super().__contains__(part)
        if not found:
            self._watch.compared(self.redrive_at, f"{self}{part}")
        return found

    def lower(self) -> str:
        return self._like(super().lower())

    def upper(self) -> str:
        return self._like(super().upper())

    def strip(self, *chars: Any) -> str:
        return self._like(super().strip(*chars))

    def replace(self, *args: Any) -> str:
        return self._like(super().replace(*args))

    def split(self, sep: Any = None, maxsplit: Any = -1) -> list[str]:
        parts = super().split(sep, maxsplit)
        if type(sep) is not str or maxsplit != -1:
            return parts
        self._watch.split(self, sep)
        places = (self.redrive_at.below(Part.of(sep, number)) for number in range(len(parts)))
        return [WatchedText.of(part, self._watch, at) for part, at in zip(parts, places, strict=True)]

    def __iter__(self) -> Iterator[str]:
        """Its characters. Who takes them for members of a list is told by an error that comes of it."""
        at = self.redrive_at.below(MEMBER)
        self._watch.iterated(at)
        return (WatchedText.of(one, self._watch, at) for one in super().__iter__())

    def __str__(self) -> str:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return str, (str.__str__(self),)

    def __deepcopy__(self, memo: object) -> WatchedText:
        return self

    def encode(self, *args: Any, **named: Any) -> bytes:
        return WatchedBytes.of(super().encode(*args, **named), self._watch, self.redrive_at)

    def _like(self, text: str) -> WatchedText:
        return WatchedText.of(text, self._watch, self.redrive_at)


class WatchedBytes(bytes):
    """Bytes that know their place."""

    redrive_at: At
    _watch: Observations

    @classmethod
    def of(cls, content: bytes, watch: Observations, at: At) -> WatchedBytes:
        made = cls(content)
        made.redrive_at, made._watch = at, watch
        return made

    def decode(self, *args: Any, **named: Any) -> str:
        text = super().decode(*args, **named)
        return WatchedText.of(text, self._watch, self.redrive_at)

    def __reduce__(self) -> tuple[object, ...]:
        return bytes, (bytes(bytearray(self)),)


class WatchedInt(int):
    """A number that knows its place."""

    redrive_at: At

    @classmethod
    def of(cls, number: int, at: At) -> WatchedInt:
        made = cls(number)
        made.redrive_at = at
        return made


class WatchedFloat(float):
    """A number with a fraction that knows its place."""

    redrive_at: At

    @classmethod
    def of(cls, number: float, at: At) -> WatchedFloat:
        made = cls(number)
        made.redrive_at = at
        return made


_KINDS = (WatchedObject, WatchedList, WatchedText, WatchedBytes, WatchedInt, WatchedFloat)


def plain(value: object) -> object:
    """The value without its places, and without those of its members."""
    match value:
        case dict():
            return {plain(key): plain(member) for key, member in dict.items(value)}
        case list():
            return [plain(one) for one in list.__iter__(value)]
        case tuple() if type(value) is tuple:
            return tuple(map(plain, value))
        case WatchedText():
            return str.__str__(value)
        case WatchedBytes():
            return bytes(bytearray(value))
        case WatchedInt():
            return int.__int__(value)
        case WatchedFloat():
            return float.__float__(value)
        case _:
            return value
