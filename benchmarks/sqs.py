"""One load after another against one SQS endpoint: single sends, batches, a drained backlog, and boto3."""

from __future__ import annotations

import itertools
import os
import time
from collections import deque
from collections.abc import Iterator

import boto3
from botocore.config import Config

from benchmarks.dialects import Dialect
from benchmarks.load import Load, run
from benchmarks.processes import CLIENT_CORE, ServerProcess
from benchmarks.report import Row

BODY = "x" * 1024
BATCH = [BODY] * 10
CONNECTIONS = (1, 16, 64)
DRAIN_CONNECTIONS = 16
DRAIN_MESSAGES = 50_000
BACKLOG_MESSAGES = 1_000_000
FILL_S_MAX = 120
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

    def __init__(self, server: ServerProcess, dialect: Dialect) -> None:
        self._server = server
        self._dialect = dialect
        self._names = (f"bench-{number}" for number in itertools.count())

    def rows(self, seconds: float, *, backlog: bool) -> Iterator[Row]:
        """All loads, one after another; with `backlog` also a drain of a queue that holds a million messages."""
        for connections in CONNECTIONS:
            request = self._dialect.send(self._queue(), BODY)
            load = run(self._server, Repeat(request), connections=connections, seconds=seconds)
            yield row(f"SendMessage of 1 KiB, {connections} conn.", load, messages=load.requests)
        for connections in CONNECTIONS[1:]:
            request = self._dialect.send_batch(self._queue(), BATCH)
            load = run(self._server, Repeat(request), connections=connections, seconds=seconds)
            yield row(f"SendMessageBatch of 10, {connections} conn.", load, messages=10 * load.requests)
        yield self._drain(DRAIN_MESSAGES)
        if backlog:
            yield self._drain(BACKLOG_MESSAGES)
        load = self._boto3(seconds)
        yield row("SendMessage by boto3, 1 conn.", load, messages=load.requests)

    def _drain(self, waiting: int) -> Row:
        """Fill a queue, then take messages out of it."""
        queue_url = self._queue()
        filling = Fill(self._dialect.send_batch(queue_url, BATCH), waiting)
        filled = 10 * run(self._server, filling, connections=DRAIN_CONNECTIONS, seconds=FILL_S_MAX).requests
        drain = Drain(self._dialect, queue_url, min(filled, DRAIN_MESSAGES))
        load = run(self._server, drain, connections=DRAIN_CONNECTIONS, seconds=DRAIN_S_MAX)
        return row(f"drain of {filled:,}, {DRAIN_CONNECTIONS} conn.", load, messages=drain.deleted)

    def _boto3(self, seconds: float) -> Load:
        """SendMessage through the AWS SDK, in a loop on one connection."""
        os.sched_setaffinity(0, {CLIENT_CORE})
        client = boto3.session.Session("test", "test", region_name="us-east-1").client(
            "sqs", endpoint_url=f"http://127.0.0.1:{self._server.port}", config=Config(retries={"total_max_attempts": 1})
        )
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


def row(what: str, load: Load, *, messages: int) -> Row:
    """What a load says, in messages."""
    return Row(
        what=what, per_s=messages / load.seconds, per_core_s=messages / max(load.server_cpu_s, 1e-9),
        request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99), errors=load.errors,
    )  # fmt: skip
