"""The same loads on a store in a file and on a store in PostgreSQL: durable both, side by side.

The CPU of the server and that of PostgreSQL are told apart, because the database may have a machine of its own.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3
import psycopg

from benchmarks import lag, startup
from benchmarks.dialects import JsonDialect, request_of
from benchmarks.load import Load, Script, run
from benchmarks.processes import (
    CLIENT_CORE,
    ENVIRONMENT,
    SERVER_CORE,
    ServerProcess,
    cpu_s_of,
    free_port,
    redrive_command,
    serving,
)
from benchmarks.report import Row
from benchmarks.sqs import BATCH, BODY, DRAIN_CONNECTIONS, Drain, Fill, Once, Repeat
from scripts.postgresql import running

CONNECTIONS = 64
TABLE = "bench"
DRAINED = 30_000
SCHEDULES = 10_000
FIRE_S_MAX = 60


@dataclass(frozen=True, slots=True)
class Database:
    """PostgreSQL: one process and its children. Pinned to the core of the clients."""

    url: str
    pid: int

    def cpu_s(self) -> float:
        """Seconds of CPU that it has used so far."""
        return cpu_s_of(self.pid)


@contextmanager
def in_file() -> Iterator[tuple[ServerProcess, None]]:
    """A server on a store in a file."""
    with TemporaryDirectory() as data, _serving("--data", data) as server:
        yield server, None


@contextmanager
def in_postgresql() -> Iterator[tuple[ServerProcess, Database]]:
    """A server on a store in PostgreSQL."""
    with running(durable=True) as url:
        folder = Path(url.partition("host=")[2])
        pid = int((folder / "data/postmaster.pid").read_text().splitlines()[0])
        os.sched_setaffinity(pid, {CLIENT_CORE})
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE bench TEMPLATE template0")
        database = url.replace("/postgres?", "/bench?")
        with _serving("--store", database) as server:
            yield server, Database(database, pid)


@contextmanager
def _serving(*where: str) -> Iterator[ServerProcess]:
    port = free_port()
    command = redrive_command(port, *where, "--limits", "relaxed")
    with serving(command, port, probe=startup.HEALTH, env=ENVIRONMENT) as server:
        os.sched_setaffinity(server.pid, {SERVER_CORE})
        yield server


class Puts:
    """Conditional PutItem: each item is new."""

    def __init__(self, port: int, *, updates: bool = False) -> None:
        self._host = f"127.0.0.1:{port}"
        self._run = f"{time.time_ns():x}"
        self._numbers = itertools.count()
        self._updates = updates

    def next(self, answer: bytes | None) -> bytes | None:
        """A request."""
        if self._updates:
            members: dict[str, object] = {
                "TableName": TABLE, "Key": {"id": {"S": "hot"}}, "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            }  # fmt: skip
            return _dynamodb(self._host, "UpdateItem", members)
        item = {"id": {"S": f"{self._run}-{next(self._numbers)}"}, "data": {"S": "x" * 200}}
        members = {"TableName": TABLE, "Item": item, "ConditionExpression": "attribute_not_exists(id)"}
        return _dynamodb(self._host, "PutItem", members)


class Measured:
    """One server under load."""

    def __init__(self, server: ServerProcess, database: Database | None) -> None:
        self._server = server
        self._database = database
        self._dialect = JsonDialect(server.port)
        self._names = (f"bench-{number}" for number in itertools.count())

    def rows(self, seconds: float) -> Iterator[Row]:
        """All loads, one after another."""
        for count in (1, CONNECTIONS):
            send = self._dialect.send(self._queue(), BODY)
            yield self._row(f"SendMessage of 1 KiB, {count} conn.", Repeat(send), count, seconds)
        batch = self._dialect.send_batch(self._queue(), BATCH)
        yield self._row("SendMessageBatch of 10, 64 conn.", Repeat(batch), CONNECTIONS, seconds, times=10)
        yield self._drain()
        self._table()
        yield self._row("conditional PutItem, 64 conn.", Puts(self._server.port), CONNECTIONS, seconds)
        hot = Puts(self._server.port, updates=True)
        yield self._row("UpdateItem of one hot item, 64 conn.", hot, CONNECTIONS, seconds)
        yield self._fired()

    def _row(
        self, what: str, script: Script, connections: int, seconds: float, *, times: int = 1,
        count: Callable[[], int] | None = None,
    ) -> Row:  # fmt: skip
        before = self._database.cpu_s() if self._database else 0.0
        load = run(self._server, script, connections=connections, seconds=seconds)
        used = (self._database.cpu_s() if self._database else 0.0) - before
        return self._of(what, load, load.requests * times if count is None else count(), used)

    def _of(self, what: str, load: Load, count: int, database_s: float) -> Row:
        note = f"PostgreSQL {1e6 * database_s / max(1, count):.0f} us each" if self._database else ""
        return Row(
            what=what, per_s=count / load.seconds, per_core_s=count / max(load.server_cpu_s, 1e-9),
            request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99), errors=load.errors,
            note=note,
        )  # fmt: skip

    def _drain(self) -> Row:
        queue_url = self._queue()
        run(self._server, Fill(self._dialect.send_batch(queue_url, BATCH), DRAINED), connections=16, seconds=60)
        drain = Drain(self._dialect, queue_url, DRAINED)
        return self._row("drain by 10, 16 conn.", drain, DRAIN_CONNECTIONS, 30, count=lambda: drain.deleted)

    def _fired(self) -> Row:
        """Schedules that are all due in the same second, until their messages are there."""
        queue = lag.Measured(self._server, runs=1).queue()
        due = int(time.time()) + max(6, SCHEDULES // 800)
        run(self._server, lag.Create(queue, iter([due] * SCHEDULES)), connections=CONNECTIONS, seconds=FIRE_S_MAX)
        time.sleep(max(0.0, due - time.time() - 0.05))
        before = self._database.cpu_s() if self._database else 0.0
        cpu_s, began = self._server.cpu_s(), time.perf_counter()
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        client = session.client("sqs", endpoint_url=f"http://127.0.0.1:{self._server.port}")
        arrived = 0
        while arrived < SCHEDULES and time.perf_counter() - began < FIRE_S_MAX:
            time.sleep(0.1)
            names = ["ApproximateNumberOfMessages"]
            told = client.get_queue_attributes(QueueUrl=queue.url, AttributeNames=names)
            arrived = int(told["Attributes"][names[0]])
        load = Load(seconds=time.perf_counter() - began - 0.05, server_cpu_s=self._server.cpu_s() - cpu_s)
        load.requests = arrived
        used = (self._database.cpu_s() if self._database else 0.0) - before
        return self._of(f"{SCHEDULES:,} schedules due together", load, arrived, used)

    def _queue(self) -> str:
        once = Once(self._dialect.create_queue(next(self._names)))
        run(self._server, once, connections=1, seconds=30)
        return self._dialect.queue_url(once.answer)

    def _table(self) -> None:
        members: dict[str, object] = {
            "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        }  # fmt: skip
        once = Once(_dynamodb(f"127.0.0.1:{self._server.port}", "CreateTable", members))
        run(self._server, once, connections=1, seconds=30)


def _dynamodb(host: str, operation: str, members: dict[str, object]) -> bytes:
    headers = f"X-Amz-Target: DynamoDB_20120810.{operation}\r\nContent-Type: application/x-amz-json-1.0"
    return request_of(host, "/", headers, json.dumps(members).encode())
