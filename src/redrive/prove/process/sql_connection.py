"""A connection to a database as Python's DB API has it, for all drivers: statements are answered in this process.

Source: https://peps.python.org/pep-0249/
"""

from __future__ import annotations

import contextlib
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace, TracebackType
from typing import Protocol, Self, SupportsIndex, cast

from redrive.prove.process.sql_exchange import Bound, SqlAnswer, SqlAsk, SqlAsked, SqlRefusal
from redrive.prove.process.statements import first_word

_NO_TRANSACTION = frozenset({"BEGIN", "COMMIT", "END", "ROLLBACK", "START"})
_CHANGING = frozenset({"DELETE", "INSERT", "REPLACE", "UPDATE"})
_VALUES = re.compile(r"(?i)(?<=\bvalues)\s*%s")
Values = tuple[object, ...]
MakeRow = Callable[[tuple[str, ...], Values], object]
Column = namedtuple("Column", "name type_code display_size internal_size precision scale null_ok")  # noqa: PYI024 - as drivers have it.


class _Named(Protocol):
    """A class of named tuples."""

    def __call__(self, *values: object) -> object: ...


class Raise(Protocol):
    """Makes the driver's exception of a refusal."""

    def __call__(self, refusal: SqlRefusal) -> Exception: ...


@dataclass(frozen=True, slots=True)
class Flavour:
    """How a driver differs from others."""

    name: str
    dialect: str
    error: Raise
    closes_at_exit: bool
    """Whether `with connection` closes it at its end."""


RunNumber = Callable[[], int | None]
"""The number of the run whose code is running."""
_NOBODY = -1
"""Of a connection without a transaction."""


class Row:
    """A row whose values are found by their places and by their names, as sqlite3.Row and psycopg2's DictRow are."""

    def __init__(self, names: tuple[str, ...], values: Values) -> None:
        self._names, self._values = names, values

    def __getitem__(self, at: object) -> object:
        if isinstance(at, str):
            lower = [name.lower() for name in self._names]
            if at.lower() not in lower:
                raise KeyError(at)
            return self._values[lower.index(at.lower())]
        return self._values[cast("SupportsIndex", at)]  # Or a slice; anything else raises as a tuple does.

    def __iter__(self) -> Iterator[object]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Row) and other._values == self._values) or self._values == other

    def __hash__(self) -> int:
        return hash(self._values)

    def keys(self) -> list[str]:
        """The names."""
        return list(self._names)

    def values(self) -> list[object]:
        """The values."""
        return list(self._values)

    def items(self) -> list[tuple[str, object]]:
        """Names and values."""
        return list(zip(self._names, self._values, strict=True))

    def get(self, name: str, default: object = None) -> object:
        """The value of a name."""
        return self[name] if name in self._names else default


def as_dict(names: tuple[str, ...], values: Values) -> object:
    """A row as a dict."""
    return dict(zip(names, values, strict=True))


def as_tuple(_: tuple[str, ...], values: Values) -> object:
    """A row as it is."""
    return values


def as_named(names: tuple[str, ...], values: Values) -> object:
    """A row as a named tuple."""
    kind = namedtuple("Record", names, rename=True)  # type: ignore[misc] # noqa: PYI024 - the answer has the names.
    return cast("_Named", kind)(*values)


class Connection:
    """A connection. It is the handler's alone."""

    def __init__(
        self, flavour: Flavour, ask: SqlAsk, database: str, number: int, run: RunNumber, *, autocommit: bool = False
    ) -> None:  # fmt: skip
        self._run = run
        self._opened_by: int | None = _NOBODY
        self.flavour = flavour
        self.database = database
        self.number = number
        self.autocommit = autocommit
        self.isolation_level: object = ""
        self.make_row: MakeRow = as_tuple
        self.row_factory: object = None
        self.text_factory: object = str
        self.is_lost = False
        self.total_changes = 0
        self._ask = ask
        self._is_closed = False

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open. One of an earlier run is not: it was rolled back when the run ended."""
        return self._opened_by is not _NOBODY and self._opened_by == self._run()

    def _set_open(self, is_open: bool) -> None:
        self._opened_by = self._run() if is_open else _NOBODY

    @property
    def closed(self) -> int:
        """Whether it is closed, as psycopg says it."""
        return int(self._is_closed or self.is_lost)

    @property
    def open(self) -> bool:
        """Whether it is open, as PyMySQL says it."""
        return not self.closed

    @property
    def info(self) -> object:
        """What pools read of it."""
        return SimpleNamespace(
            transaction_status=2 if self.in_transaction else 0, dbname=self.database, server_version=160004
        )

    @property
    def status(self) -> int:
        """psycopg2's STATUS_READY, or STATUS_BEGIN."""
        return 2 if self.in_transaction else 1

    def ask(self, text: str, params: Bound = (), more: tuple[Bound, ...] = ()) -> SqlAnswer:
        """Have a statement answered. Errors: the driver's own."""
        if self.closed:
            raise self.flavour.error(SqlRefusal("08003", "connection already closed"))
        begins = not self.in_transaction and self._begins(first_word(text))
        asked = SqlAsked(self.flavour.dialect, self.database, self.number, text, params, begins, more)
        answer = self._ask(asked)
        word = first_word(text)
        if begins or word in {"BEGIN", "START"}:
            self._set_open(True)
        elif word in {"COMMIT", "END"} or (word == "ROLLBACK" and " TO " not in f" {text.upper()} "):
            self._set_open(False)
        if isinstance(answer, SqlRefusal):
            self.is_lost = self.is_lost or answer.is_lost
            raise self.flavour.error(answer)
        if word in _CHANGING:
            self.total_changes += max(answer.count, 0)
        return answer

    def _begins(self, word: str) -> bool:
        if word in _NO_TRANSACTION or self.autocommit is True:
            return False
        if self.flavour.dialect == "sqlite":
            return self.isolation_level is not None and word in _CHANGING
        return word not in {"SET", "SHOW", "USE"}

    def cursor(self, name: object = None, *_: object, **named: object) -> Cursor:
        """A cursor."""
        chosen = named.get("cursor_factory") or named.get("row_factory") or (name if isinstance(name, type) else None)
        if named.get("dictionary"):
            return Cursor(self, as_dict)
        if named.get("named_tuple"):
            return Cursor(self, as_named)
        return Cursor(self, row_maker(chosen) if chosen is not None else None)

    def execute(self, query: object, params: Bound | None = (), **_: object) -> Cursor:
        """Run a statement on a cursor of its own, as psycopg and sqlite3 do."""
        return self.cursor().execute(query, params)

    def executemany(self, query: object, params: Sequence[Bound]) -> Cursor:
        """Run a statement with each of these parameters."""
        return self.cursor().executemany(query, params)

    def executescript(self, script: str) -> Cursor:
        """Run statements one after another, as sqlite3 does."""
        return self.cursor().executescript(script)

    def commit(self) -> None:
        """End the transaction."""
        if self.in_transaction or self.closed:
            self.ask("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction."""
        if self.closed:
            return
        self.ask("ROLLBACK")
        self._set_open(False)

    def begin(self, *_: object, **__: object) -> None:
        """Begin a transaction."""
        self.ask("BEGIN")

    start_transaction = begin

    def close(self) -> None:
        """Close it: what is not committed is rolled back."""
        if not self.closed and self.in_transaction:
            self.ask("ROLLBACK")
        self._is_closed = True

    def ping(self, *_: object, **__: object) -> None:
        """It is there, unless it was lost."""
        if self.is_lost:
            self.is_lost = False
            self._set_open(False)

    reconnect = ping
    reset_session = rollback

    def is_connected(self) -> bool:
        """Whether it is open, as mysql.connector says it."""
        return self.open

    def set_session(self, isolation_level: object = None, autocommit: bool | None = None, **_: object) -> None:
        """Set what psycopg2 sets."""
        if autocommit is not None:
            self.autocommit = autocommit
        if isolation_level is not None:
            self.set_isolation_level(isolation_level)

    def set_isolation_level(self, level: object) -> None:
        """psycopg2 writes the level as a number or as a text."""
        self.autocommit = level == 0
        if level in {2, 3} or (isinstance(level, str) and level.upper() in {"SERIALIZABLE", "REPEATABLE READ"}):
            self.ask("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")

    def set_autocommit(self, value: bool) -> None:
        """As psycopg and PyMySQL have it: `autocommit(True)` is an attribute here."""
        self.autocommit = value

    @contextlib.contextmanager
    def transaction(self, *_: object, **__: object) -> Iterator[Connection]:
        """A transaction, or a savepoint within one, as psycopg has it."""
        is_inner = self.in_transaction
        self.ask("SAVEPOINT redrive_block" if is_inner else "BEGIN")
        try:
            yield self
        except BaseException:
            if not self.closed:
                self.ask("ROLLBACK TO redrive_block" if is_inner else "ROLLBACK")
            raise
        self.ask("RELEASE redrive_block" if is_inner else "COMMIT")

    def create_function(self, *_: object, **__: object) -> None:
        """Nobody calls functions of the handler's within statements."""

    create_aggregate = create_collation = set_trace_callback = enable_load_extension = create_function

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.closed:
            if kind is None and self.flavour.name not in {"pymysql", "mysql"}:
                self.commit()
            elif self.in_transaction:
                self.rollback()
        if self.flavour.closes_at_exit:
            self.close()


class Cursor:
    """A cursor: the rows of the last statement."""

    arraysize = 1

    def __init__(self, connection: Connection, make_row: MakeRow | None) -> None:
        self.connection = connection
        self.row_factory: object = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.description: tuple[Column, ...] | None = None
        self.query: str | None = None
        self._make_row = make_row
        self._rows: list[Values] = []
        self._at = 0

    def execute(self, query: object, params: Bound | None = (), **_: object) -> Cursor:
        """Run a statement."""
        text = statement_text(query)
        self.query = text
        self._take(self.connection.ask(text, () if params is None else params))
        return self

    def executemany(self, query: object, params: Sequence[Bound]) -> Cursor:
        """Run a statement with each of these parameters."""
        bound = list(params)
        self.rowcount = 0
        if bound:
            self._take(self.connection.ask(statement_text(query), bound[0], tuple(bound[1:])))
        return self

    def executescript(self, script: str) -> Cursor:
        """Commit, and run the statements of a script."""
        self.connection.commit()
        for text in statements_in(script):
            self._take(self.connection.ask(text))
        return self

    def mogrify(self, query: object, params: Bound | None = None) -> bytes:
        """The statement; its parameters stay apart here."""
        return statement_text(query).encode()

    def fetchone(self) -> object:
        """The next row; None after the last one."""
        if self._at >= len(self._rows):
            return None
        self._at += 1
        return self._made(self._rows[self._at - 1])

    def fetchmany(self, size: int | None = None) -> list[object]:
        """The next rows."""
        rows = self._rows[self._at : self._at + (size or self.arraysize)]
        self._at += len(rows)
        return [self._made(row) for row in rows]

    def fetchall(self) -> list[object]:
        """The rows that are left."""
        rows, self._at = self._rows[self._at :], len(self._rows)
        return [self._made(row) for row in rows]

    def close(self) -> None:
        """Close it."""

    def nextset(self) -> None:
        """There is one set of rows."""

    def __iter__(self) -> Iterator[object]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, answer: SqlAnswer) -> None:
        self._rows, self._at = list(answer.rows), 0
        self.rowcount = answer.count
        self.lastrowid = answer.last_id
        names = answer.columns
        self.description = None if names is None else tuple(Column(name, *(None,) * 6) for name in names)

    def _made(self, row: Values) -> object:
        names = tuple(column.name for column in self.description or ())
        if self._make_row is not None:
            return self._make_row(names, row)
        factory = self.row_factory or self.connection.row_factory
        if factory is None:
            return self.connection.make_row(names, row)
        if getattr(factory, "__name__", "") == "Row" or self.connection.flavour.dialect != "sqlite":
            return row_maker(factory)(names, row)
        return cast("Callable[[Cursor, Values], object]", factory)(self, row)


def row_maker(chosen: object) -> MakeRow:
    """How rows are made by a class of cursors, or a factory of rows, by its name."""
    name = str(getattr(chosen, "__name__", "")).lower()
    if "namedtuple" in name:
        return as_named
    if name == "class_row" or "class_row" in str(getattr(chosen, "__qualname__", "")):
        kinds = [cell.cell_contents for cell in getattr(chosen, "__closure__", None) or ()]
        made = next((kind for kind in kinds if isinstance(kind, type)), dict)
        return lambda names, values: made(**dict(zip(names, values, strict=True)))
    if name in {"row", "dictcursor"} and not _is_of_mysql(chosen):
        return Row
    if "scalar" in name:
        return lambda _, values: values[0]
    return as_dict if "dict" in name else as_tuple


def statement_text(query: object) -> str:
    """The text of a statement; one that was composed with psycopg's `sql` is written out."""
    if isinstance(query, str):
        return query
    if isinstance(query, bytes):
        return query.decode()
    held = getattr(query, "seq", getattr(query, "_obj", getattr(query, "_wrapped", None)))
    match type(query).__name__:
        case "Composed":
            return "".join(map(statement_text, cast("Sequence[object]", held)))
        case "Identifier":
            names = held if isinstance(held, list | tuple) else [held]
            return ".".join('"' + str(name).replace('"', '""') + '"' for name in names)
        case "SQL":
            return str(held)
        case "Placeholder":
            return f"%({held})s" if held else "%s"
        case "Literal":
            return str(held) if isinstance(held, int | float) else "'" + str(held).replace("'", "''") + "'"
        case _:
            return str(query)


def statements_in(script: str) -> list[str]:
    """The statements of a script; semicolons in texts and comments do not count."""
    parts = re.findall(r"(?:'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|[^;'\"])+", script, re.DOTALL)
    return [part for part in parts if first_word(part)]


def with_values(query: object, rows: Sequence[Sequence[object]]) -> tuple[str, list[object]]:
    """A statement of psycopg2's `execute_values` with a group of placeholders for each row, and all values."""
    group = "(" + ", ".join(["%s"] * len(rows[0])) + ")"
    text = _VALUES.sub(lambda _: " " + ", ".join([group] * len(rows)), statement_text(query), count=1)
    return text, [value for row in rows for value in row]


def _is_of_mysql(chosen: object) -> bool:
    return "mysql" in str(getattr(chosen, "__module__", ""))


def database_of(arguments: Sequence[object], named: Mapping[str, object], default: str) -> str:
    """The name of the database that a driver's `connect` is asked for."""
    for name in ("dbname", "database", "db"):
        if isinstance(named.get(name), str):
            return str(named[name])
    text = str(next((one for one in (*arguments, named.get("conninfo"), named.get("dsn")) if isinstance(one, str)), ""))
    found = re.search(r"(?:dbname|database)\s*=\s*'?([\w-]+)", text) or re.search(r"://[^/]*/([\w-]+)", text)
    return found[1] if found else default
