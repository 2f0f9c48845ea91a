"""A question to the engine of a stage, as a value."""

from __future__ import annotations

import marshal

_KIND_MEMBERS = 3
_MARSHAL_VERSION = 2  # Later ones write equal values differently, depending on the number of references.


class Question:
    """What is asked, in words and plain values. A question that is asked again is best kept: its text is made once.

    `kind` is what it is about, without its details. `text` is all of it; None if more than plain values is in it.
    """

    __slots__ = ("_text", "asked", "kind")

    def __init__(self, asked: tuple[object, ...]) -> None:
        self.asked = asked
        self.kind = _kind_of(asked)
        self._text: bytes | None = None

    @property
    def text(self) -> bytes | None:
        if self._text is None:
            try:
                self._text = marshal.dumps(self.asked, _MARSHAL_VERSION)  # type: ignore[arg-type] # Others raise.
            except ValueError:
                return None
        return self._text

    def is_the_same(self, other: Question) -> bool:
        """Whether both ask the same."""
        return self is other or self.asked == other.asked


def _kind_of(asked: tuple[object, ...]) -> tuple[object, ...]:
    for at, one in enumerate(asked[:_KIND_MEMBERS]):
        if not isinstance(one, str):
            return asked[:at]
    return asked[:_KIND_MEMBERS]
