"""The one error that the parts of the parser raise among themselves."""

from __future__ import annotations


class Malformed(ValueError):
    """A part of an expression breaks a rule; the message says which part and which rule."""
