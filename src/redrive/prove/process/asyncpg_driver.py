"""asyncpg: connections whose statements are answered in this process, and a stand-in where it is not installed.

Each coroutine ends without a wait: statements come one after another, in the order in which they are awaited.
Source: https://magicstack.github.io/asyncpg/current/api/index.html
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType, TracebackType
from typing import Protocol, Self, TypeVar

from redrive.prove.process.sql_connection import Connection, Flavour, Row, database_of
from redrive.prove.process.sql_exchange import Bound, SqlAnswer, SqlAsk, SqlRefusal
from redrive.prove.process.statements import first_word

_PLACE = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*)|\$(\d+)|(%)")
_PARENTS = {
    "PostgresError": "Exception", "InterfaceError": "Exception", "IntegrityConstraintViolationError": "PostgresError",
    "UniqueViolationError": "IntegrityConstraintViolationError",
    "NotNullViolationError": "IntegrityConstraintViolationError",
    "ForeignKeyViolationError": "IntegrityConstraintViolationError",
    "CheckViolationError": "IntegrityConstraintViolationError", "PostgresConnectionError": "PostgresError",
    "ConnectionDoesNotExistError": "PostgresConnectionError", "ConnectionFailureError": "PostgresConnectionError",
    "TransactionRollbackError": "PostgresError", "SerializationError": "TransactionRollbackError",
    "DeadlockDetectedError": "TransactionRollbackError", "LockNotAvailableError": "PostgresError",
    "InFailedSQLTransactionError": "PostgresError", "PostgresSyntaxError": "PostgresError",
    "UndefinedTableError": "PostgresError", "DataError": "PostgresError",
}  # fmt: skip
"""The exceptions that handlers name, and what each is a kind of."""
_BY_CODE = {
    "23505": "UniqueViolationError", "23502": "NotNullViolationError", "23503": "ForeignKeyViolationError",
    "23514": "CheckViolationError", "08003": "ConnectionDoesNotExistError", "08006": "ConnectionDoesNotExistError",
    "40001": "SerializationError", "55P03": "LockNotAvailableError", "25P02": "InFailedSQLTransactionError",
}  # fmt: skip
T = TypeVar("T")
_KINDS: dict[str, type[Exception]] = {}


def exceptions() -> dict[str, object]:
    """The exceptions of a stand-in: the same ones each time."""
    if not _KINDS:
        made: dict[str, type[Exception]] = {"Exception": Exception}
        codes = {name: code for code, name in _BY_CODE.items()}
        for name, parent in _PARENTS.items():
            members = {"__module__": "asyncpg.exceptions", "sqlstate": codes.get(name)}
            made[name] = type(name, (made[parent],), members)
        _KINDS.update({name: kind for name, kind in made.items() if name != "Exception"})
    return dict(_KINDS)


def stand_in() -> dict[str, object]:
    """The members of asyncpg that handlers name, besides those that make connections."""
    return {**exceptions(), "Connection": AsyncConnection, "Pool": Pool, "Record": Row, "connect": None}


def connections(module: ModuleType, ask: SqlAsk, number: Callable[[], int | None]) -> Mapping[str, object]:
    """What makes connections in place of a module's own."""

    def error(refusal: SqlRefusal) -> Exception:
        kind = getattr(module, _BY_CODE.get(refusal.code, "PostgresError"))
        made: Exception = kind(refusal.message)
        return made

    flavour = Flavour("asyncpg", "postgres", error, closes_at_exit=False)

    def made(arguments: tuple[object, ...], named: Mapping[str, object]) -> AsyncConnection:
        own = number()
        if own is None:
            raise ConnectionRefusedError(111, "Connection refused")
        database = database_of(arguments, named, "postgres")
        return AsyncConnection(Connection(flavour, ask, database, own, autocommit=True))

    async def connect(*arguments: object, **named: object) -> AsyncConnection:
        return made(arguments, named)

    def create_pool(*arguments: object, **named: object) -> Pool:
        return Pool(lambda: made(arguments, named))

    return {"connect": connect, "create_pool": create_pool}


class AsyncConnection:
    """A connection of asyncpg."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def execute(self, query: str, *args: object, **_: object) -> str:
        """Run a statement; its status, such as `INSERT 0 1`."""
        return _status(query, self._asked(query, args))

    async def executemany(self, command: str, args: Iterable[Sequence[object]], **_: object) -> None:
        """Run a statement with each of these arguments, in one transaction."""
        bound = [_bound(one) for one in args]
        if bound:
            with self._block():
                self._connection.ask(_with_places(command), bound[0], tuple(bound[1:]))

    async def fetch(self, query: str, *args: object, **_: object) -> list[Row]:
        """The rows of a statement."""
        answer = self._asked(query, args)
        return [Row(answer.columns or (), row) for row in answer.rows]

    async def fetchrow(self, query: str, *args: object, **_: object) -> Row | None:
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

    def transaction(self, *, isolation: str | None = None, readonly: bool = False, **_: object) -> Transaction:
        """A transaction, or a savepoint within one."""
        del readonly
        if isolation in {"serializable", "repeatable_read"} and not self._connection.in_transaction:
            self._connection.set_isolation_level("SERIALIZABLE")
        return Transaction(self._block)

    def is_closed(self) -> bool:
        """Whether it is closed, or lost."""
        return bool(self._connection.closed)

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    async def close(self, **_: object) -> None:
        """Close it: what is not committed is rolled back."""
        self._connection.close()

    async def set_type_codec(self, *_: object, **__: object) -> None:
        """Values are Python's own here."""

    async def reset(self, **_: object) -> None:
        """Roll back what is open."""
        if self._connection.in_transaction:
            self._connection.rollback()

    def _asked(self, query: str, args: Sequence[object]) -> SqlAnswer:
        return self._connection.ask(_with_places(query), _bound(args))

    def _block(self) -> AbstractContextManager[object]:
        return self._connection.transaction()


class Prepared:
    """A prepared statement."""

    def __init__(self, connection: AsyncConnection, query: str) -> None:
        self._connection, self._query = connection, query

    async def fetch(self, *args: object, **_: object) -> list[Row]:
        """Its rows."""
        return await self._connection.fetch(self._query, *args)

    async def fetchrow(self, *args: object, **_: object) -> Row | None:
        """Its first row."""
        return await self._connection.fetchrow(self._query, *args)

    async def fetchval(self, *args: object, column: int = 0, **_: object) -> object:
        """A value of its first row."""
        return await self._connection.fetchval(self._query, *args, column=column)


class Transaction:
    """A transaction: `async with`, or begun and ended by hand."""

    def __init__(self, block: Callable[[], AbstractContextManager[object]]) -> None:
        self._block = block
        self._open: AbstractContextManager[object] | None = None

    async def start(self) -> None:
        """Begin it."""
        self._open = self._block()
        self._open.__enter__()

    async def commit(self) -> None:
        """Commit it."""
        self._end(None)

    async def rollback(self) -> None:
        """Undo it."""
        self._end(_RolledBack())

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        del kind, trace
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        block, self._open = self._open, None
        if block is None:
            return
        try:
            block.__exit__(None if error is None else type(error), error, None)
        except BaseException as raised:
            if raised is not error:
                raise


class _RolledBack(Exception):
    """A transaction is undone."""


class _OnAConnection(Protocol):
    """A method of a connection, called on the pool."""

    def __call__(self, *args: object, **named: object) -> Awaitable[object]: ...


class Pool:
    """Connections that are made when they are asked for."""

    def __init__(self, make: Callable[[], AsyncConnection]) -> None:
        self._make = make
        self._free: list[AsyncConnection] = []

    def acquire(self, **_: object) -> _Acquired:
        """A connection: awaited, or with `async with`."""
        return _Acquired(self)

    async def release(self, connection: AsyncConnection, **_: object) -> None:
        """Give a connection back."""
        await connection.reset()
        if not connection.is_closed():
            self._free.append(connection)

    async def close(self) -> None:
        """Close all."""
        while self._free:
            await self._free.pop().close()

    def terminate(self) -> None:
        """Forget all."""
        self._free.clear()

    def take(self) -> AsyncConnection:
        """A free connection, or a new one."""
        return self._free.pop() if self._free else self._make()

    def __getattr__(self, name: str) -> _OnAConnection:
        if name not in {"execute", "executemany", "fetch", "fetchrow", "fetchval"}:
            raise AttributeError(name)

        async def on_a_connection(*args: object, **named: object) -> object:
            async with self.acquire() as connection:
                return await getattr(connection, name)(*args, **named)

        return on_a_connection

    def __await__(self) -> Generator[object, None, Pool]:
        return _given(self).__await__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Acquired:
    """A connection of a pool, until it is given back."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._connection: AsyncConnection | None = None

    def __await__(self) -> Generator[object, None, AsyncConnection]:
        return _given(self._pool.take()).__await__()

    async def __aenter__(self) -> AsyncConnection:
        self._connection = self._pool.take()
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            await self._pool.release(self._connection)


async def _given(value: T) -> T:
    return value


def _with_places(text: str) -> str:
    """The statement with the places of other drivers, `%(p1)s`, for those of PostgreSQL, `$1`."""

    def place(found: re.Match[str]) -> str:
        kept, number, _ = found.groups()
        if kept:
            return kept.replace("%", "%%")
        return f"%(p{number})s" if number else "%%"

    return _PLACE.sub(place, text)


def _bound(args: Sequence[object]) -> Bound:
    return {f"p{number}": value for number, value in enumerate(args, 1)}


def _status(query: str, answer: SqlAnswer) -> str:
    word = first_word(query)
    if word == "INSERT":
        return f"INSERT 0 {max(answer.count, 0)}"
    return f"{word} {max(answer.count, 0)}" if word in {"UPDATE", "DELETE"} else word
