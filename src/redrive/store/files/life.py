"""A store's record of its life: how often it was opened, in which boot of the machine, and how far time has come.

generation   1, 2, 3 …: counted at each opening, before anything is drawn
opened       the boot of the machine in which it is open; empty after it was closed properly
seen_at      the latest instant of the server's clock that was recorded
defers_sync  whether this opening may commit before earlier commits are synced to the disk
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.tables.facts import FactTable

GENERATION, _OPENED, _SEEN_AT, _DEFERS_SYNC = "generation", "opened", "seen_at", "defers_sync"
_BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
UNKNOWN_BOOT = "unknown"
"""The boot id on systems that have none."""


@dataclass(frozen=True, slots=True)
class Life:
    """The life of a store so far. `opened` is empty after a proper close; `generation` is 0 before any opening."""

    generation: int = 0
    opened: str = ""
    seen_at: Instant = 0
    defers_sync: bool = False


NOT_LIVED = Life()
"""The life of a store before its first opening."""


def this_boot() -> str:
    """The id of the machine's current boot."""
    try:
        return _BOOT_FILE.read_text("ascii").strip() or UNKNOWN_BOOT
    except OSError:
        return UNKNOWN_BOOT


def read_life(database: Database) -> Life:
    """Read the recorded life. Errors: sqlite3.DatabaseError if the table does not exist."""
    facts = FactTable(database)
    text: Mapping[str, str] = {
        name: (facts.get(name) or b"").decode("ascii", "replace")
        for name in (GENERATION, _OPENED, _SEEN_AT, _DEFERS_SYNC)
    }
    return Life(int(text[GENERATION] or 0), text[_OPENED], int(text[_SEEN_AT] or 0), bool(text[_DEFERS_SYNC]))


def write_opened(database: Database, generation: int, boot: str, *, defers_sync: bool) -> None:
    """Record that the store is open, for the `generation`th time."""
    facts = FactTable(database)
    facts.set(GENERATION, str(generation).encode())
    facts.set(_OPENED, boot.encode())
    facts.set(_DEFERS_SYNC, b"1" if defers_sync else b"")


def write_closed(database: Database) -> None:
    """Record that the store is closed properly: all data is in its own file."""
    FactTable(database).set(_OPENED, b"")


def write_seen(facts: FactTable, now: Instant) -> None:
    """Record that the clock has come this far."""
    facts.set(_SEEN_AT, str(now).encode())
