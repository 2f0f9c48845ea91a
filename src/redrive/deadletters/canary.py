"""The first letters of each cause: they are sent alone, and the rest waits until none of them has come back.

What AWS shows of a letter that was accepted differs from destination to destination. All have in common that a letter
which fails again comes back to its dead-letter queue, under the id that its destination gave it. What the ledger and
the metrics say at the end of the watch comes from watching.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from redrive.core.clock import SECOND_MS, Instant
from redrive.deadletters.causes import Cause
from redrive.deadletters.destinations import Destination
from redrive.deadletters.letter import Letter
from redrive.deadletters.plan import Canary


@dataclass(slots=True)
class _Progress:
    tried: int = 0
    answered: int = 0
    watched_until: Instant | None = None
    why_stopped: str = ""
    began_at: Instant = 0
    first: list[tuple[Letter, Destination]] = field(default_factory=list)
    """The first letters that were accepted, until their watch has ended."""


class Canaries:
    """How far the letters of each cause are."""

    def __init__(self, canary: Canary) -> None:
        self._canary = canary
        self._progress: dict[Cause, _Progress] = {}
        self._causes: dict[str, Cause] = {}

    def why_stopped(self, cause: Cause) -> str:
        """Why no more letters of a cause are sent; empty if they are."""
        return self._of(cause).why_stopped

    def waits_until(self, cause: Cause, now: Instant) -> Instant | None:
        """Until when the letters of a cause wait; None: the next one may be sent."""
        progress = self._of(cause)
        until = progress.watched_until
        if until is not None and progress.answered < self._canary.letters:
            return max(until, now + 1)
        return until if until is not None and until > now else None

    def ended_watch(self, cause: Cause) -> tuple[Sequence[tuple[Letter, Destination]], Instant]:
        """The first letters whose watch has ended, and when they were sent; each watch ends once."""
        progress = self._of(cause)
        first, progress.first = progress.first, []
        return first, progress.began_at

    def stop(self, cause: Cause, why: str) -> None:
        """Send no more letters of a cause."""
        self._of(cause).why_stopped = why

    def admitted(self, cause: Cause, now: Instant) -> bool:
        """Count a letter that is about to be sent; whether it is a first one. The last of these begins the watch."""
        progress = self._of(cause)
        progress.tried += 1
        if progress.tried == 1:
            progress.began_at = now
        if progress.tried == self._canary.letters:
            progress.watched_until = now + self._canary.watch_s * SECOND_MS
        return self._is_first(cause)

    def accepted(self, cause: Cause, new_id: str, letter: Letter, to: Destination) -> None:
        """Remember under which id a first letter would come back."""
        if self._is_first(cause):
            self._of(cause).answered += 1
            self._of(cause).first.append((letter, to))
            if new_id:
                self._causes[new_id] = cause

    def throttled(self, cause: Cause) -> None:
        """Take a first letter back that was not accepted because there was too much at once."""
        if self._is_first(cause):
            progress = self._of(cause)
            progress.tried -= 1
            progress.watched_until = None

    def failed(self, cause: Cause) -> None:
        """Stop a cause of which a first letter was not accepted."""
        if self._is_first(cause):
            self._of(cause).answered += 1
            self._of(cause).why_stopped = "a first letter of its group was not accepted"

    def came_back(self, *ids: str) -> None:
        """Stop the cause of the first letter that has come back under one of these ids."""
        for cause in (self._causes[one] for one in ids if one in self._causes):
            self._of(cause).why_stopped = "a first letter of its group has failed again"

    def _is_first(self, cause: Cause) -> bool:
        return self._of(cause).tried <= self._canary.letters

    def _of(self, cause: Cause) -> _Progress:
        return self._progress.setdefault(cause, _Progress())
