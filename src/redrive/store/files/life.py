"""What a store knows of its own life: how often it was opened, by which run of the machine, and how far time had come.

generation   1, 2, 3 …: counted at each opening, before anything is drawn
opened       the run of the machine on which it is open; empty after it was closed in order
seen_at      the latest instant of the server's clock that was written down
defers_sync  whether commits of this opening may be on their way to the disk while later ones are made
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.tables.facts import FactTable

_GENERATION, _OPENED, _SEEN_AT, _DEFERS_SYNC = "generation", "opened", "seen_at", "defers_sync"
_BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
UNKNOWN_BOOT = "unknown"
"""Where the system does not tell its runs apart."""


@dataclass(frozen=True, slots=True)
class Life:
    """The life of a store so far. `opened` is empty if it was closed in order, `generation` 0 if none was counted."""

    generation: int = 0
    opened: str = ""
    seen_at: Instant = 0
    defers_sync: bool = False


NOT_LIVED = Life()
"""The life of a store before it is opened for the first time."""


def this_boot() -> str:
    """The name of this run of the machine, from one start of the system to the next."""
    try:
        return _BOOT_FILE.read_text("ascii").strip() or UNKNOWN_BOOT
    except OSError:
        return UNKNOWN_BOOT


def read_life(database: Database) -> Life:
    """What is written down. Errors: sqlite3.DatabaseError if there is no table for it."""
    facts = FactTable(database)
    text: Mapping[str, str] = {
        name: (facts.get(name) or b"").decode("ascii", "replace")
        for name in (_GENERATION, _OPENED, _SEEN_AT, _DEFERS_SYNC)
    }
    return Life(int(text[_GENERATION] or 0), text[_OPENED], int(text[_SEEN_AT] or 0), bool(text[_DEFERS_SYNC]))


def write_opened(database: Database, generation: int, boot: str, *, defers_sync: bool) -> None:
    """The store is open from now on, for the so-manyth time."""
    facts = FactTable(database)
    facts.set(_GENERATION, str(generation).encode())
    facts.set(_OPENED, boot.encode())
    facts.set(_DEFERS_SYNC, b"1" if defers_sync else b"")


def write_closed(database: Database) -> None:
    """The store is closed in order: all of it is in its own file."""
    FactTable(database).set(_OPENED, b"")


def write_seen(facts: FactTable, now: Instant) -> None:
    """The clock has come as far as this."""
    facts.set(_SEEN_AT, str(now).encode())
