"""Whether quotas hold."""

from __future__ import annotations

import enum


class Limits(enum.Enum):
    """How an engine treats AWS's quotas.

    Relaxed lifts quotas (how many, how often), never shapes (what a name, a body, an attribute may be).
    """

    STRICT = "strict"
    RELAXED = "relaxed"
