"""What the whole demo came to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from redrive.demo.mending import Mending
from redrive.demo.story import Day


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The handler that was mended, and the day that was lived through."""

    mending: Mending
    day: Day

    @property
    def is_ok(self) -> bool:
        """Whether the bug was found, the mended handler has none that was found, and the day adds up."""
        return not self.mending.problems and not self.day.problems

    def as_json(self) -> str:
        """The whole of it, for scripts."""
        document = {"ok": self.is_ok, "mending": self.mending.as_document(), "day": asdict(self.day)}
        return json.dumps(document, indent=2, ensure_ascii=False)
