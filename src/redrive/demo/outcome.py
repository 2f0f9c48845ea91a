"""The result of the whole demo."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from redrive.demo.mending import Mending
from redrive.demo.story import Day


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The fix of the handler, and the day."""

    mending: Mending
    day: Day

    @property
    def is_ok(self) -> bool:
        """Whether the bug was found, no bug was found in the fixed handler, and the day has no problems."""
        return not self.mending.problems and not self.day.problems

    def as_json(self) -> str:
        """The whole result, for scripts."""
        document = {"ok": self.is_ok, "mending": self.mending.as_document(), "day": asdict(self.day)}
        return json.dumps(document, indent=2, ensure_ascii=False)
