"""Schedules from outside: what it costs to make one, and how late its message is in the hands of a consumer.

Lag counts from the instant of a schedule to when a client that long-polls the queue has the whole answer with the
message; "sent" counts to the message's own SentTimestamp. Both processes read the clock of one machine.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import boto3
from botocore.config import Config

from benchmarks.load import Load, run
from benchmarks.processes import ServerProcess
from benchmarks.report import Figure, Row
from benchmarks.travel import MAY_SEND, ROLE, TRUST

CONNECTIONS = (16, 64)
TOGETHER = 1_000
ALONE = 30
CONSUMERS = 4
AHEAD_S = 3
"""Between making schedules and the first that is due: more than it takes to make TOGETHER of them."""
LAG_S_MAX = 15
POLL_S = 2
PEERS_THAT_FIRE = ("ministack",)
"""Others take schedules and never fire them."""
FAR = 1_893_456_000
"""2030, for schedules that are only made."""

_SIGNATURE = (
    "AWS4-HMAC-SHA256 Credential=test/20261120/us-east-1/{service}/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date, Signature=" + "0" * 64
)


class Create:
    """One schedule after another."""

    def __init__(self, queue: Queue, dues: Iterator[int], *, is_tokened: bool = False) -> None:
        """`dues` are the seconds since the epoch at which they are due."""
        self._queue = queue
        self._dues = dues
        self._is_tokened = is_tokened
        self._run = uuid4().hex[:8]
        self._numbers = itertools.count()

    def next(self, answer: bytes | None) -> bytes | None:
        due = next(self._dues, None)
        if due is None:
            return None
        members: dict[str, object] = {
            "ScheduleExpression": f"at({datetime.fromtimestamp(due, UTC):%Y-%m-%dT%H:%M:%S})",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {"Arn": self._queue.arn, "RoleArn": ROLE, "Input": str(due)},
        }
        if self._is_tokened:
            members["ClientToken"] = str(uuid4())
        path = f"/schedules/bench-{self._run}-{next(self._numbers)}"
        return _request(self._queue.host, path, "scheduler", "Content-Type: application/json", members)


class Consume:
    """Receive by long polls until so many messages have come; notes the lag of each, in milliseconds."""

    def __init__(self, queue: Queue, count: int) -> None:
        members = {
            "QueueUrl": queue.url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": POLL_S,
            "MessageSystemAttributeNames": ["SentTimestamp"],
        }  # fmt: skip
        headers = "X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Type: application/x-amz-json-1.0"
        self._receive = _request(queue.host, "/", "sqs", headers, members)
        self._count = count
        self.received: list[float] = []
        self.sent: list[float] = []

    def next(self, answer: bytes | None) -> bytes | None:
        now_ms = 1000 * time.time()
        for message in json.loads(answer).get("Messages", ()) if answer else ():
            due_ms = 1000 * int(message["Body"])
            self.received.append(now_ms - due_ms)
            self.sent.append(int(message["Attributes"]["SentTimestamp"]) - due_ms)
        return self._receive if len(self.received) < self._count else None


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue that schedules may send to."""

    host: str
    url: str
    arn: str


@dataclass(frozen=True, slots=True)
class Lags:
    """What became of schedules that were due: milliseconds from due to received, and to sent; the server's CPU."""

    received: Sequence[float]
    sent: Sequence[float]
    server_us: float


class Measured:
    """One server. Every measurement has a queue of its own."""

    def __init__(self, server: ServerProcess, *, runs: int) -> None:
        self._server = server
        self._runs = runs
        self._names = (f"lag-{number}" for number in itertools.count())
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        iam, self._sqs = (
            session.client(
                name, endpoint_url=f"http://127.0.0.1:{server.port}", config=Config(retries={"total_max_attempts": 1})
            )
            for name in ("iam", "sqs")
        )
        iam.create_role(RoleName="bench", AssumeRolePolicyDocument=json.dumps(TRUST))
        iam.put_role_policy(RoleName="bench", PolicyName="send", PolicyDocument=json.dumps(MAY_SEND))

    def rows(self, seconds: float) -> Iterator[Row]:
        """CreateSchedule, as plain HTTP clients send it, and with the ClientToken that SDKs add."""
        for connections, is_tokened in itertools.product(CONNECTIONS, (False, True)):
            load = self._created(connections, seconds, is_tokened=is_tokened)
            what = f"CreateSchedule{' with a ClientToken' * is_tokened}, {connections} conn."
            yield Row(
                what=what, per_s=load.requests / load.seconds, per_core_s=load.requests / load.server_cpu_s,
                request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99),
                errors=load.errors,
            )  # fmt: skip

    def figures(self) -> Iterator[Figure]:
        """How late: schedules that are due alone, a second apart, and many that are due in the same second.

        Of several bursts the best one counts: other work on the machine makes them later, and never earlier.
        """
        yield from _figures("due alone", self._lags(ALONE, apart_s=1))
        together = [self._lags(TOGETHER, apart_s=0) for _ in range(self._runs)]
        yield from _figures(
            f"{TOGETHER:,} due together", min(together, key=lambda lags: _quantile(lags.received, 0.99))
        )
        cheapest = min(lags.server_us for lags in together)
        yield Figure("each of them fired, delivered and received", cheapest, "µs of the server's CPU")

    def _created(self, connections: int, seconds: float, *, is_tokened: bool) -> Load:
        """The run with the median cost per request."""
        queue = self.queue()
        loads = [
            run(
                self._server, Create(queue, itertools.count(FAR), is_tokened=is_tokened),
                connections=connections, seconds=seconds,
            )
            for _ in range(self._runs)
        ]  # fmt: skip
        return sorted(loads, key=lambda load: load.server_us)[len(loads) // 2]

    def _lags(self, count: int, *, apart_s: int) -> Lags:
        queue = self.queue()
        first = math.ceil(time.time()) + AHEAD_S
        dues = iter([first + number * apart_s for number in range(count)])
        run(self._server, Create(queue, dues), connections=CONNECTIONS[0], seconds=AHEAD_S)
        consume = Consume(queue, count)
        load = run(self._server, consume, connections=CONSUMERS, seconds=AHEAD_S + count * apart_s + LAG_S_MAX)
        assert len(consume.received) == count, f"{len(consume.received)} of {count} messages came within {LAG_S_MAX} s"
        return Lags(consume.received, consume.sent, 1e6 * load.server_cpu_s / count)

    def queue(self) -> Queue:
        """A queue of its own."""
        hidden = {"VisibilityTimeout": "3600"}  # What was received is not received again.
        url = self._sqs.create_queue(QueueName=next(self._names), Attributes=hidden)["QueueUrl"]
        arn = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        return Queue(f"127.0.0.1:{self._server.port}", url, arn)


def _figures(what: str, lags: Lags) -> Iterator[Figure]:
    for event, measured in (("received", lags.received), ("sent", lags.sent)):
        for label, fraction in (("p50", 0.5), ("p99", 0.99), ("the last", 1.0)):
            yield Figure(f"{what}, {event} after: {label}", _quantile(measured, fraction), "ms")


def _quantile(values: Sequence[float], fraction: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def _request(host: str, path: str, service: str, headers: str, members: object) -> bytes:
    body = json.dumps(members).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Amz-Date: 20261120T000000Z\r\n"
        f"Authorization: {_SIGNATURE.format(service=service)}\r\n{headers}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
