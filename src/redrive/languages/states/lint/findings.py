"""Findings: which rule a state breaks, why it matters, and what to write."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Level(enum.Enum):
    """How much a finding weighs."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: `place` is as in diagnostics, `message` says what may happen, `remedy` what to write."""

    rule: str
    level: Level
    place: str
    message: str
    remedy: str
