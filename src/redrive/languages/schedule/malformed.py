"""The error that the parts of the parser share."""

from __future__ import annotations


class Malformed(ValueError):
    """A part of an expression violates a rule; the message names the part and the rule."""
