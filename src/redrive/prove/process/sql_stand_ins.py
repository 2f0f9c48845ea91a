"""Modules that stand in for drivers that are not installed: their errors, and the classes that handlers name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from redrive.prove.process.asyncpg_driver import connection_kinds, pools, stand_in
from redrive.prove.process.asyncpg_errors import exceptions

_ERRORS = {
    "Warning": "Exception", "Error": "Exception", "InterfaceError": "Error", "DatabaseError": "Error",
    "DataError": "DatabaseError", "OperationalError": "DatabaseError", "IntegrityError": "DatabaseError",
    "InternalError": "DatabaseError", "ProgrammingError": "DatabaseError", "NotSupportedError": "DatabaseError",
}  # fmt: skip
"""The exceptions of the DB API, and what each is a kind of."""
_POSTGRES = {
    "UniqueViolation": ("IntegrityError", "23505"), "NotNullViolation": ("IntegrityError", "23502"),
    "ForeignKeyViolation": ("IntegrityError", "23503"), "CheckViolation": ("IntegrityError", "23514"),
    "LockNotAvailable": ("OperationalError", "55P03"), "SerializationFailure": ("OperationalError", "40001"),
    "DeadlockDetected": ("OperationalError", "40P01"), "InFailedSqlTransaction": ("InternalError", "25P02"),
    "UndefinedTable": ("ProgrammingError", "42P01"),
}  # fmt: skip
Members = Mapping[str, object]


class _Json:
    """A value that is written as JSON."""

    def __init__(self, obj: object, *_: object, **__: object) -> None:
        self.obj = self.adapted = obj


class _Part:
    """A part of a composed statement."""

    def __init__(self, *held: object) -> None:
        self._wrapped: object = held[0] if len(held) == 1 else held
        self._obj = self._wrapped


def made_stand_in(module: ModuleType) -> None:
    """Fill a module."""
    vars(module).update(STAND_INS[module.__name__]())
    vars(module).setdefault("__path__", [])


def _named(name: str, module: str) -> type:
    return type(name, (), {"__module__": module})


def _errors(family: str) -> dict[str, object]:
    if family not in _MADE:
        made: dict[str, type[Exception]] = {"Exception": Exception}
        for name, parent in _ERRORS.items():
            made[name] = type(name, (made[parent],), {"__module__": family, "__init__": _init})
        for name, (parent, code) in _POSTGRES.items() if family.startswith("psycopg") else ():
            made[name] = type(
                name, (made[parent],), {"__module__": f"{family}.errors", "pgcode": code, "sqlstate": code}
            )
        made["MySQLError"] = made["Error"]  # PyMySQL's name for the exception above all others.
        _MADE[family] = {name: kind for name, kind in made.items() if name != "Exception"}
    return dict(_MADE[family])


def _init(error: Exception, *arguments: object, **named: object) -> None:
    """mysql.connector gives its errors by name."""
    Exception.__init__(error, *(arguments or (named.get("errno"), named.get("msg"))))
    vars(error).update(named)


def _postgres_errors(family: str) -> dict[str, object]:
    errors = _errors(family)
    by_code = {code: errors[name] for name, (_, code) in _POSTGRES.items()}
    return {**errors, "lookup": by_code.__getitem__}


def _sql(module: str) -> dict[str, object]:
    kinds = {name: type(name, (_Part,), {"__module__": module}) for name in ("Identifier", "Literal", "Placeholder")}

    class Composed(_Part):
        """Parts of a statement, in their order."""

        def __add__(self, other: object) -> Composed:
            return Composed([self, other])

    class SQL(_Part):
        """A text with places for other parts."""

        def format(self, *parts: object, **named: object) -> Composed:
            """The parts in their places."""
            pieces: list[object] = []
            left = list(parts)
            for text, place in _places(str(self._wrapped)):
                pieces.append(SQL(text))
                if place is not None:
                    pieces.append(named[place] if place in named else left.pop(0))
            return Composed(pieces)

        def join(self, parts: object) -> Composed:
            """The parts with this text between them."""
            joined: list[object] = []
            for part in parts if isinstance(parts, list | tuple) else list(parts):  # type: ignore[call-overload]
                joined += [part] if not joined else [self, part]
            return Composed(joined)

        def __add__(self, other: object) -> Composed:
            return Composed([self, other])

    return {**kinds, "SQL": SQL, "Composed": Composed}


def _places(text: str) -> list[tuple[str, str | None]]:
    """The texts between places, and the names of the places."""
    pieces = text.split("{")
    found: list[tuple[str, str | None]] = [(pieces[0], None)]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}")
        found[-1] = (found[-1][0], name)
        found.append((rest, None))
    return found


def _pools(module: str) -> dict[str, object]:
    class Pool:
        """Connections that are made when they are asked for."""

        def __init__(self, minconn: int = 1, maxconn: int = 1, *arguments: object, **named: object) -> None:
            self._arguments, self._named = arguments, named
            self._free: list[object] = []

        def getconn(self, key: object = None) -> object:
            """A connection."""
            import importlib  # noqa: PLC0415 - the driver's module is there only while a proof runs.

            return (
                self._free.pop()
                if self._free
                else importlib.import_module(module).connect(*self._arguments, **self._named)
            )

        def putconn(self, connection: object, *_: object, **__: object) -> None:
            """Give it back."""
            self._free.append(connection)

        def closeall(self) -> None:
            """Forget all."""
            self._free.clear()

    return dict.fromkeys(("AbstractConnectionPool", "SimpleConnectionPool", "ThreadedConnectionPool"), Pool)


def _cursors(module: str, *names: str) -> dict[str, object]:
    return {name: _named(name, module) for name in names}


def _nothing(*_: object, **__: object) -> None:
    """There is nothing to do."""


def _row_factories() -> dict[str, object]:
    def class_row(kind: type) -> Callable[[], type]:
        def class_row_() -> type:
            return kind

        return class_row_

    made: dict[str, object] = {"class_row": class_row}
    for name in ("dict_row", "namedtuple_row", "scalar_row", "tuple_row"):
        factory = type(name, (), {})
        made[name] = factory
    return made


_MADE: dict[str, dict[str, object]] = {}
_LEVELS: Members = {
    "ISOLATION_LEVEL_AUTOCOMMIT": 0, "ISOLATION_LEVEL_READ_COMMITTED": 1, "ISOLATION_LEVEL_REPEATABLE_READ": 2,
    "ISOLATION_LEVEL_SERIALIZABLE": 3,
}  # fmt: skip

STAND_INS: Mapping[str, Callable[[], Members]] = {
    "psycopg2": lambda: {**_errors("psycopg2"), "__version__": "2.9.10 (stand-in)"},
    "psycopg2.errors": lambda: _postgres_errors("psycopg2"),
    "psycopg2.extensions": lambda: {**_LEVELS,
        "connection": _named("connection", "psycopg2"), "register_adapter": _nothing,
    },
    "psycopg2.extras": lambda: {
        **_cursors("psycopg2", "DictCursor", "RealDictCursor", "NamedTupleCursor", "LoggingConnection"),
        "Json": _Json, "execute_values": _nothing, "execute_batch": _nothing, "register_uuid": _nothing,
    },
    "psycopg2.pool": lambda: _pools("psycopg2"),
    "psycopg2.sql": lambda: _sql("psycopg2.sql"),
    "psycopg": lambda: {**_errors("psycopg"), "Connection": _named("Connection", "psycopg"), "connect": _nothing},
    "psycopg.errors": lambda: _postgres_errors("psycopg"),
    "psycopg.rows": _row_factories,
    "psycopg.sql": lambda: _sql("psycopg.sql"),
    "psycopg.types": dict,
    "psycopg.types.json": lambda: {"Json": _Json, "Jsonb": _Json},
    "pymysql": lambda: {**_errors("pymysql"), "install_as_MySQLdb": _nothing},
    "pymysql.cursors": lambda: _cursors("pymysql", "Cursor", "DictCursor", "SSCursor", "SSDictCursor"),
    "pymysql.err": lambda: _errors("pymysql"),
    "asyncpg": stand_in,
    "asyncpg.connection": connection_kinds,
    "asyncpg.exceptions": exceptions,
    "asyncpg.pool": pools,
    "mysql": dict,
    "mysql.connector": lambda: {**_errors("mysql.connector"), "errorcode": ModuleType("errorcode")},
    "mysql.connector.errors": lambda: _errors("mysql.connector"),
}  # fmt: skip
"""What stands in each module, by its name."""
