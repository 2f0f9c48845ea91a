"""Drivers of databases: their `connect` gives connections that are answered in this process.

A driver need not be installed: then a stand-in for it is imported. One that is installed keeps all but `connect`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Protocol, cast

from redrive.prove.process.asyncpg_driver import connections
from redrive.prove.process.imports import Imports
from redrive.prove.process.sql_connection import (
    Connection,
    Cursor,
    Flavour,
    Raise,
    RunNumber,
    row_maker,
    with_values,
)
from redrive.prove.process.sql_connection import database_of as named_database
from redrive.prove.process.sql_exchange import SqlAsk, SqlRefusal
from redrive.prove.process.sql_stand_ins import STAND_INS, made_stand_in
from redrive.prove.process.surroundings import replaced

Number = Callable[[], int | None]
"""The number of a new connection; None if it is none of the handler's."""


class _Connect(Protocol):
    def __call__(self, database: object = "", /, *arguments: object, **named: object) -> object: ...


class _ErrorOfMySql(Protocol):
    def __call__(self, *, msg: str, errno: int, sqlstate: str) -> Exception: ...


_IN_MEMORY = frozenset({"", ":memory:"})
_ERRNO = {
    "23505": 1062, "23502": 1048, "23503": 1452, "23514": 3819, "55P03": 1205, "40001": 1213,
    "08006": 2013, "08003": 2006,
}  # fmt: skip
_CLASSES = {
    "23": "IntegrityError",
    "08": "OperationalError",
    "55": "OperationalError",
    "40": "OperationalError",
    "25": "InternalError",
}


@contextmanager
def answered_sql(ask: SqlAsk, number: Number, run: RunNumber) -> Iterator[None]:
    """While entered, `ask` answers the statements of all drivers; `run` is the number of the run under way."""
    with contextlib.ExitStack() as stack:
        drivers = _Drivers(stack, ask, number, run)
        sqlite = importlib.import_module("sqlite3")
        for module in (sqlite, importlib.import_module("sqlite3.dbapi2")):
            stack.enter_context(replaced(module, "connect", drivers.sqlite_connect(sqlite, module.connect)))
        for name in _TAKEN_OVER:
            if name in sys.modules:
                drivers.take(sys.modules[name])
        first, last = Imports(_TAKEN_OVER, drivers.take), _StandIns(drivers.take)
        sys.meta_path.insert(0, first)
        sys.meta_path.append(last)
        stack.callback(sys.meta_path.remove, first)
        stack.callback(sys.meta_path.remove, last)
        stack.callback(last.forget)
        yield


class _Drivers:
    """Takes over the drivers' modules."""

    def __init__(self, stack: contextlib.ExitStack, ask: SqlAsk, number: Number, run: RunNumber) -> None:
        self._stack, self._ask, self._number, self._run = stack, ask, number, run

    def take(self, module: ModuleType) -> None:
        """Replace what a module connects with."""
        for name, made in _TAKEN_OVER[module.__name__](self, module).items():
            if not hasattr(module, name):
                setattr(module, name, made)
            self._stack.enter_context(replaced(module, name, made))

    def sqlite_connect(self, module: ModuleType, really: _Connect) -> _Connect:
        """sqlite3's `connect`: a database in memory is the handler's own and leaves nothing."""
        flavour = Flavour("sqlite", "sqlite", _error_of(module, "sqlite"), closes_at_exit=False)

        def connect(database: object = "", /, *arguments: object, **named: object) -> object:
            database = named.pop("database", database)
            name = os.fsdecode(cast("str", database)) if isinstance(database, str | bytes | os.PathLike) else ""
            number = None if name in _IN_MEMORY or "mode=memory" in name else self._number()
            if number is None:
                return really(database, *arguments, **named)
            name = name.removeprefix("file:").partition("?")[0] if named.get("uri") else name
            made = Connection(flavour, self._ask, os.path.realpath(name), number, self._run)
            made.isolation_level = named.get("isolation_level", arguments[2] if len(arguments) > 2 else "")
            made.autocommit = named.get("autocommit") is True
            return made

        return connect

    def server_connect(self, module: ModuleType, name: str, dialect: str, *, closes: bool) -> _Connect:
        """A driver's `connect` to a server."""
        flavour = Flavour(name, dialect, _error_of(module, name), closes_at_exit=closes)
        really = getattr(module, "connect", None)

        def connect(first: object = "", /, *others: object, **named: object) -> object:
            arguments = (first, *others)
            number = self._number()
            if number is None:
                if callable(really):
                    return really(*arguments, **named)
                raise ConnectionRefusedError(111, "Connection refused")
            made = Connection(flavour, self._ask, named_database(arguments, named, dialect), number, self._run)
            made.autocommit = bool(named.get("autocommit"))
            chosen = named.get("cursor_factory") or named.get("cursorclass") or named.get("row_factory")
            if chosen is not None:
                made.make_row = row_maker(chosen)
            return made

        return connect


def _error_of(module: ModuleType, name: str) -> Raise:
    """Makes a driver's exceptions."""

    def error(refusal: SqlRefusal) -> Exception:
        kind = _CLASSES.get(refusal.code[:2], "OperationalError" if name == "sqlite" else "ProgrammingError")
        number = _ERRNO.get(refusal.code, 1064)
        if name == "pymysql":
            return cast("type[Exception]", getattr(module, kind))(number, refusal.message)
        if name == "mysql":
            errors = importlib.import_module("mysql.connector.errors")
            made = cast("_ErrorOfMySql", getattr(errors, kind))
            return made(msg=refusal.message, errno=number, sqlstate=refusal.code)
        if name in {"psycopg", "psycopg2"}:
            lookup = importlib.import_module(f"{name}.errors").lookup
            with contextlib.suppress(KeyError):
                return cast("Exception", lookup(refusal.code)(refusal.message))
        message = "database is locked" if name == "sqlite" and refusal.code == "55P03" else refusal.message
        if name == "sqlite" and refusal.is_lost:
            message = "disk I/O error"
        return cast("type[Exception]", getattr(module, kind))(message)

    return error


def _psycopg2(drivers: _Drivers, module: ModuleType) -> Mapping[str, object]:
    return {"connect": drivers.server_connect(module, "psycopg2", "postgres", closes=False)}


def _psycopg2_extras(_: _Drivers, __: ModuleType) -> Mapping[str, object]:
    def execute_values(
        cursor: Cursor, query: object, rows: Sequence[Sequence[object]], *_: object, fetch: bool = False, **__: object
    ) -> object:  # fmt: skip
        held = [list(row.values()) if isinstance(row, Mapping) else list(row) for row in rows]
        if held:
            cursor.execute(*with_values(query, held))
        return cursor.fetchall() if fetch else None

    def execute_batch(cursor: Cursor, query: object, rows: Sequence[Sequence[object]], **_: object) -> None:
        for row in rows:
            cursor.execute(query, row)

    return {"execute_values": execute_values, "execute_batch": execute_batch, "register_uuid": lambda *_, **__: None}


def _psycopg(drivers: _Drivers, module: ModuleType) -> Mapping[str, object]:
    connect = drivers.server_connect(module, "psycopg", "postgres", closes=True)
    kind = module.Connection
    if isinstance(kind, type):
        drivers._stack.enter_context(replaced(kind, "connect", staticmethod(connect)))  # noqa: SLF001 - of this module.
    return {"connect": connect}


def _pymysql(drivers: _Drivers, module: ModuleType) -> Mapping[str, object]:
    connect = drivers.server_connect(module, "pymysql", "mysql", closes=True)
    return dict.fromkeys(("connect", "Connect", "Connection"), connect)


def _mysql(drivers: _Drivers, module: ModuleType) -> Mapping[str, object]:
    connect = drivers.server_connect(module, "mysql", "mysql", closes=True)
    return dict.fromkeys(("connect", "Connect", "MySQLConnection"), connect)


def _asyncpg(drivers: _Drivers, module: ModuleType) -> Mapping[str, object]:
    return connections(module, drivers._ask, drivers._number, drivers._run)  # noqa: SLF001 - of this module.


_TAKEN_OVER: dict[str, Callable[[_Drivers, ModuleType], Mapping[str, object]]] = {
    "mysql.connector": _mysql, "psycopg": _psycopg, "psycopg2": _psycopg2, "psycopg2.extras": _psycopg2_extras,
    "pymysql": _pymysql, "asyncpg": _asyncpg,
}  # fmt: skip


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: stand-ins for drivers that are not installed."""

    def __init__(self, take: Callable[[ModuleType], None]) -> None:
        self._take = take
        self._made: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a stand-in."""
        if fullname not in STAND_INS:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        self._made.append(module.__name__)
        made_stand_in(module)
        if module.__name__ in _TAKEN_OVER:
            self._take(module)
        for name in STAND_INS:  # As the drivers do: pymysql.cursors is there once pymysql is.
            if name.rpartition(".")[0] == module.__name__:
                importlib.import_module(name)

    def forget(self) -> None:
        """Take the stand-ins out again."""
        for name in self._made:
            sys.modules.pop(name, None)
