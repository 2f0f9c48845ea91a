"""A ResponseStream that keeps the pieces of an answer, for callers who want the whole answer at once."""

from __future__ import annotations


class KeptPieces:
    """Implements invocation.ResponseStream."""

    is_full = False

    def __init__(self) -> None:
        self.content_type = ""
        self.kept: list[bytes] = []

    def begin(self, content_type: str) -> None:
        """See ResponseStream."""
        self.content_type = content_type

    def write(self, piece: bytes) -> None:
        """See ResponseStream."""
        self.kept.append(piece)
