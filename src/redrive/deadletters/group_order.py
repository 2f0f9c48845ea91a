"""The order of a FIFO queue in a run: one letter of a message group goes at a time, and one that stays stops the group.

Of other queues nothing here stops or waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from redrive.core.clock import Instant
from redrive.deadletters.hiding import Held
from redrive.deadletters.letter import Letter

T = TypeVar("T")


class GroupOrder:
    """Which message groups were stopped, and what of them may go."""

    def __init__(self, *, is_fifo: bool) -> None:
        self._is_fifo = is_fifo
        self._stopped: set[str] = set()
        self._stopped_by_sending: set[str] = set()

    def begin_sending(self) -> None:
        """What stopped a group so far stands behind the letters of the group that are ready."""
        self._stopped_by_sending.clear()

    def stop(self, letter: Letter) -> None:
        """A letter stays: those behind it in its message group stay, too."""
        if self._is_fifo:
            self._stopped.add(letter.group_id)
            self._stopped_by_sending.add(letter.group_id)

    def is_stopped(self, letter: Letter) -> bool:
        """Whether an earlier letter of the message group stays."""
        return self._is_fifo and letter.group_id in self._stopped

    def was_stopped_by_sending(self, letter: Letter) -> bool:
        """Whether a letter of the message group has stayed since sending began."""
        return letter.group_id in self._stopped_by_sending

    def waits_until(self, letter: Letter, held: Iterable[Held]) -> Instant | None:
        """Until when an earlier letter of the same message group waits; None if none does."""
        if not self._is_fifo:
            return None
        return max((one.due_at for one in held if one.letter.group_id == letter.group_id), default=None)

    def wave(self, left: Sequence[T], letter_of: Callable[[T], Letter]) -> tuple[list[T], list[T]]:
        """What goes now, and what goes later."""
        if not self._is_fifo:
            return list(left), []
        first: dict[str, T] = {}
        for one in left:
            first.setdefault(letter_of(one).group_id, one)
        return list(first.values()), [one for one in left if first[letter_of(one).group_id] is not one]
