"""Rows of figures, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One load. Rates are in messages: by the clock on the wall, and per second of the server's CPU."""

    what: str
    per_s: float
    per_core_s: float
    request_us: float
    p50_ms: float
    p99_ms: float
    errors: int = 0
