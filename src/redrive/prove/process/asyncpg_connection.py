"""A connection of asyncpg, its prepared statements, cursors and transactions.

Each coroutine ends without a wait: statements come one after another, in the order in which they are awaited.
Source: https://magicstack.github.io/asyncpg/current/api/index.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self, TypeVar

from redrive.prove.process.asyncpg_values import AsyncRow, Codec, given_value, taken_value
from redrive.prove.process.sql_connection import Connection, statements_in
from redrive.prove.process.sql_exchange import Bound, SqlAnswer, SqlRefusal
from redrive.prove.process.statements import deed_of

_PLACE = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*)|\$(\d+)|(%)")
T = TypeVar("T")


class AsyncConnection:
    """A connection of asyncpg."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._codec: Codec | None = None

    async def execute(self, query: str, *args: object, **_: object) -> str:
        """Run a statement, or those of a script without arguments; the last one's status, such as `INSERT 0 1`."""
        *before, last = [query] if args else statements_in(query) or [query]
        for one in before:
            self.asked(one, ())
        return _status(last, self.asked(last, args))

    async def executemany(self, command: str, args: Iterable[Sequence[object]], **_: object) -> None:
        """Run a statement with each of these arguments, in one transaction."""
        self._all(command, args)

    async def copy_records_to_table(
        self, table_name: str, *, records: Iterable[Sequence[object]], columns: Sequence[str] | None = None,
        schema_name: str | None = None, **_: object,
    ) -> str:  # fmt: skip
        """Insert rows; the status, such as `COPY 2`."""
        held = [tuple(one) for one in records]
        place = table_name if schema_name is None else f"{schema_name}.{table_name}"
        named = "" if columns is None else f" ({', '.join(columns)})"
        places = ", ".join(f"${number}" for number in range(1, len(held[0]) + 1)) if held else ""
        self._all(f"INSERT INTO {place}{named} VALUES ({places})", held)  # noqa: S608 - the handler's own names.
        return f"COPY {len(held)}"

    async def fetch(self, query: str, *args: object, **_: object) -> list[AsyncRow]:
        """The rows of a statement."""
        return self.rows(self.asked(query, args))

    async def fetchmany(self, query: str, args: Iterable[Sequence[object]], **_: object) -> list[AsyncRow]:
        """The rows of a statement with each of these arguments, in one transaction."""
        with self._block():
            return [row for one in args for row in self.rows(self.asked(query, one))]

    async def fetchrow(self, query: str, *args: object, **_: object) -> AsyncRow | None:
        """The first row; None if there is none."""
        rows = await self.fetch(query, *args)
        return rows[0] if rows else None

    async def fetchval(self, query: str, *args: object, column: int = 0, **_: object) -> object:
        """A value of the first row; None if there is none."""
        row = await self.fetchrow(query, *args)
        return None if row is None else row[column]

    async def prepare(self, query: str, **_: object) -> Prepared:
        """A statement to be run several times."""
        return Prepared(self, query)

    def cursor(self, query: str, *args: object, **_: object) -> Rows:
        """The rows of a statement within a transaction: iterated over, or awaited. Errors: outside of one."""
        if not self._connection.in_transaction:
            refusal = SqlRefusal("25P01", "cursor cannot be created outside of a transaction")
            raise self._connection.flavour.error(refusal)
        return Rows(lambda: self.rows(self.asked(query, args)))

    def transaction(self, *, isolation: str | None = None, readonly: bool = False, **_: object) -> Transaction:
        """A transaction, or a savepoint within one."""
        del readonly
        if isolation in {"serializable", "repeatable_read"} and not self._connection.in_transaction:
            self._connection.set_isolation_level("SERIALIZABLE")
        return Transaction(self._connection)

    def is_closed(self) -> bool:
        """Whether it is closed, or lost."""
        return bool(self._connection.closed)

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    async def close(self, **_: object) -> None:
        """Close it: what is not committed is rolled back."""
        self._connection.close()

    def terminate(self) -> None:
        """Close it at once."""
        self._connection.close()

    async def set_type_codec(
        self, typename: str, *, encoder: Callable[[object], object], decoder: Callable[[str], object], **_: object
    ) -> None:
        """How JSON is written and read; other values are Python's own here."""
        if typename in {"json", "jsonb"}:
            self._codec = encoder, decoder

    async def reset_type_codec(self, typename: str, **_: object) -> None:
        """JSON is a text again."""
        self._codec = None if typename in {"json", "jsonb"} else self._codec

    async def set_builtin_type_codec(self, *_: object, **__: object) -> None:
        """Values are Python's own here."""

    async def reload_schema_state(self) -> None:
        """Nothing is remembered of the schema."""

    async def add_listener(self, *_: object) -> None:
        """Nobody notifies."""

    remove_listener = add_listener

    async def reset(self, **_: object) -> None:
        """Roll back what is open."""
        if self._connection.in_transaction:
            self._connection.rollback()

    def asked(self, query: str, args: Sequence[object]) -> SqlAnswer:
        """The answer to a statement. Errors: asyncpg's own."""
        return self._connection.ask(_with_places(query), self._bound(args))

    def rows(self, answer: SqlAnswer) -> list[AsyncRow]:
        """The rows of an answer."""
        names = answer.columns or ()
        return [AsyncRow(names, tuple(given_value(value, self._codec) for value in row)) for row in answer.rows]

    def _all(self, command: str, args: Iterable[Sequence[object]]) -> None:
        bound = [self._bound(one) for one in args]
        if bound:
            with self._block():
                self._connection.ask(_with_places(command), bound[0], tuple(bound[1:]))

    def _bound(self, args: Sequence[object]) -> Bound:
        held: dict[str, object] = {}
        for number, value in enumerate(args, 1):
            try:
                held[f"p{number}"] = taken_value(value, self._codec)
            except TypeError as error:
                told = f"invalid input for query argument ${number}: {value!r} ({error})"
                raise self._connection.flavour.error(SqlRefusal("22000", told)) from error
        return held

    def _block(self) -> AbstractContextManager[object]:
        return self._connection.transaction()


class Prepared:
    """A prepared statement."""

    def __init__(self, connection: AsyncConnection, query: str) -> None:
        self._connection, self._query = connection, query

    def get_query(self) -> str:
        """Its text."""
        return self._query

    async def executemany(self, args: Iterable[Sequence[object]], **_: object) -> None:
        """Run it with each of these arguments, in one transaction."""
        await self._connection.executemany(self._query, args)

    async def fetchmany(self, args: Iterable[Sequence[object]], **_: object) -> list[AsyncRow]:
        """Its rows with each of these arguments, in one transaction."""
        return await self._connection.fetchmany(self._query, args)

    def cursor(self, *args: object, **_: object) -> Rows:
        """Its rows within a transaction."""
        return self._connection.cursor(self._query, *args)

    async def fetch(self, *args: object, **_: object) -> list[AsyncRow]:
        """Its rows."""
        return await self._connection.fetch(self._query, *args)

    async def fetchrow(self, *args: object, **_: object) -> AsyncRow | None:
        """Its first row."""
        return await self._connection.fetchrow(self._query, *args)

    async def fetchval(self, *args: object, column: int = 0, **_: object) -> object:
        """A value of its first row."""
        return await self._connection.fetchval(self._query, *args, column=column)


class Rows:
    """The rows of a cursor: those that `async for` gives one by one, and `fetch` some at a time."""

    def __init__(self, find: Callable[[], list[AsyncRow]]) -> None:
        self._find = find
        self._left: list[AsyncRow] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AsyncRow:
        row = await self.fetchrow()
        if row is None:
            raise StopAsyncIteration
        return row

    def __await__(self) -> Generator[object, None, Rows]:
        return given(self).__await__()

    async def fetch(self, n: int, **_: object) -> list[AsyncRow]:
        """The next rows."""
        self._left = self._find() if self._left is None else self._left
        taken, self._left = self._left[:n], self._left[n:]
        return taken

    async def fetchrow(self, **_: object) -> AsyncRow | None:
        """The next row; None if there is none."""
        rows = await self.fetch(1)
        return rows[0] if rows else None

    async def forward(self, n: int, **_: object) -> int:
        """Pass over rows; how many there were."""
        return len(await self.fetch(n))


class Transaction:
    """A transaction, or a savepoint within one: `async with`, or begun and ended by hand."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_inner = False

    async def start(self) -> None:
        """Begin it."""
        self._is_inner = self._connection.in_transaction
        self._connection.ask("SAVEPOINT redrive_block" if self._is_inner else "BEGIN")

    async def commit(self) -> None:
        """Commit it."""
        self._connection.ask("RELEASE redrive_block" if self._is_inner else "COMMIT")

    async def rollback(self) -> None:
        """Undo it."""
        if not self._connection.closed:
            self._connection.ask("ROLLBACK TO redrive_block" if self._is_inner else "ROLLBACK")

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        del error, trace
        await (self.commit() if kind is None else self.rollback())


async def given(value: T) -> T:
    """The value, awaited."""
    return value


def _with_places(text: str) -> str:
    """The statement with the places of other drivers, `%(p1)s`, for those of PostgreSQL, `$1`."""

    def place(found: re.Match[str]) -> str:
        kept, number, _ = found.groups()
        if kept:
            return kept.replace("%", "%%")
        return f"%(p{number})s" if number else "%%"

    return _PLACE.sub(place, text)


def _status(query: str, answer: SqlAnswer) -> str:
    """The status of a statement; that of a WITH is its statement's."""
    word = deed_of(query)
    match word:
        case "INSERT":
            return f"INSERT 0 {max(answer.count, 0)}"
        case "UPDATE" | "DELETE":
            return f"{word} {max(answer.count, 0)}"
        case "SELECT" | "WITH":
            return f"SELECT {len(answer.rows)}"
        case "ALTER" | "CREATE" | "DROP":
            return " ".join(query.upper().split()[:2])
        case _:
            return word
