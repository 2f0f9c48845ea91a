"""S3 from outside: small objects, pages of keys, one large object by the SDK, and how soon a queue hears of an object.

Requests are as boto3 sends them to an address without TLS: the hash of the body is signed, and a CRC declared.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

from benchmarks.load import Load, Script, run
from benchmarks.processes import CLIENT_CORE, ServerProcess
from benchmarks.report import Figure, Row
from benchmarks.sqs import Once, Repeat

CONNECTIONS = 64
LIST_CONNECTIONS = 4
KIB = 1024
BODY = b"x" * KIB
KEYS = 10_000
KEYS_MANY = 1_000_000
KEYS_PER_FOLDER = 100
FILL_S_MAX = 900
PIECE_BYTES = 8 * KIB * KIB
LARGE_BYTES = 1 * KIB * KIB * KIB
RSS_POLL_S = 0.02
EVENTS = 200
APART_S = 0.02
PEERS_WITH_BUCKETS = ("ministack", "moto")

_SCOPE = "AWS4-HMAC-SHA256 Credential=test/20261120/us-east-1/s3/aws4_request"
_SIGNED = "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date"


class Requests:
    """The requests of one bucket, as bytes."""

    def __init__(self, host: str, bucket: str, body: bytes = BODY) -> None:
        self._host = host
        self._bucket = bucket
        self._body = body
        crc = base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()
        self._declared = f"x-amz-sdk-checksum-algorithm: CRC32\r\nx-amz-checksum-crc32: {crc}\r\n"
        self._hash = hashlib.sha256(body).hexdigest()
        self._no_hash = hashlib.sha256(b"").hexdigest()

    def put(self, key: str) -> bytes:
        """PutObject."""
        return self._of("PUT", f"/{key}", self._declared, self._hash, self._body)

    def get(self, key: str) -> bytes:
        """GetObject."""
        return self._of("GET", f"/{key}", "x-amz-checksum-mode: ENABLED\r\n", self._no_hash)

    def head(self, key: str) -> bytes:
        """HeadObject."""
        return self._of("HEAD", f"/{key}", "x-amz-checksum-mode: ENABLED\r\n", self._no_hash)

    def delete(self, key: str) -> bytes:
        """DeleteObject."""
        return self._of("DELETE", f"/{key}", "", self._no_hash)

    def page(self, **params: str) -> bytes:
        """ListObjectsV2."""
        given = {
            "list-type": "2",
            "encoding-type": "url",
            **{name.replace("_", "-"): at for name, at in params.items()},
        }
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())
        return self._of("GET", f"?{query}", "", self._no_hash)

    def create(self) -> bytes:
        """CreateBucket."""
        return self._of("PUT", "", "", self._no_hash)

    def _of(self, method: str, rest: str, headers: str, digest: str, body: bytes = b"") -> bytes:
        head = (
            f"{method} /{self._bucket}{rest} HTTP/1.1\r\nHost: {self._host}\r\nAccept-Encoding: identity\r\n"
            f"User-Agent: Boto3\r\n{headers}X-Amz-Date: 20261120T000000Z\r\nX-Amz-Content-SHA256: {digest}\r\n"
            f"Authorization: {_SCOPE}, {_SIGNED}, Signature={'0' * 64}\r\n"
            f"{f'Content-Length: {len(body)}{chr(13)}{chr(10)}' if body or method == 'PUT' else ''}\r\n"
        )
        return head.encode() + body


class Each:
    """A request for each key, until there are no more."""

    def __init__(self, make: Callable[[str], bytes], keys: Iterator[str]) -> None:
        self._make = make
        self._keys = keys
        self.sent = 0

    def next(self, answer: bytes | None) -> bytes | None:
        """The request for the next key."""
        key = next(self._keys, None)
        if key is None:
            return None
        self.sent += 1
        return self._make(key)


class Measured:
    """One server. Each load has keys of its own."""

    def __init__(self, server: ServerProcess, *, runs: int) -> None:
        self._server = server
        self._host = f"127.0.0.1:{server.port}"
        self._runs = runs
        self._buckets = (f"bench-s3-{number}" for number in itertools.count())
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        once = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        self._s3, self._sqs = (
            session.client(name, endpoint_url=f"http://{self._host}", config=once) for name in ("s3", "sqs")
        )

    def rows(self, seconds: float, *, keys: int) -> Iterator[Row]:
        """Objects of 1 KiB: written, read, deleted; then pages of a bucket with so many keys."""
        requests = self._bucket()
        what = "PutObject of 1 KiB, {}, 64 conn."
        yield self._median(what.format("same key"), lambda: Repeat(requests.put("key")), seconds)
        yield self._median("GetObject of 1 KiB, 64 conn.", lambda: Repeat(requests.get("key")), seconds)
        yield self._median("HeadObject, 64 conn.", lambda: Repeat(requests.head("key")), seconds)
        written: list[Each] = []

        def new_keys() -> Each:
            prefix = f"run-{len(written)}/"
            written.append(Each(requests.put, (f"{prefix}{number}" for number in itertools.count())))
            return written[-1]

        yield self._median(what.format("new keys"), new_keys, seconds)
        counts = enumerate([each.sent for each in written])
        deletes = (Each(requests.delete, (f"run-{run}/{n}" for n in range(count))) for run, count in counts)
        yield self._median("DeleteObject, 64 conn.", lambda: next(deletes), seconds)
        yield from self._pages(seconds, keys)

    def figures(self) -> Iterator[Figure]:
        """How soon a consumer that waits at a queue has the notification of an object."""
        took = sorted(self._latencies())
        for name, fraction in (("p50", 0.5), ("p99", 0.99)):
            value = 1000 * took[min(len(took) - 1, int(fraction * len(took)))]
            yield Figure(f"from PutObject to the message at a waiting consumer, {name} of {len(took)}", value, "ms")

    def large(self, folder: Path) -> Iterator[Figure]:
        """1 GiB up and down by boto3's transfer manager, beside a plain write of the same bytes to `folder`."""
        os.sched_setaffinity(0, {CLIENT_CORE})
        bucket = next(self._buckets)
        self._s3.create_bucket(Bucket=bucket)
        with TemporaryDirectory(dir=folder) as place:
            source, copy = Path(place) / "source", Path(place) / "copy"
            plain_s = write_plainly(source)
            yield Figure("1 GiB: plain write and fsync", LARGE_BYTES / plain_s / 1e6, "MB/s")
            config = TransferConfig(multipart_chunksize=PIECE_BYTES, max_concurrency=4)
            before = self._server.rss_mb()
            for name, work in (
                ("up, in parts", lambda: self._s3.upload_file(str(source), bucket, "large", Config=config)),
                ("down, by ranges", lambda: self._s3.download_file(bucket, "large", str(copy), Config=config)),
            ):
                cpu_s, began = self._server.cpu_s(), time.perf_counter()
                rss_mb = self._highest_rss_mb(work)
                took = time.perf_counter() - began
                yield Figure(f"1 GiB {name}", LARGE_BYTES / took / 1e6, "MB/s")
                yield Figure(f"1 GiB {name}: CPU of the server", self._server.cpu_s() - cpu_s, "s")
                yield Figure(f"1 GiB {name}: memory of the server (before: {before:.0f})", rss_mb, "MB")

    def _highest_rss_mb(self, work: Callable[[], object]) -> float:
        """The most memory that the server has while `work` runs."""
        done = threading.Event()
        seen = [self._server.rss_mb()]

        def watch() -> None:
            while not done.wait(RSS_POLL_S):
                seen.append(self._server.rss_mb())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            work()
        finally:
            done.set()
            watcher.join()
        return max(seen)

    def _pages(self, seconds: float, keys: int) -> Iterator[Row]:
        """Pages of 1,000 keys at the beginning and in the middle; then of folders of 100 keys each."""
        requests = self._bucket(b"")
        names = (f"{number // KEYS_PER_FOLDER:05}/{number % KEYS_PER_FOLDER:02}" for number in range(keys))
        filled = run(
            self._server, Each(requests.put, names), connections=CONNECTIONS, seconds=FILL_S_MAX
        ).requests  # fmt: skip
        middle = f"{filled // KEYS_PER_FOLDER // 2:05}/"
        note = "" if filled >= keys else f"only {filled:,}"
        for what, params in (
            ("first page", {}),
            ("middle page", {"start_after": middle}),
            ("first page by folders", {"delimiter": "/", "max_keys": "100"}),
            ("middle page by folders", {"delimiter": "/", "max_keys": "100", "start_after": middle}),
            ("one folder", {"prefix": middle}),
        ):
            page = requests.page(**params)
            row = self._median(
                f"{what} of {keys:,} keys, {LIST_CONNECTIONS} conn.", lambda page=page: Repeat(page), seconds,  # type: ignore[misc]
                connections=LIST_CONNECTIONS,
            )  # fmt: skip
            yield replace(row, note=note)

    def _latencies(self) -> Iterator[float]:
        """Objects one after another, each written while the consumer waits: so nothing waits in the queue."""
        bucket = next(self._buckets)
        url, arn = self._queue(bucket)
        self._s3.create_bucket(Bucket=bucket)
        told = {"QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]}
        self._s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=told)
        received: dict[str, float] = {}
        stopped = threading.Event()
        consumer = threading.Thread(target=self._consume, args=(url, received, stopped))
        consumer.start()
        sent: dict[str, float] = {}
        try:
            for number in range(EVENTS):
                key = f"object-{number}"
                time.sleep(APART_S)
                sent[key] = time.perf_counter()
                self._s3.put_object(Bucket=bucket, Key=key, Body=BODY)
            time.sleep(1)
        finally:
            stopped.set()
            consumer.join()
        for key, at in sent.items():
            if key in received:
                yield received[key] - at

    def _consume(self, url: str, received: dict[str, float], stopped: threading.Event) -> None:
        while not stopped.is_set():
            answer = self._sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1, MaxNumberOfMessages=10)
            at = time.perf_counter()
            for message in answer.get("Messages", ()):
                document = json.loads(message["Body"])
                for record in document.get("Records", ()):
                    received[record["s3"]["object"]["key"]] = at
                self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def _queue(self, name: str) -> tuple[str, str]:
        """A queue that S3 may send to: its URL and its ARN."""
        arn = f"arn:aws:sqs:us-east-1:000000000000:{name}"
        allow = {
            "Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sqs:SendMessage",
            "Resource": "*",
        }  # fmt: skip
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
        url = str(self._sqs.create_queue(QueueName=name, Attributes={"Policy": policy})["QueueUrl"])
        told = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return url, str(told["Attributes"].get("QueueArn", arn))

    def _bucket(self, body: bytes = BODY) -> Requests:
        requests = Requests(self._host, next(self._buckets), body)
        run(self._server, Once(requests.create()), connections=1, seconds=30)
        run(self._server, Once(requests.put("key")), connections=1, seconds=30)
        return requests

    def _median(
        self, what: str, script: Callable[[], Script], seconds: float, *, connections: int = CONNECTIONS
    ) -> Row:  # fmt: skip
        """The run with the median cost per request; wall rates of a shared machine are worth less."""
        loads = [
            run(self._server, script(), connections=connections, seconds=seconds) for _ in range(self._runs)
        ]  # fmt: skip
        return _row(what, sorted(loads, key=lambda load: load.server_us)[len(loads) // 2])


def write_plainly(path: Path) -> float:
    """Write 1 GiB to a file and wait until the disk has it: the seconds that this takes."""
    piece = os.urandom(PIECE_BYTES)
    began = time.perf_counter()
    with path.open("wb") as file:
        for _ in range(LARGE_BYTES // PIECE_BYTES):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return time.perf_counter() - began


def _row(what: str, load: Load) -> Row:
    return Row(
        what=what, per_s=load.requests / load.seconds, per_core_s=load.requests / max(load.server_cpu_s, 1e-9),
        request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99), errors=load.errors,
    )  # fmt: skip
