"""Opens and closes stores. Opening examines, migrates and counts; closing leaves all data in the one file.

A store that was closed properly is one file. While it is open, the file says so, and its log is beside it.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from redrive.core.errors import UserError
from redrive.store.connection import SqliteDatabase, damaged, unusable
from redrive.store.files.directory import create_private
from redrive.store.files.examine import Examined, beside, examine
from redrive.store.files.life import NOT_LIVED, UNKNOWN_BOOT, Life, read_life, this_boot, write_closed, write_opened
from redrive.store.migrate import migrate, schema_version

MEMORY = ":memory:"
STATEMENTS_CACHED = 512
MAPPED_BYTES_MAX = 32 * 1024 * 1024  # Mapped pages count as the server's memory.
WAL_PAGES_MAX = 4_000  # 16 MB of 4 KiB pages between checkpoints: SQLite's default is 1,000.
WAL_BYTES_KEPT_MAX = 4_120 * WAL_PAGES_MAX
"""The size to which a log is truncated after a large transaction has made it larger."""
CHECKED_WHOLE_BYTES_MAX = 1 << 30
"""The largest store that is checked completely after it was not closed properly. This takes about 1 s for each GiB."""
_CHECKED_ALWAYS = ("facts", "resources", "timers", "deliveries")
"""The tables that redrive cannot work without. Of a larger store, only these are checked."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open store. `life` is as it was found; `generation` is that of this opening."""

    connection: sqlite3.Connection
    generation: int = 1
    life: Life = NOT_LIVED
    is_checked_in_part: bool = False


class SharedMemory:
    """A database in memory for several stores of one process. Each store has its own connection and caches.

    It exists until `close`. The first store that opens it draws the secret, which all of them share.
    """

    def __init__(self) -> None:
        self.location = f"file:redrive-{id(self):x}?mode=memory&cache=shared"
        self._connection = sqlite3.connect(self.location, uri=True)

    def close(self) -> None:
        """Delete everything; all stores must be closed, too."""
        self._connection.close()


def open_memory(shared: SharedMemory | None = None) -> Opened:
    """Open a store in its own memory, or in shared memory."""
    location = MEMORY if shared is None else shared.location
    connection = _connect(location, is_uri=shared is not None)
    for pragma in ("journal_mode = MEMORY", "synchronous = OFF", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    if shared is None:
        _copy_empty_store(connection)
    else:
        migrate(connection, location)
    return Opened(connection)


def _copy_empty_store(connection: sqlite3.Connection) -> None:
    """Give a new database in memory its schema. A copy takes a tenth of the time that the migrations take.

    A database that `deserialize` filled would be kept by another kind of file system in memory, which allows 1 GiB.
    """
    with closing(sqlite3.connect(MEMORY)) as filled:
        filled.deserialize(_empty_store())
        filled.backup(connection)


@functools.cache
def _empty_store() -> bytes:
    """A store to which every migration was applied, and which holds nothing."""
    with closing(_connect(MEMORY)) as connection:
        migrate(connection, MEMORY)
        return connection.serialize()


def open_file(path: Path, *, synchronous: str, defers_sync: bool = False) -> Opened:
    """Open, or create, a store in a file. It has no foreign keys: documents refer to each other by ARN, as on AWS.

    With `defers_sync`, the disk may have received the log in any order when the machine stops. The file records this.
    Errors: UserError if the file is not a redrive store or comes from a newer version; StoreDamaged; StoreFull.
    """
    boot = this_boot()
    found = examine(path, boot)
    if found.finding:
        raise damaged(str(path), found.finding, can_be_accepted=not found.is_new)
    life, is_in_part = (NOT_LIVED, False) if found.is_new else _probe(path, found)
    try:
        create_private(path)
        connection = _connect(str(path))
    except sqlite3.DatabaseError as error:
        raise unusable(str(path), error) from error
    except OSError as error:
        raise UserError(f"{path} cannot be opened: {error.strerror}.", next_step="Choose another --data.") from error
    try:
        generation = _begin(connection, path, boot, life, synchronous, defers_sync=defers_sync)
    except BaseException as error:
        _abandon(connection, path, life)
        raise (unusable(str(path), error) if isinstance(error, sqlite3.DatabaseError) else error) from error
    return Opened(connection, generation, life, is_in_part)


@contextmanager
def reading(path: Path, *, without_log: bool) -> Iterator[sqlite3.Connection]:
    """Open a store read-only: neither the file nor its log is changed. `without_log` reads the file alone."""
    mode = "immutable=1" if without_log else "mode=ro"
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, isolation_level=None)
        with closing(connection):
            yield connection
    except sqlite3.DatabaseError as error:
        raise unusable(str(path), error) from error


def _probe(path: Path, found: Examined) -> tuple[Life, bool]:
    """Refuse a foreign or damaged file before any write. Returns its life, and whether only a part was checked."""
    with reading(path, without_log=found.wal is None) as connection:
        version = schema_version(connection, str(path))
        if not version:
            return NOT_LIVED, False
        try:
            life = read_life(SqliteDatabase(connection))
        except sqlite3.OperationalError:  # A store of a version without the table of facts.
            life = NOT_LIVED
        is_in_part = bool(life.opened) and _check(connection, path)
        # A store from before openings were counted has drawn random values already.
        return replace(life, generation=max(1, life.generation)), is_in_part


def _begin(
    connection: sqlite3.Connection, path: Path, boot: str, life: Life, synchronous: str, *, defers_sync: bool
) -> int:  # fmt: skip
    """Migrate the schema and count this opening, before anything else. Returns the generation."""
    for pragma in (
        "busy_timeout = 0", "journal_mode = WAL", f"synchronous = {synchronous}", "temp_store = MEMORY",
        f"wal_autocheckpoint = {WAL_PAGES_MAX}", f"journal_size_limit = {WAL_BYTES_KEPT_MAX}",
        f"mmap_size = {MAPPED_BYTES_MAX}",
    ):  # fmt: skip
        connection.execute(f"PRAGMA {pragma}")
    migrate(connection, str(path))
    connection.execute("BEGIN IMMEDIATE")
    write_opened(SqliteDatabase(connection), life.generation + 1, boot, defers_sync=defers_sync)
    connection.execute("COMMIT")
    checkpoint(connection)
    return life.generation + 1


def _check(connection: sqlite3.Connection, path: Path) -> bool:
    """Check a store that was not closed properly. True if only a part was checked, because it is large.

    Errors: StoreDamaged.
    """
    is_in_part = path.stat().st_size > CHECKED_WHOLE_BYTES_MAX
    if is_in_part:
        for table in _CHECKED_ALWAYS:
            _quick_check(connection, path, table)
    else:
        check_whole(connection, path)
    return is_in_part


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Check a whole store. Errors: StoreDamaged."""
    _quick_check(connection, path, "3")


def _quick_check(connection: sqlite3.Connection, path: Path, what: str) -> None:
    finding = "; ".join(row[0] for row in connection.execute(f"PRAGMA quick_check({what})").fetchmany(3))
    if finding != "ok":
        raise damaged(str(path), finding.replace("\n", " "))


def checkpoint(connection: sqlite3.Connection) -> None:
    """Copy the whole log into the file, and empty the log."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def close_file(connection: sqlite3.Connection, path: Path) -> None:
    """Close a store properly: all data is in its one file, and the file says so.

    If the disk has no room for that, the store stays as after a kill: the next opening only checks it.
    """
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        checkpoint(connection)
        write_closed(SqliteDatabase(connection))
        checkpoint(connection)
        is_marked = True
    except (sqlite3.Error, UserError):
        is_marked = False
    if is_marked:
        connection.close()
    else:
        _abandon(connection, path, Life(opened=UNKNOWN_BOOT))


def _abandon(connection: sqlite3.Connection, path: Path, life: Life) -> None:
    """Close a store that is marked as open. Recreates a log that SQLite deleted, so that it does not count as lost."""
    connection.close()
    if life.opened and path.exists():
        with suppress(OSError):
            create_private(beside(path, "-wal"))


def _connect(location: str, *, is_uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        location, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS_CACHED, uri=is_uri
    )
