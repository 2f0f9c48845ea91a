"""EventBridge from outside: events that a rule sends to a queue, how late a consumer has them, and one event's fan-out.

A load ends when all its messages are in the queue, so its CPU contains the deliveries. Other servers take part by the
same requests; what one of them does not deliver is said beside its figure.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection

import boto3
from botocore.config import Config

from benchmarks.dialects import request_of
from benchmarks.load import Load, Script, run
from benchmarks.patterns import EVENT_BYTES
from benchmarks.processes import ServerProcess
from benchmarks.report import Figure, Row
from benchmarks.sqs import Repeat
from redrive.core.documents import Document

RULES = (1, 1_000)
CONNECTIONS = 16
BATCH = 10
FAN = 100
FAN_EVENTS = 200
WAITED_FOR = 300
APART_S = 0.02
DELIVERED_S_MAX = 60
IDLE_S_MAX = 5
POLL_S = 0.05
LATENCY_S_MAX = 60
ENVELOPE_BYTES = 220
"""About what the envelope of an event has beside its detail."""
PEERS_WITH_RULES = ("ministack", "moto")

_SOURCE, _TYPE = "shop.orders", "Paid"
_QUEUES = "arn:aws:sqs:us-east-1:000000000000:"
_SIGNATURE = (
    "AWS4-HMAC-SHA256 Credential=test/20261120/us-east-1/{service}/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + "0" * 64
)
_ACTIONS = {"events": "AWSEvents", "sqs": "AmazonSQS"}
_TYPES = {"events": "application/x-amz-json-1.1", "sqs": "application/x-amz-json-1.0"}


class Counted:
    """The same request, so many times."""

    def __init__(self, request: bytes, times: int) -> None:
        self._requests = itertools.repeat(request, times)

    def next(self, answer: bytes | None) -> bytes | None:
        return next(self._requests, None)


class Measured:
    """One server. Each load has a bus and a queue of its own."""

    def __init__(self, server: ServerProcess, *, runs: int) -> None:
        self._server = server
        self._host = f"127.0.0.1:{server.port}"
        self._runs = runs
        self._names = (f"bench-events-{number}" for number in itertools.count())
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        once = Config(retries={"total_max_attempts": 1}, read_timeout=DELIVERED_S_MAX)
        self._events, self._sqs = (
            session.client(name, endpoint_url=f"http://{self._host}", config=once) for name in ("events", "sqs")
        )

    def rows(self, seconds: float) -> Iterator[Row]:
        """Batches of ten through buses of few and of many rules, and events that a hundred rules match."""
        for rules in RULES:
            bus, url = self._bus([_pattern(number) for number in range(rules)], targets=1)
            request = self._put([_entry(bus, 0)] * BATCH)
            what = f"PutEvents of 10, {rules:,} rule{'s' * (rules > 1)}, into a queue"
            yield self._median(what, url, Repeat(request), seconds, each=BATCH)
        bus, url = self._bus([_pattern(0)] * FAN, targets=FAN)
        fan = Counted(self._put([_entry(bus, 0)]), FAN_EVENTS)
        yield self._row(f"deliveries of an event that {FAN} rules match", url, fan, DELIVERED_S_MAX, each=FAN)

    def figures(self) -> Iterator[Figure]:
        """How long events take, one by one, until a client that long-polls the queue has the whole message."""
        bus, url = self._bus([_pattern(0)], targets=1)
        took = sorted(self._latencies(bus, url))
        for label, fraction in (("p50", 0.5), ("p99", 0.99), ("the slowest", 1.0)):
            value = took[min(len(took) - 1, int(fraction * len(took)))] if took else float("nan")
            yield Figure(f"one event to a waiting consumer: {label} of {len(took)}", value, "ms")

    def _median(self, what: str, url: str, script: Script, seconds: float, *, each: int) -> Row:
        """The run with the median cost per message; wall rates of a shared machine are worth less."""
        rows = [self._row(what, url, script, seconds, each=each) for _ in range(self._runs)]
        return sorted(rows, key=lambda row: row.per_core_s)[len(rows) // 2]

    def _row(self, what: str, url: str, script: Script, seconds: float, *, each: int) -> Row:
        before, cpu_s, began = self._waiting(url), self._server.cpu_s(), time.perf_counter()
        load = run(self._server, script, connections=CONNECTIONS, seconds=seconds)
        promised = each * load.requests
        arrived = self._arrived(url, before, promised)
        load.seconds, load.server_cpu_s = time.perf_counter() - began, self._server.cpu_s() - cpu_s
        # Requests under way at the end of the load are delivered, too, and are not counted.
        return _row(what, load, min(arrived, promised), promised)

    def _arrived(self, url: str, before: int, promised: int) -> int:
        """Wait until so many messages have come, or until no more come; returns their number."""
        arrived, moved_at, began = 0, time.perf_counter(), time.perf_counter()
        while arrived < promised and time.perf_counter() < min(moved_at + IDLE_S_MAX, began + DELIVERED_S_MAX):
            time.sleep(POLL_S)
            present = self._waiting(url) - before
            moved_at = time.perf_counter() if present != arrived else moved_at
            arrived = present
        return arrived

    def _waiting(self, url: str) -> int:
        told = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        return int(told["Attributes"]["ApproximateNumberOfMessages"])

    def _latencies(self, bus: str, url: str) -> list[float]:
        took: list[float] = []
        consumer = threading.Thread(target=self._consume, args=(url, took), daemon=True)
        consumer.start()
        connection = HTTPConnection(self._host, timeout=DELIVERED_S_MAX)
        for _ in range(WAITED_FOR):
            time.sleep(APART_S)
            _call(connection, "events", "PutEvents", {"Entries": [_entry(bus, 0, sent_at=time.time())]})
        consumer.join(LATENCY_S_MAX)
        return took

    def _consume(self, url: str, took: list[float]) -> None:
        connection = HTTPConnection(self._host, timeout=DELIVERED_S_MAX)
        until = time.perf_counter() + LATENCY_S_MAX - 5
        wanted = {"QueueUrl": url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1}
        while len(took) < WAITED_FOR and time.perf_counter() < until:
            messages = _call(connection, "sqs", "ReceiveMessage", wanted).get("Messages") or ()
            now = time.time()
            sent = [json.loads(message["Body"])["detail"]["sent_at"] for message in messages]
            took += [1_000 * (now - sent_at) for sent_at in sent if sent_at]

    def _bus(self, patterns: Sequence[str], *, targets: int) -> tuple[str, str]:
        """A bus with these rules, of which the first ones have a queue as target; the queue's URL."""
        name = next(self._names)
        arn = f"{_QUEUES}{name}"
        allow = {
            "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
            "Resource": arn,
        }  # fmt: skip
        attributes = {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [allow]})}
        url = str(self._sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])
        arn = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        self._events.create_event_bus(Name=name)
        for number, pattern in enumerate(patterns):
            rule = f"rule-{number}"
            self._events.put_rule(Name=rule, EventBusName=name, EventPattern=pattern)
            if number < targets:
                self._events.put_targets(Rule=rule, EventBusName=name, Targets=[{"Id": "queue", "Arn": arn}])
        # The first event compiles the rules.
        self._events.put_events(Entries=[_entry(name, 0)])
        self._arrived(url, 0, targets if len(set(patterns)) == 1 else 1)
        return name, url

    def _put(self, entries: Sequence[Mapping[str, str]]) -> bytes:
        headers = f"X-Amz-Target: AWSEvents.PutEvents\r\nContent-Type: {_TYPES['events']}"
        return request_of(self._host, "/", headers, json.dumps({"Entries": entries}).encode(), service="events")


def _pattern(number: int) -> str:
    """Of one source and one type as all others; the customer differs."""
    detail = {"customer": {"id": [f"c-{number}"]}, "status": [{"anything-but": "test"}]}
    return json.dumps({"source": [_SOURCE], "detail-type": [_TYPE], "detail": detail})


def _entry(bus: str, number: int, *, sent_at: float = 0.0) -> dict[str, str]:
    """An entry whose event has 1 KiB."""
    detail = {"customer": {"id": f"c-{number}", "tier": "gold"}, "status": "open", "sent_at": sent_at, "note": ""}
    detail["note"] = "x" * (EVENT_BYTES - ENVELOPE_BYTES - len(json.dumps(detail)))
    return {"EventBusName": bus, "Source": _SOURCE, "DetailType": _TYPE, "Detail": json.dumps(detail)}


def _call(connection: HTTPConnection, service: str, operation: str, members: Mapping[str, object]) -> Document:
    headers = {
        "X-Amz-Target": f"{_ACTIONS[service]}.{operation}", "Content-Type": _TYPES[service],
        "X-Amz-Date": "20261120T000000Z", "Authorization": _SIGNATURE.format(service=service),
    }  # fmt: skip
    connection.request("POST", "/", json.dumps(members), headers)
    answer: Document = json.loads(connection.getresponse().read() or b"{}")
    return answer


def _row(what: str, load: Load, arrived: int, promised: int) -> Row:
    return Row(
        what=what, per_s=arrived / load.seconds, per_core_s=arrived / max(load.server_cpu_s, 1e-9),
        request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99), errors=load.errors,
        note="" if arrived >= promised else f"{arrived:,} of {promised:,} delivered",
    )  # fmt: skip
