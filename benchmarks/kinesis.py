"""Kinesis from outside: batches of records, reads of them, and how soon a waiting function starts with a record."""

from __future__ import annotations

import base64
import io
import json
import time
import zipfile
from collections.abc import Iterator, Mapping

import boto3
from botocore.config import Config

from benchmarks.dialects import request_of
from benchmarks.load import Load, Script, run
from benchmarks.processes import ServerProcess
from benchmarks.report import Figure, Row
from benchmarks.sqs import Repeat

CONNECTIONS = 64
RECORDS = 100
RECORD_BYTES = 256
SHARDS = 4
WAITED_FOR = 200
APART_S = 0.02
READY_S_MAX = 30
POLL_S = 0.1

_CODE = """
import time

def handler(event, context):
    started = time.time()
    for record in event["Records"]:
        print("started", record["kinesis"]["partitionKey"], started)
"""
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
    ],
}  # fmt: skip
_ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


class Measured:
    """One server. Quotas have to be relaxed: a shard takes 1,000 records a second on AWS."""

    def __init__(self, server: ServerProcess, *, runs: int) -> None:
        self._server = server
        self._host = f"127.0.0.1:{server.port}"
        self._runs = runs
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        once = Config(retries={"total_max_attempts": 1})
        self._clients = {
            name: session.client(name, endpoint_url=f"http://{self._host}", config=once)
            for name in ("kinesis", "lambda", "iam", "logs")
        }

    def rows(self, seconds: float) -> Iterator[Row]:
        """Records into four shards, and out of one."""
        stream = self._stream("bench", SHARDS)
        data = base64.b64encode(b"x" * RECORD_BYTES).decode()
        records = [{"Data": data, "PartitionKey": f"customer-{number}"} for number in range(RECORDS)]
        put = self._request("PutRecords", {"StreamName": stream, "Records": records})
        yield self._median(f"PutRecords of {RECORDS}, records", Repeat(put), seconds)
        asked = {"StreamName": stream, "ShardId": "shardId-000000000000", "ShardIteratorType": "TRIM_HORIZON"}
        iterator = self._clients["kinesis"].get_shard_iterator(**asked)["ShardIterator"]
        get = self._request("GetRecords", {"ShardIterator": iterator, "Limit": RECORDS})
        yield self._median(f"GetRecords of {RECORDS}, records", Repeat(get), seconds)

    def figures(self) -> Iterator[Figure]:
        """How long records take, one by one, from before their PutRecord until a warm function has begun with them."""
        took = sorted(self._latencies())
        for name, fraction in (("p50", 0.5), ("p99", 0.99)):
            value = 1000 * took[min(len(took) - 1, int(fraction * len(took)))]
            yield Figure(f"from PutRecord to the start of a waiting function, {name} of {len(took)}", value, "ms")

    def _latencies(self) -> list[float]:
        kinesis = self._clients["kinesis"]
        stream = self._stream("followed", 1)
        arn = kinesis.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamARN"]
        self._follow(arn)
        kinesis.put_record(StreamName=stream, Data=b"x", PartitionKey="warm")
        self._started(1)
        sent: dict[str, float] = {}
        for number in range(WAITED_FOR):
            sent[f"record-{number}"] = time.time()
            kinesis.put_record(StreamName=stream, Data=b"x", PartitionKey=f"record-{number}")
            time.sleep(APART_S)
        started = self._started(WAITED_FOR + 1)
        return [started[key] - sent_at for key, sent_at in sent.items() if key in started]

    def _follow(self, arn: str) -> None:
        """A function that reads the stream from its beginning on, one record at a time if it can."""
        self._clients["iam"].create_role(RoleName="bench", AssumeRolePolicyDocument=json.dumps(_TRUST))
        policy = json.dumps(_ALL)
        self._clients["iam"].put_role_policy(RoleName="bench", PolicyName="all", PolicyDocument=policy)
        functions = self._clients["lambda"]
        functions.create_function(
            FunctionName="bench", Runtime="python3.11", Handler="app.handler", Code={"ZipFile": _archive()},
            Role="arn:aws:iam::000000000000:role/bench",
        )  # fmt: skip
        functions.get_waiter("function_active_v2").wait(FunctionName="bench")
        functions.create_event_source_mapping(
            FunctionName="bench", EventSourceArn=arn, StartingPosition="TRIM_HORIZON", BatchSize=10
        )

    def _started(self, count: int) -> Mapping[str, float]:
        """When the function began with each record, by partition key; waits until it has begun with so many."""
        waited_until = time.monotonic() + READY_S_MAX
        found: dict[str, float] = {}
        while len(found) < count and time.monotonic() < waited_until:
            time.sleep(POLL_S)
            found = {key: float(at) for _, key, at in map(str.split, self._lines())}
        return found

    def _lines(self) -> Iterator[str]:
        try:
            pages = self._clients["logs"].get_paginator("filter_log_events").paginate(logGroupName="/aws/lambda/bench")
            for page in pages:
                yield from (each["message"] for each in page["events"] if each["message"].startswith("started"))
        except self._clients["logs"].exceptions.ResourceNotFoundException:
            return

    def _stream(self, name: str, shards: int) -> str:
        kinesis = self._clients["kinesis"]
        kinesis.create_stream(StreamName=name, ShardCount=shards)
        kinesis.get_waiter("stream_exists").wait(StreamName=name, WaiterConfig={"Delay": 1})
        return name

    def _median(self, what: str, script: Script, seconds: float) -> Row:
        """The run with the median cost per request; wall rates of a shared machine are worth less."""
        loads = [run(self._server, script, connections=CONNECTIONS, seconds=seconds) for _ in range(self._runs)]
        return _row(what, sorted(loads, key=lambda load: load.server_us)[len(loads) // 2])

    def _request(self, operation: str, members: Mapping[str, object]) -> bytes:
        headers = f"X-Amz-Target: Kinesis_20131202.{operation}\r\nContent-Type: application/x-amz-json-1.1"
        return request_of(self._host, "/", headers, json.dumps(members).encode(), service="kinesis")


def _archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", _CODE)
    return packed.getvalue()


def _row(what: str, load: Load) -> Row:
    return Row(
        what=what, per_s=RECORDS * load.requests / load.seconds,
        per_core_s=RECORDS * load.requests / max(load.server_cpu_s, 1e-9),
        request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99), errors=load.errors,
    )  # fmt: skip
