"""The states of an alarm, computed from its data as text: another way than the engine's.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.clock import MINUTE_MS, Instant

_BEYOND = 2
_FILLED = {"breaching": "X", "notBreaching": "0"}
_SILENT = {"breaching": "ALARM", "notBreaching": "OK", "missing": "INSUFFICIENT_DATA"}


@dataclass(frozen=True, slots=True)
class WatchedAlarm:
    """An alarm on the maximum of each minute of a metric: at least M of N minutes above the threshold."""

    name: str
    metric: str
    threshold: float
    periods: int
    to_alarm: int
    treat: str

    def state_at(self, now: Instant, values: Mapping[Instant, float]) -> str | None:
        """The state that an evaluation comes to; None if the alarm keeps the one that it has.

        `values` are the maxima of minutes, by their beginnings.
        """
        end = now - now % MINUTE_MS
        minutes = range(end - (self.periods + _BEYOND) * MINUTE_MS, end, MINUTE_MS)
        text = "".join(self._sign(values.get(minute)) for minute in minutes)
        real = text.replace("-", "")[-self.periods :]
        missing = self.periods - len(real)
        seen = real + _FILLED.get(self.treat, "") * missing
        if seen.count("X") >= self.to_alarm:
            return "ALARM"
        if len(seen) == self.periods or "0" in seen:
            return "OK"
        if self.treat == "ignore":
            return None
        if not real:
            return "INSUFFICIENT_DATA"
        return "ALARM" if len(text) - text.index("X") >= self.to_alarm else None

    @property
    def silent_state(self) -> str | None:
        """The state in which the alarm ends when no more data come; None if it keeps any state."""
        return _SILENT.get(self.treat)

    def _sign(self, value: float | None) -> str:
        return "-" if value is None else "X" if value > self.threshold else "0"
