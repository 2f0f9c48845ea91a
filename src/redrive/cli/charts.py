"""Small charts for a terminal: a line of blocks, or a few lines with a scale. A minute without a value is a gap."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
GAP = " "
WIDTH_MAX = 80


def number(value: float) -> str:
    """A number in few characters: 12, 0.25, 1.5e+07."""
    return f"{value:.6g}"


def squeezed(values: Sequence[float | None], width: int = WIDTH_MAX) -> list[float | None]:
    """The values in at most `width` columns; a column has the largest value of those that share it."""
    if len(values) <= width:
        return list(values)
    columns: list[float | None] = []
    for column in range(width):
        part = values[column * len(values) // width : (column + 1) * len(values) // width]
        columns.append(max([value for value in part if value is not None], default=None))
    return columns


def sparkline(values: Sequence[float | None], *, width: int = WIDTH_MAX) -> str:
    """One line of blocks, from the lowest value to the highest, or from 0 if no value is below."""
    return chart(values, height=1, width=width)[0]


def chart(values: Sequence[float | None], *, height: int = 6, width: int = WIDTH_MAX) -> list[str]:
    """Columns of blocks, the top line first. The scale begins at 0, unless a value is below."""
    columns = squeezed(values, width)
    known = [value for value in columns if value is not None]
    low, high = min([0.0, *known]), max([0.0, *known])
    steps = height * len(BLOCKS)
    filled = [None if value is None else _steps(value, low, high, steps) for value in columns]
    return ["".join(_block(count, line) for count in filled) for line in reversed(range(height))]


def scaled(values: Sequence[float | None], *, height: int = 6, width: int = WIDTH_MAX) -> list[str]:
    """A chart with its highest and lowest value at the left."""
    known = [value for value in values if value is not None]
    if not known:
        return ["no data"]
    high, low = number(max([0.0, *known])), number(min([0.0, *known]))
    margin = max(len(high), len(low))
    lines = chart(values, height=height, width=width)
    labels = [high, *[""] * (height - 2), low] if height > 1 else [high]
    return [f"{label:>{margin}} │{line}" for label, line in zip(labels, lines, strict=True)]


def _steps(value: float, low: float, high: float, steps: int) -> int:
    """How many eighths of a line a value fills: at least one, so that it can be told from a gap."""
    return 1 if high <= low else max(1, round((value - low) / (high - low) * steps))


def _block(count: int | None, line: int) -> str:
    if count is None:
        return GAP
    within = count - line * len(BLOCKS)
    return GAP if within <= 0 else BLOCKS[min(within, len(BLOCKS)) - 1]
