"""The failure of a transform; its text is the reason that a change set or a stack shows."""

from __future__ import annotations


class TransformFailure(ValueError):
    """A transform could not be carried out."""

    def __init__(self, name: str, reason: str) -> None:
        self.reason = f"Transform {name} failed with: {reason}"
        super().__init__(self.reason)
