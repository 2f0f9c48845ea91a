"""One load after another against one SQS endpoint: single sends, batches, a drained backlog, and boto3."""

from __future__ import annotations

import itertools
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import boto3
from botocore.config import Config

from benchmarks.dialects import Dialect, JsonDialect
from benchmarks.load import Load, run
from benchmarks.processes import CLIENT_CORE, ServerProcess
from benchmarks.report import Row

BODY = "x" * 1024
BATCH = [BODY] * 10
CONNECTIONS = (1, 16, 64)
DRAIN_CONNECTIONS = 16
DRAIN_MESSAGES = 50_000
BACKLOG_MESSAGES = 1_000_000
FILL_S_MAX = 30
BACKLOG_FILL_S_MAX = 120
DRAIN_S_MAX = 20


class Repeat:
    """The same request again and again."""

    def __init__(self, request: bytes) -> None:
        self._request = request

    def next(self, answer: bytes | None) -> bytes | None:
        return self._request


class Fill:
    """A number of batches of ten."""

    def __init__(self, request: bytes, messages: int) -> None:
        self._requests = itertools.repeat(request, messages // len(BATCH))

    def next(self, answer: bytes | None) -> bytes | None:
        return next(self._requests, None)


class Drain:
    """Receive ten and delete them, until so many messages have been deleted."""

    def __init__(self, dialect: Dialect, queue_url: str, messages: int) -> None:
        self._dialect = dialect
        self._queue_url = queue_url
        self._receive = dialect.receive(queue_url)
        self._left = messages
        self.deleted = 0

    def next(self, answer: bytes | None) -> bytes | None:
        receipts = self._dialect.receipts(answer) if answer is not None else []
        if receipts:
            self._left -= len(receipts)
            self.deleted += len(receipts)
            return self._dialect.delete_batch(self._queue_url, receipts)
        return self._receive if self._left > 0 else None


class Once:
    """One request, whose answer is kept."""

    def __init__(self, request: bytes) -> None:
        self._requests = deque([request])
        self.answer = b""

    def next(self, answer: bytes | None) -> bytes | None:
        self.answer = answer or b""
        return self._requests.popleft() if self._requests else None


class Measured:
    """One server under load. Every load has a queue of its own."""

    def __init__(self, server: ServerProcess, dialect: Dialect, *, runs: int) -> None:
        self._server = server
        self._dialect = dialect
        self._runs = runs
        self._names = (f"bench-{number}" for number in itertools.count())

    def rows(self, seconds: float, *, backlog: bool) -> Iterator[Row]:
        """All loads, one after another; with `backlog` also a drain of a queue that holds a million messages."""
        for connections in CONNECTIONS:
            load = self._median(lambda url: self._dialect.send(url, BODY), connections, seconds)
            yield _row(f"SendMessage of 1 KiB, {connections} conn.", load, messages=load.requests)
        for connections in CONNECTIONS[1:]:
            load = self._median(lambda url: self._dialect.send_batch(url, BATCH), connections, seconds)
            yield _row(f"SendMessageBatch of 10, {connections} conn.", load, messages=10 * load.requests)
        if isinstance(self._dialect, JsonDialect):
            load = self._boto3(seconds)
            yield _row("SendMessage by boto3, 1 conn.", load, messages=load.requests)
        yield self._drain(DRAIN_MESSAGES, FILL_S_MAX)
        if backlog:
            yield self._drain(BACKLOG_MESSAGES, BACKLOG_FILL_S_MAX)

    def _median(self, request: Callable[[str], bytes], connections: int, seconds: float) -> Load:
        """The run with the median cost per request; wall rates of a shared machine are worth less."""
        loads = [
            run(self._server, Repeat(request(self._queue())), connections=connections, seconds=seconds)
            for _ in range(self._runs)
        ]
        return sorted(loads, key=lambda load: load.server_us)[len(loads) // 2]

    def _drain(self, waiting: int, fill_s_max: float) -> Row:
        """Fill a queue, then take messages out of it."""
        queue_url = self._queue()
        filling = Fill(self._dialect.send_batch(queue_url, BATCH), waiting)
        filled = 10 * run(self._server, filling, connections=DRAIN_CONNECTIONS, seconds=fill_s_max).requests
        drain = Drain(self._dialect, queue_url, min(filled, DRAIN_MESSAGES))
        load = run(self._server, drain, connections=DRAIN_CONNECTIONS, seconds=DRAIN_S_MAX)
        row = _row(f"drain, {waiting:,} waiting, {DRAIN_CONNECTIONS} conn.", load, messages=drain.deleted)
        return row if filled >= waiting else replace(row, note=f"only {filled:,}")

    def _boto3(self, seconds: float) -> Load:
        """SendMessage through the AWS SDK, in a loop on one connection."""
        os.sched_setaffinity(0, {CLIENT_CORE})
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        once = Config(retries={"total_max_attempts": 1})
        client = session.client("sqs", endpoint_url=f"http://127.0.0.1:{self._server.port}", config=once)
        queue_url = self._queue()
        load = Load()
        cpu_s, began = self._server.cpu_s(), time.perf_counter()
        while time.perf_counter() - began < seconds:
            sent_at = time.perf_counter()
            client.send_message(QueueUrl=queue_url, MessageBody=BODY)
            load.latencies.append(time.perf_counter() - sent_at)
            load.requests += 1
        load.seconds, load.server_cpu_s = time.perf_counter() - began, self._server.cpu_s() - cpu_s
        return load

    def _queue(self) -> str:
        once = Once(self._dialect.create_queue(next(self._names)))
        run(self._server, once, connections=1, seconds=30)
        return self._dialect.queue_url(once.answer)


def _row(what: str, load: Load, *, messages: int) -> Row:
    """What a load says, in messages."""
    return Row(
        what=what, per_s=messages / load.seconds, per_core_s=messages / max(load.server_cpu_s, 1e-9),
        request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99), errors=load.errors,
    )  # fmt: skip
