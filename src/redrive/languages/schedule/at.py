"""One-time schedules: `at(2025-12-31T23:59:59)`, a local time without an offset."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from redrive.core.clock import Instant
from redrive.languages.schedule.malformed import Malformed
from redrive.languages.schedule.wall import first_pass, gap_end

_SHAPE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?")


@dataclass(frozen=True, slots=True)
class At:
    """Fires once, when clocks in the schedule's zone show `wall` (a datetime without a zone)."""

    wall: datetime

    def instant(self, zone: ZoneInfo) -> Instant:
        """The instant of firing: the first of two for a repeated wall time, the gap's end for a wall time in a gap."""
        shown = first_pass(self.wall, zone)
        return gap_end(self.wall, zone) if shown is None else shown


def parse_at(body: str) -> At:
    """Parse `yyyy-mm-ddThh:mm:ss`, past or future; the seconds are optional.

    Errors: Malformed, also for a zone suffix and for a day that does not exist.
    """
    if _SHAPE.fullmatch(body) is None:
        raise Malformed("at takes yyyy-mm-ddThh:mm:ss without an offset")
    try:
        return At(datetime.fromisoformat(body))
    except ValueError as impossible:
        raise Malformed(f"no such date or time: {impossible}") from impossible
