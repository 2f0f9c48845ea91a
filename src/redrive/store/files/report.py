"""The report on a store: whether it is intact, how it was closed, and how many rows it has."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.store.connection import SqliteDatabase, unusable
from redrive.store.files.bodies import BodyFiles, bodies_beside
from redrive.store.files.examine import Examined, examine
from redrive.store.files.life import this_boot
from redrive.store.files.opening import reading
from redrive.store.migrate import schema_version
from redrive.store.tables.bodies import BodyTable

FINDINGS_MAX = 20


def report_on(path: Path) -> Document:
    """Examine a store that no process has open, and read all of it. Changes nothing.

    Errors: UserError if the file is not a redrive store or comes from a newer version.
    """
    found = examine(path, this_boot())
    if not path.exists() or not path.stat().st_size:
        raise UserError(
            f"There is no store in {path.parent}{': ' if found.finding else ''}{found.finding}.",
            next_step="Put a backup in its place, or name the directory that --data names.",
        )
    findings = [found.finding] if found.finding else []
    return _report(path, found, findings, without_log=found.wal is None or bool(found.finding))


def report_on_running(path: Path) -> Document:
    """Read all of a store that a server has open, as of one instant. The server keeps its files of bodies meanwhile."""
    return _report(path, None, [], without_log=False)


def _report(path: Path, found: Examined | None, findings: Sequence[str], *, without_log: bool) -> Document:
    with reading(path, without_log=without_log) as connection:
        connection.execute("BEGIN")
        version = schema_version(connection, str(path))
        all_findings = [*findings, *_integrity(connection)]
        tables = _counts(connection)
        if tables.get("bodies"):
            all_findings += _bodies(BodyTable(SqliteDatabase(connection)), BodyFiles(bodies_beside(path)))
    log_bytes = 0 if found is None or found.wal is None else found.wal.size_bytes
    return {
        "store": str(path),
        "ok": not all_findings,
        "findings": all_findings,
        "schema": version,
        "bytes": path.stat().st_size,
        "log_bytes": log_bytes,
        "log_pages": 0 if found is None or found.wal is None else found.wal.committed,
        "closed_in_order": None if found is None else found.wal is None and not found.life.opened,
        "tables": tables,
    }


def _integrity(connection: sqlite3.Connection) -> list[str]:
    try:
        found = [row[0] for row in connection.execute(f"PRAGMA integrity_check({FINDINGS_MAX})").fetchall()]
    except sqlite3.DatabaseError as error:
        return [str(unusable("the file", error))]
    return [] if found == ["ok"] else [str(line).replace("\n", " ") for line in found]


def _bodies(table: BodyTable, files: BodyFiles) -> list[str]:
    """The bodies whose files are missing, or have another size."""
    sizes = ((body_id, size, files.size(body_id)) for body_id, size in table.in_files())
    wrong = [
        f"the file of the body {body_id} is missing" if found is None
        else f"the file of the body {body_id} has {found} bytes, and should have {size}"
        for body_id, size, found in sizes
        if found != size
    ]  # fmt: skip
    return wrong[:FINDINGS_MAX]


def _counts(connection: sqlite3.Connection) -> dict[str, int | None]:
    """The number of rows of each table; None for an unreadable table."""
    names = [
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
    ]
    counts: dict[str, int | None] = {}
    for name in names:
        try:
            (counts[name],) = connection.execute(f"SELECT count(*) FROM {name}").fetchone()  # noqa: S608 - the schema's own names
        except sqlite3.DatabaseError:
            counts[name] = None
    return counts
