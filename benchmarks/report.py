"""Rows of figures, as tables on the terminal, as JSON, and as Markdown."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table


@dataclass(frozen=True, slots=True)
class Row:
    """One load. Rates are in messages (or schedules): by the clock on the wall, and per second of the server's CPU."""

    what: str
    per_s: float
    per_core_s: float
    request_us: float
    p50_ms: float
    p99_ms: float
    errors: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value, with its unit."""

    what: str
    value: float
    unit: str


def show_rows(console: Console, title: str, rows: Sequence[Row]) -> None:
    """All that was measured of one server."""
    table = Table(
        "load", *_right("per second", "per server core", "µs/request", "p50 ms", "p99 ms", "errors"), title=title
    )
    for row in rows:
        load = f"{row.what} ({row.note})" if row.note else row.what
        figures = (f"{row.per_s:,.0f}", f"{row.per_core_s:,.0f}", f"{row.request_us:.1f}")
        table.add_row(load, *figures, f"{row.p50_ms:.2f}", f"{row.p99_ms:.2f}", str(row.errors or ""))
    console.print(table)


def show_ratios(console: Console, results: Mapping[str, Sequence[Row]]) -> None:
    """Messages per second of server CPU, side by side; in parentheses, how many times more the first server does."""
    first, *others = results
    table = Table("messages/s per server core", *_right(first, *others), title=f"{first}, and how many times faster")
    by_load = {server: {row.what: row.per_core_s for row in rows} for server, rows in results.items()}
    for load, ours in by_load[first].items():
        cells = [f"{ours:,.0f}"]
        for server in others:
            theirs = by_load[server].get(load)
            cells.append("–" if not theirs else f"{theirs:,.0f} ({ours / theirs:.1f}×)")
        table.add_row(load, *cells)
    console.print(table)


def show_figures(console: Console, title: str, figures: Sequence[Figure]) -> None:
    """Values that are no loads."""
    table = Table("what", *_right("measured"), title=title)
    for figure in figures:
        value = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:.3g}"
        table.add_row(figure.what, f"{value} {figure.unit}")
    console.print(table)


def write_json(path: Path, results: Mapping[str, Sequence[Row | Figure]]) -> None:
    """Everything, for comparing one run with another."""
    document = {
        "machine": machine(),
        "results": {name: [dataclasses.asdict(item) for item in items] for name, items in results.items()},
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def machine() -> str:
    """What this was measured on."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    memory_kb = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    cores = sum(line.startswith("processor") for line in _lines("/proc/cpuinfo"))
    return (
        f"{cpu}, {cores} cores, {memory_kb / 1e6:.0f} GB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def _right(*names: str) -> list[Column]:
    return [Column(name, justify="right") for name in names]


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()
