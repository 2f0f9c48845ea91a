"""Globs of `parse`: `user=*, took * ms`. Each star captures as little as it can; the last may capture the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glob:
    """The texts between the stars: one more than stars. `names` are those of the stars."""

    pieces: tuple[str, ...]
    names: tuple[str, ...]

    @staticmethod
    def of(text: str, names: tuple[str, ...]) -> Glob:
        """The glob of a text."""
        return Glob(tuple(text.split("*")), names)

    @property
    def required(self) -> str:
        """A text that is in every match."""
        return max(self.pieces, key=len)

    def groups(self, text: str) -> tuple[str, ...] | None:
        """What the stars capture; None if the text does not fit. A later beginning never fits better."""
        first, *others = self.pieces
        at = text.find(first)
        if at < 0:
            return None
        at += len(first)
        found = []
        for piece in others[:-1]:
            end = text.find(piece, at)
            if end < 0:
                return None
            found.append(text[at:end])
            at = end + len(piece)
        if others:
            end = text.find(others[-1], at) if others[-1] else len(text)
            if end < 0:
                return None
            found.append(text[at:end])
        return tuple(found)
