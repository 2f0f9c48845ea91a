"""Durations as people write them: `90s`, `15m`, `24h`, `7d`, and sums of these: `1h30m`."""

from __future__ import annotations

import re

import click

_PIECE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class Duration(click.ParamType):  # type: ignore[type-arg]  # Older releases of click are not generic.
    """A click parameter: a duration, as seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The duration in seconds. Fails with the accepted formats if the text is invalid."""
        text = str(value).strip().lower()
        pieces = _PIECE.findall(text)
        if not pieces or "".join(number + unit for number, unit in pieces) != text:
            self.fail(f"{value!r} is not a duration; write 90s, 15m, 24h, 7d or 1h30m.", param, ctx)
        return sum(float(number) * _SECONDS[unit] for number, unit in pieces)
