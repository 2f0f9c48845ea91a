"""Bytes as values. Nothing is read past the end, and nothing is left over."""

from __future__ import annotations

import struct

from redrive.languages.cbor.values import Malformed, Tagged, Value

# As deep as the JSON bodies that the wire takes.
NESTING_MAX = 200

_INDEFINITE = 31
_BREAK = 0xFF
_BYTES, _TEXT = 2, 3
# `undefined` is read as null: to both, a member is absent.
_SIMPLE: dict[int, bool | None] = {20: False, 21: True, 22: None, 23: None}
_FLOATS = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}


def decode(data: bytes) -> Value:
    """The one value that the bytes hold. Errors: Malformed."""
    reader = _Reader(data)
    try:
        value = reader.item(0)
    except UnicodeDecodeError:
        raise Malformed("A text is not UTF-8.") from None
    if reader.at != len(data):
        raise Malformed(f"{len(data) - reader.at} bytes are left after the value.")
    return value


class _Reader:
    """Reads items one after the other."""

    __slots__ = ("_data", "at")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def item(self, depth: int) -> Value:
        """The next item, which stands inside so many others."""
        if depth > NESTING_MAX:
            raise Malformed(f"The value nests deeper than {NESTING_MAX} levels.")
        first = self._take(1)[0]
        major, info = first >> 5, first & 31
        match major:
            case 0:
                return self._argument(info)
            case 1:
                return -1 - self._argument(info)
            case 2:
                return self._string(_BYTES, info)
            case 3:
                return self._text(info)
            case 4:
                return self._list(info, depth)
            case 5:
                return self._map(info, depth)
            case 6:
                return Tagged(self._argument(info), self.item(depth + 1))
            case _:
                return self._simple(info)

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self._data):
            raise Malformed("The value is cut off.")
        taken = self._data[self.at : end]
        self.at = end
        return taken

    def _argument(self, info: int) -> int:
        if info < 24:
            return info
        if info <= 27:
            return int.from_bytes(self._take(1 << (info - 24)))
        raise Malformed(f"No item begins with the additional information {info}.")

    def _is_break(self) -> bool:
        """Whether an item of indefinite length ends here; the mark is taken then."""
        if self.at < len(self._data) and self._data[self.at] == _BREAK:
            self.at += 1
            return True
        return False

    def _string(self, major: int, info: int) -> bytes:
        if info != _INDEFINITE:
            return self._take(self._argument(info))
        pieces = []
        while not self._is_break():
            first = self._take(1)[0]
            if first >> 5 != major or first & 31 == _INDEFINITE:
                raise Malformed("A string of indefinite length consists of strings of its own kind.")
            pieces.append(self._take(self._argument(first & 31)))
        return b"".join(pieces)

    def _text(self, info: int) -> str:
        return self._string(_TEXT, info).decode()

    def _list(self, info: int, depth: int) -> list[Value]:
        if info != _INDEFINITE:
            return [self.item(depth + 1) for _ in range(self._count(info))]
        items: list[Value] = []
        while not self._is_break():
            items.append(self.item(depth + 1))
        return items

    def _map(self, info: int, depth: int) -> dict[str, Value]:
        entries: dict[str, Value] = {}
        if info != _INDEFINITE:
            for _ in range(self._count(info)):
                self._entry(entries, depth)
        else:
            while not self._is_break():
                self._entry(entries, depth)
        return entries

    def _count(self, info: int) -> int:
        """How many items follow: no more than there are bytes, since each has at least one."""
        count = self._argument(info)
        if count > len(self._data) - self.at:
            raise Malformed("The value is cut off.")
        return count

    def _entry(self, entries: dict[str, Value], depth: int) -> None:
        first = self._take(1)[0]
        if first >> 5 != _TEXT:
            raise Malformed("The keys of maps are texts.")
        key = self._text(first & 31)
        if key in entries:
            raise Malformed(f"The key {key!r} stands twice in a map.")
        entries[key] = self.item(depth + 1)

    def _simple(self, info: int) -> Value:
        if info in _SIMPLE:
            return _SIMPLE[info]
        if info in _FLOATS:
            spelling, size = _FLOATS[info]
            number: float = struct.unpack(spelling, self._take(size))[0]
            return number
        raise Malformed(f"No simple value has the number {info}.")
