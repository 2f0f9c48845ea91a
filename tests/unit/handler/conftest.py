"""Ledgers of every kind that tests can have, on one clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from redrive.handler import DynamoDBLedger, Ledger, MemoryLedger, PostgresLedger, SqliteLedger
from redrive.testing.world import World
from tests.support.postgresql import database

START = 1_735_689_600_000
TABLE = "executions"
LEDGERS = ("memory", "sqlite", "dynamodb", "postgres")


@dataclass
class HandClock:
    """A clock that moves when a test moves it; sleeping on it moves it too."""

    now: int = START
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * 1000)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


@dataclass
class FakeContext:
    """Lambda's context, as far as the library looks at it."""

    deadline_at: int
    clock: Callable[[], int]

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self.deadline_at - self.clock())


def numbered_nonces() -> Callable[[], str]:
    """Nonces `n1`, `n2` …"""
    numbers = count(1)
    return lambda: f"n{next(numbers)}"


def create_table(world: World, name: str = TABLE) -> None:
    """The table of executions, as docs/guide/handlers.md shows it."""
    world.client("dynamodb").create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "execution_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "execution_id", "KeyType": "HASH"}],
    )


def empty_postgres(url: str, clock: HandClock) -> PostgresLedger:
    """A ledger in a database of the tests' PostgreSQL, without records."""
    postgres = PostgresLedger(url, clock=clock, nonce=numbered_nonces())
    postgres.create_tables()
    with postgres.transaction() as connection:
        connection.execute("TRUNCATE redrive_executions, redrive_cells")
    return postgres


@pytest.fixture(scope="session")
def ledgers_url(postgresql_url: str) -> Iterator[str]:
    """One database for the ledgers of all tests."""
    with database(postgresql_url) as url:
        yield url


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    create_table(world)
    yield world
    world.close()


@pytest.fixture(params=LEDGERS)
def ledger(request: pytest.FixtureRequest, clock: HandClock, tmp_path: Path) -> Iterator[Ledger]:
    match request.param:
        case "memory":
            yield MemoryLedger(clock=clock, nonce=numbered_nonces())
        case "sqlite":
            sqlite = SqliteLedger(str(tmp_path / "ledger.db"), clock=clock, nonce=numbered_nonces())
            yield sqlite
            sqlite.close()
        case "dynamodb":
            world = request.getfixturevalue("world")
            yield DynamoDBLedger(TABLE, client=world.client("dynamodb"), clock=clock, nonce=numbered_nonces())
        case "postgres":
            postgres = empty_postgres(request.getfixturevalue("ledgers_url"), clock)
            yield postgres
            postgres.close()
