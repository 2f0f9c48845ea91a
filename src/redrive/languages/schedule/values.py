"""The number fields of a cron: lists, ranges, steps and names, parsed into sorted values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.languages.schedule.malformed import Malformed

_ITEM = re.compile(r"(?P<first>\*|[0-9A-Z]+)(?:-(?P<last>[0-9A-Z]+))?(?:/(?P<step>[0-9]+))?")


@dataclass(frozen=True, slots=True)
class ValueField:
    """One field's grammar: `low` to `high`, with optional names, and its operators besides `,` `-` and `*`.

    `wraps` allows a range to run over the end (`22-2` in hours is 22, 23, 0, 1, 2); `steps` allows `/`. Other
    values up to `readable_max` are accepted and ignored.
    """

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)
    wraps: bool = True
    steps: bool = True
    readable_max: int | None = None

    def parse(self, text: str) -> tuple[int, ...]:
        """The values of a field's text, ascending. The text is in upper case. Errors: Malformed."""
        values: set[int] = set()
        for item in text.split(","):
            values.update(self._parse_item(item))
        return tuple(sorted(value for value in values if self.low <= value <= self.high))

    def parse_value(self, text: str) -> int:
        """Parse one number or name. Errors: Malformed."""
        if text in self.names:
            return self.names[text]
        low, high = (self.low, self.high) if self.readable_max is None else (0, self.readable_max)
        if not text.isdecimal() or not low <= int(text) <= high:
            raise Malformed(f"{text!r} is no value of the {self.name} field ({self.low}-{self.high})")
        return int(text)

    def _parse_item(self, item: str) -> list[int]:
        found = _ITEM.fullmatch(item)
        if found is None or (found["first"] == "*" and found["last"] is not None):
            raise Malformed(f"{item!r} is no value, range or step of the {self.name} field")
        step = self._parse_step(found["step"])
        if found["first"] == "*":
            return list(range(self.low, self.high + 1, step))
        first = self.parse_value(found["first"])
        if found["last"] is not None:
            return self._span(first, self.parse_value(found["last"]), step)
        return [first] if found["step"] is None else list(range(first, self.high + 1, step))

    def _parse_step(self, text: str | None) -> int:
        # A step beyond the field (*/90 in minutes) is always a mistake: it would silently mean "once an hour".
        if text is None:
            return 1
        if not self.steps or not 1 <= int(text) <= self.high:
            raise Malformed(f"the {self.name} field takes no step of {text}")
        return int(text)

    def _span(self, first: int, last: int, step: int) -> list[int]:
        if first <= last:
            return list(range(first, last + 1, step))
        if not self.wraps:
            raise Malformed(f"the range {first}-{last} of the {self.name} field runs backwards")
        size = self.high - self.low + 1
        return [self.low + (value - self.low) % size for value in range(first, last + size + 1, step)]
