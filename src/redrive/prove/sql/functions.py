"""Functions of SQL that SQLite has not, or that would read the machine's clock or draw at random."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Protocol, cast

from redrive.prove.process.sql_exchange import Array, UuidText

Now = Callable[[], datetime]
_Plain = str | bytes | int | float | None
"""What SQLite holds."""


class _Called(Protocol):
    """A function for SQLite."""

    def __call__(self, *given: object) -> _Plain: ...


_SHIFTS = {
    "MICROSECOND": "microseconds", "MILLISECOND": "milliseconds", "SECOND": "seconds", "MINUTE": "minutes",
    "HOUR": "hours", "DAY": "days", "WEEK": "weeks",
}  # fmt: skip
_DAYS = {"MONTH": 30, "YEAR": 365}
_OF_TIME = ("date", "datetime", "julianday", "strftime", "time", "unixepoch")


def prepared(connection: sqlite3.Connection, now: Now) -> sqlite3.Connection:
    """A connection whose functions read virtual time, and draw what follows from it."""
    plain = sqlite3.connect(":memory:", check_same_thread=False)
    drawn = [0]

    def draw() -> int:
        drawn[0] += 1
        text = f"{now().isoformat()} {connection.total_changes} {drawn[0]}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")

    def of_time(name: str) -> _Called:
        def call(*given: object) -> _Plain:
            held = [now().isoformat(" ") if one == "now" else one for one in given]
            if not held or (name == "strftime" and len(held) == 1):
                held.append(now().isoformat(" "))
            marks = ", ".join("?" for _ in held)
            return cast("_Plain", plain.execute(f"SELECT {name}({marks})", held).fetchone()[0])

        return call

    for name in _OF_TIME:
        connection.create_function(name, -1, of_time(name))
    connection.create_function("redrive_now", -1, lambda *_: stored(now()))
    connection.create_function("redrive_today", -1, lambda *_: now().date().isoformat())
    connection.create_function("redrive_uuid", -1, lambda *_: _uuid(draw()))
    connection.create_function("redrive_shift", 4, _shifted)
    connection.create_function("random", 0, lambda: draw() % 2**62)
    connection.create_function("version", 0, lambda: "PostgreSQL 16.4 (redrive prove)")
    connection.create_function(
        "last_insert_id", 0, lambda: connection.execute("SELECT last_insert_rowid()").fetchone()[0]
    )
    for name in ("pg_advisory_lock", "pg_advisory_xact_lock", "pg_try_advisory_lock", "pg_try_advisory_xact_lock"):
        connection.create_function(name, -1, lambda *_: 1)
    for name in ("pg_advisory_unlock", "get_lock", "release_lock"):
        connection.create_function(name, -1, lambda *_: 1)
    connection.create_function("hashtext", 1, lambda text: int(hashlib.sha256(str(text).encode()).hexdigest()[:8], 16))
    connection.create_function("greatest", -1, lambda *given: max(one for one in given if one is not None))
    connection.create_function("least", -1, lambda *given: min(one for one in given if one is not None))
    return connection


def stored(value: object) -> _Plain:
    """A parameter as SQLite holds it."""
    match value:
        case datetime(tzinfo=None):
            return value.isoformat(" ", "microseconds")
        case datetime():
            return value.astimezone(UTC).isoformat(" ", "microseconds")
        case bool():
            return int(value)
        case None | int() | float() | str() | bytes():
            return value
        case bytearray() | memoryview():
            return bytes(value)
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case dict() | list() | tuple() | set() | frozenset():
            held = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            return json.dumps(held, default=str)
        case _ if hasattr(value, "adapted"):  # Json of psycopg2.
            return stored(value.adapted)
        case _ if hasattr(value, "obj"):  # Json and Jsonb of psycopg.
            return json.dumps(value.obj, default=str)
        case _ if hasattr(value, "value"):  # An enum.
            return stored(value.value)
        case _:
            return str(value)


def _uuid(number: int) -> str:
    """The form of a random UUID."""
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"


def _shifted(at: object, sign: str, amount: object, unit: str) -> _Plain:
    """A time, an interval later or earlier; None of what is no time."""
    words = f"{amount} {unit}".split()
    try:
        begin = datetime.fromisoformat(str(at))
        number, name = float(words[0]), words[1].upper().rstrip("S")
    except (ValueError, IndexError):
        return None
    days = _DAYS.get(name)
    length = timedelta(days=number * days) if days else timedelta(**{_SHIFTS.get(name, "seconds"): number})
    return stored(begin - length if sign == "-" else begin + length)


def _datetime_of(text: bytes) -> object:
    try:
        return datetime.fromisoformat(text.decode())
    except ValueError:
        return text.decode()


def _date_of(text: bytes) -> object:
    try:
        return date.fromisoformat(text.decode()[:10])
    except ValueError:
        return text.decode()


def _json_of(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode()


def _array_of(text: bytes) -> object:
    held = _json_of(text)
    return Array(held) if isinstance(held, list) else held


sqlite3.register_converter("RD_TIMESTAMP", _datetime_of)
sqlite3.register_converter("RD_DATE", _date_of)
sqlite3.register_converter("RD_BOOLEAN", lambda text: text not in {b"0", b"false", b"f"})
sqlite3.register_converter("RD_JSON", _json_of)
sqlite3.register_converter("RD_DECIMAL", lambda text: Decimal(text.decode()))
sqlite3.register_converter("RD_UUID", lambda text: UuidText(text.decode()))
sqlite3.register_converter("RD_ARRAY", _array_of)
