"""asyncpg: connections whose statements are answered in this process, and a stand-in where it is not installed."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import cast

from redrive.prove.process.asyncpg_connection import AsyncConnection
from redrive.prove.process.asyncpg_errors import error_of, exceptions
from redrive.prove.process.asyncpg_pool import Pool, Prepare
from redrive.prove.process.asyncpg_values import AsyncRow
from redrive.prove.process.sql_connection import Connection, Flavour, RunNumber, database_of
from redrive.prove.process.sql_exchange import SqlAsk


def stand_in() -> dict[str, object]:
    """The members of asyncpg that handlers name, besides those that make connections."""
    return {**exceptions(), "Connection": AsyncConnection, "Pool": Pool, "Record": AsyncRow, "connect": None}


def pools() -> dict[str, object]:
    """The members of asyncpg.pool that handlers name in annotations."""
    return {"Pool": Pool, "PoolConnectionProxy": AsyncConnection}


def connection_kinds() -> dict[str, object]:
    """The members of asyncpg.connection that handlers name in annotations."""
    return {"Connection": AsyncConnection}


def connections(module: ModuleType, ask: SqlAsk, number: RunNumber, run: RunNumber) -> Mapping[str, object]:
    """What makes connections in place of a module's own."""

    flavour = Flavour("asyncpg", "postgres", error_of(module), closes_at_exit=False)

    def made(arguments: tuple[object, ...], named: Mapping[str, object]) -> AsyncConnection:
        own = number()
        if own is None:
            raise ConnectionRefusedError(111, "Connection refused")
        database = database_of(arguments, named, "postgres")
        return AsyncConnection(Connection(flavour, ask, database, own, run, autocommit=True))

    async def connect(*arguments: object, **named: object) -> AsyncConnection:
        return made(arguments, named)

    def create_pool(*arguments: object, **named: object) -> Pool:
        steps = {name: cast("Prepare | None", named.get(name)) for name in ("init", "setup")}
        return Pool(lambda: made(arguments, named), **steps)

    kinds = {"Connection": AsyncConnection, "Pool": Pool, "Record": AsyncRow}
    return {**kinds, "connect": connect, "create_pool": create_pool}
