"""SNS from outside: messages of a topic that go to queues, to those of them that a filter policy lets in, and to HTTP.

A load ends when all its messages are in the queues, so its CPU contains the deliveries. Other servers take part by the
same requests; what one of them does not deliver is said beside its figure.
"""

from __future__ import annotations

import itertools
import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlencode, urlsplit

import boto3
from botocore.config import Config

from benchmarks.dialects import request_of
from benchmarks.load import Load, Script, run
from benchmarks.processes import ServerProcess
from benchmarks.report import Row
from benchmarks.sqs import BODY, Repeat

FANS = (1, 10, 100)
FILTERED = 100
BATCH = 10
CONNECTIONS = 16
UNDER_WAY_MAX = 1_600
"""How many deliveries are asked for at a time: what is under way at the end of a load is not counted."""

HTTP_CONNECTIONS = 4
DELIVERED_S_MAX = 60
IDLE_S_MAX = 5
POLL_S = 0.05
CONFIRMED_S_MAX = 20
PEERS_WITH_TOPICS = ("ministack", "moto")

_VERSION = "2010-03-31"


class Measured:
    """One server. Each load has a topic and queues of its own."""

    def __init__(self, server: ServerProcess, *, runs: int) -> None:
        self._server = server
        self._host = f"127.0.0.1:{server.port}"
        self._runs = runs
        self._names = (f"bench-sns-{number}" for number in itertools.count())
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        once = Config(retries={"total_max_attempts": 1}, read_timeout=DELIVERED_S_MAX)
        self._sns, self._sqs = (
            session.client(name, endpoint_url=f"http://{self._host}", config=once) for name in ("sns", "sqs")
        )

    def rows(self, seconds: float, *, http: bool) -> Iterator[Row]:
        """Single messages and batches to 1, 10 and 100 queues, with and without envelopes; filters; HTTP."""
        for fan, (raw, how) in itertools.product(FANS, ((False, "envelopes"), (True, "raw"))):
            topic, urls = self._topic([{"RawMessageDelivery": str(raw).lower()}] * fan)
            queues = f"{fan} queue{'s' * (fan > 1)}"
            yield self._median(f"Publish to {queues}, {how}", urls, self._publish(topic), seconds, each=fan)
            what = f"PublishBatch of 10 to {queues}, {how}"
            yield self._median(what, urls, self._batch(topic), seconds, each=BATCH * fan)
        filters = [{"FilterPolicy": json.dumps({"n": [str(n)]}), "RawMessageDelivery": "true"} for n in range(FILTERED)]
        topic, urls = self._topic(filters)
        what = f"Publish, {FILTERED} filter policies, one lets the message in"
        yield self._median(what, urls[:1], self._publish(topic), seconds, each=1)
        if http:
            yield self._http(seconds)

    def _http(self, seconds: float) -> Row:
        """To one HTTP endpoint. The endpoint runs in this process, so only the server's CPU is a measurement."""
        topic = str(self._sns.create_topic(Name=next(self._names))["TopicArn"])
        with endpoint() as (url, heard):
            self._sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url)
            self._confirm(topic, heard)
            before, cpu_s, began = heard.count, self._server.cpu_s(), time.perf_counter()
            load = run(self._server, Repeat(self._publish(topic)), connections=HTTP_CONNECTIONS, seconds=seconds)
            arrived = self._until(lambda: heard.count - before, load.requests)
        load.seconds, load.server_cpu_s = time.perf_counter() - began, self._server.cpu_s() - cpu_s
        return _row("Publish to an HTTP endpoint", load, min(arrived, load.requests), load.requests)

    def _confirm(self, topic: str, heard: Heard) -> None:
        until = time.perf_counter() + CONFIRMED_S_MAX
        while time.perf_counter() < until and not heard.token:
            time.sleep(POLL_S)
        self._sns.confirm_subscription(TopicArn=topic, Token=heard.token)

    def _median(self, what: str, urls: Sequence[str], request: bytes, seconds: float, *, each: int) -> Row:
        """The run with the median cost per message; wall rates of a shared machine are worth less."""
        rows = [self._row(what, urls, Repeat(request), seconds, each=each) for _ in range(self._runs)]
        return sorted(rows, key=lambda row: row.per_core_s)[len(rows) // 2]

    def _row(self, what: str, urls: Sequence[str], script: Script, seconds: float, *, each: int) -> Row:
        # Every queue gets as many messages as every other one, so the last one tells when all have them.
        url = urls[-1]
        before, cpu_s, began = self._waiting(url), self._server.cpu_s(), time.perf_counter()
        connections = min(CONNECTIONS, UNDER_WAY_MAX // each)
        load = run(self._server, script, connections=connections, seconds=seconds)
        promised = each * load.requests
        arrived = len(urls) * self._until(lambda: self._waiting(url) - before, promised // len(urls))
        load.seconds, load.server_cpu_s = time.perf_counter() - began, self._server.cpu_s() - cpu_s
        # Requests under way at the end of the load are delivered, too, and are not counted.
        return _row(what, load, min(arrived, promised), promised)

    def _until(self, count: Callable[[], int], promised: int) -> int:
        """Wait until so many messages have come, or until no more come; returns their number."""
        arrived, moved_at, began = count(), time.perf_counter(), time.perf_counter()
        while arrived < promised and time.perf_counter() < min(moved_at + IDLE_S_MAX, began + DELIVERED_S_MAX):
            time.sleep(POLL_S)
            present = count()
            moved_at = time.perf_counter() if present != arrived else moved_at
            arrived = present
        return arrived

    def _waiting(self, url: str) -> int:
        told = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        return int(told["Attributes"]["ApproximateNumberOfMessages"])

    def _topic(self, subscriptions: Sequence[Mapping[str, str]]) -> tuple[str, list[str]]:
        """A topic with a queue for each subscription's attributes; the queues' URLs."""
        topic = str(self._sns.create_topic(Name=next(self._names))["TopicArn"])
        urls: list[str] = []
        for attributes in subscriptions:
            name = next(self._names)
            arn = f"{topic.rpartition(':')[0].replace(':sns:', ':sqs:')}:{name}"
            allow = {
                "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
                "Resource": arn,
            }  # fmt: skip
            policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
            urls.append(str(self._sqs.create_queue(QueueName=name, Attributes={"Policy": policy})["QueueUrl"]))
            self._sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=dict(attributes))
        # The first message makes the store's key and compiles the filter policies.
        self._sns.publish(TopicArn=topic, Message=BODY)
        return topic, urls

    def _publish(self, topic: str) -> bytes:
        attribute = {"Name": "n", "Value.DataType": "String", "Value.StringValue": "0"}
        given = {f"MessageAttributes.entry.1.{name}": value for name, value in attribute.items()}
        return self._request({"Action": "Publish", "TopicArn": topic, "Message": BODY, **given})

    def _batch(self, topic: str) -> bytes:
        entries = {
            f"PublishBatchRequestEntries.member.{number}.{name}": value
            for number in range(1, BATCH + 1)
            for name, value in (("Id", str(number)), ("Message", BODY))
        }
        return self._request({"Action": "PublishBatch", "TopicArn": topic, **entries})

    def _request(self, members: Mapping[str, str]) -> bytes:
        content = urlencode({**members, "Version": _VERSION}).encode()
        return request_of(
            self._host, "/", "Content-Type: application/x-www-form-urlencoded; charset=utf-8", content, service="sns"
        )


class Heard:
    """What an endpoint has got."""

    def __init__(self) -> None:
        self.count = 0
        self.token = ""


@contextmanager
def endpoint() -> Iterator[tuple[str, Heard]]:
    """An HTTP endpoint in a thread of this process: its URL, and what it has got."""
    heard = Heard()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("x-amz-sns-message-type") == "SubscriptionConfirmation":
                heard.token = parse_qs(urlsplit(json.loads(body)["SubscribeURL"]).query)["Token"][0]
            else:
                heard.count += 1
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", heard
        server.shutdown()


def _row(what: str, load: Load, arrived: int, promised: int) -> Row:
    return Row(
        what=what, per_s=arrived / load.seconds, per_core_s=arrived / max(load.server_cpu_s, 1e-9),
        request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99), errors=load.errors,
        note="" if arrived >= promised else f"{arrived:,} of {promised:,} delivered",
    )  # fmt: skip
