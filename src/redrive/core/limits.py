"""Whether quotas apply."""

from __future__ import annotations

import enum


class Limits(enum.Enum):
    """How an engine handles AWS's quotas.

    RELAXED removes quotas (how many, how often), but never rules of shape (which names, bodies, attributes are valid).
    """

    STRICT = "strict"
    RELAXED = "relaxed"
