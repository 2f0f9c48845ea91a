"""How an evaluation fails."""

from __future__ import annotations

from typing import Final

UNDEFINED: Final = object()
"""The value of an expression that finds nothing."""


class FailedEvaluation(ValueError):
    """The expression is malformed or failed; the text begins with JSONata's code where there is one."""


class UnsupportedResult(ValueError):
    """The expression gave what is no JSON: a function, a pattern, or an infinite number."""
