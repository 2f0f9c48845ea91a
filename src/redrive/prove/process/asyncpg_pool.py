"""Pools of asyncpg."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Protocol, Self

from redrive.prove.process.asyncpg_connection import AsyncConnection, given


class _OnAConnection(Protocol):
    """A method of a connection, called on the pool."""

    def __call__(self, *args: object, **named: object) -> Awaitable[object]: ...


Prepare = Callable[[AsyncConnection], Awaitable[object]]
"""What a handler does with each connection of a pool."""
_OF_CONNECTIONS = frozenset(
    {"copy_records_to_table", "execute", "executemany", "fetch", "fetchmany", "fetchrow", "fetchval"}
)


class Pool:
    """Connections that are made when they are asked for."""

    def __init__(
        self, make: Callable[[], AsyncConnection], init: Prepare | None = None, setup: Prepare | None = None
    ) -> None:
        self._make, self._init, self._setup = make, init, setup
        self._free: list[AsyncConnection] = []
        self._is_closed = False

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
        self._is_closed = True
        while self._free:
            await self._free.pop().close()

    def terminate(self) -> None:
        """Close all at once."""
        self._is_closed = True
        self._free.clear()

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self._is_closed

    def get_size(self) -> int:
        """How many connections wait in it."""
        return len(self._free)

    get_idle_size = get_size

    async def expire_connections(self) -> None:
        """Connections do not age."""

    async def take(self) -> AsyncConnection:
        """A free connection, or a new one, as the handler wants it."""
        if self._free:
            taken = self._free.pop()
        else:
            taken = self._make()
            if self._init is not None:
                await self._init(taken)
        if self._setup is not None:
            await self._setup(taken)
        return taken

    def __getattr__(self, name: str) -> _OnAConnection:
        if name not in _OF_CONNECTIONS:
            raise AttributeError(name)

        async def on_a_connection(*args: object, **named: object) -> object:
            async with self.acquire() as connection:
                return await getattr(connection, name)(*args, **named)

        return on_a_connection

    def __await__(self) -> Generator[object, None, Pool]:
        return given(self).__await__()

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
        return self._pool.take().__await__()

    async def __aenter__(self) -> AsyncConnection:
        self._connection = await self._pool.take()
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            await self._pool.release(self._connection)
