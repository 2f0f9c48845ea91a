"""A memo: values that were computed from stored content, by keys that stand for the content itself."""

from __future__ import annotations


class Memo:
    """A bounded cache that a rollback need not clear, because a key never means two different contents."""

    __slots__ = ("_kept", "_kept_max")

    def __init__(self, kept_max: int = 1_024) -> None:
        self._kept: dict[object, object] = {}
        self._kept_max = kept_max

    def get(self, key: object) -> object | None:
        """The value for this key, or None."""
        return self._kept.get(key)

    def put(self, key: object, value: object) -> None:
        """Keep a value. A full memo loses the value that was put first."""
        if len(self._kept) >= self._kept_max and key not in self._kept:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = value

    def forget(self, key: object) -> None:
        """Delete a value, if the memo has it."""
        self._kept.pop(key, None)
