"""What an execution has done so far, as a drawing shows it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Passage(enum.Enum):
    """How the latest visit of a state stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    CAUGHT = "caught"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Visit:
    """The visits of a state: how the latest ended, how many there were, and a note such as an error or a duration."""

    passage: Passage
    count: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Visits by the name of the state, which is unique in a whole definition; transitions that were taken."""

    visits: Mapping[str, Visit] = field(default_factory=dict)
    moves: frozenset[tuple[str, str]] = frozenset()
