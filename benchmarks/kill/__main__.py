"""The command: `python -m benchmarks.kill [--seconds 600]`. Exit code 1 if anything that was answered is not true."""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import tempfile
import threading
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import boto3
import psycopg
from botocore.client import BaseClient
from botocore.config import Config

from benchmarks.kill import checks
from benchmarks.kill.client import Done, Nodes
from benchmarks.kill.cluster import Node, Weather, nodes_on
from benchmarks.kill.load import ORDERED_VISIBILITY_S, VISIBILITY_S, Load
from benchmarks.kill.memory import Memory
from benchmarks.report import machine
from benchmarks.travel import ROLE, TRUST
from redrive.core.documents import Document
from scripts.postgresql import serving

SETTLE_S_MAX = 120
QUEUES = {
    "orders": VISIBILITY_S, "ordered.fifo": ORDERED_VISIBILITY_S, "ticks": VISIBILITY_S, "work": VISIBILITY_S,
    "dead": VISIBILITY_S, "moved": VISIBILITY_S,
}  # fmt: skip
RECEIVED = ("orders", "ordered.fifo", "ticks", "moved")
FUNCTION = """
import http.client, json, os
from urllib.parse import urlsplit

HEADERS = {
    "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.PutItem",
    "X-Amz-Date": "20261120T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=test/20261120/us-east-1/dynamodb/aws4_request, "
                     "SignedHeaders=content-type;host;x-amz-date, Signature=" + "0" * 64,
}

def handler(event, context):
    connection = http.client.HTTPConnection(urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc, timeout=10)
    for record in event["Records"]:
        item = {"id": {"S": record["body"]}, "message": {"S": record["messageId"]}}
        connection.request("POST", "/", json.dumps({"TableName": "done", "Item": item}), HEADERS)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"PutItem was answered by {answer.status}")
"""


def main() -> None:
    """Serve, load, kill, settle, check."""
    arguments = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="redrive-kill-"))
    print(f"{machine()}\nlogs: {folder}", flush=True)
    with serving(durable=True) as database:
        url = database.url
        with nodes_on(("--store", url), arguments.nodes, folder) as nodes:
            wait_for(nodes)
            load = _prepared(nodes)
            weather = Weather(
                nodes, None if arguments.no_restart else database,
                seconds=arguments.seconds, every_s=arguments.every, seed=arguments.seed,
            )  # fmt: skip
            over = threading.Event()
            receivers = load.start(load.receivers, over)
            senders = load.start(load.senders, load.over)
            weather.run()
            load.over.set()
            join(senders)
            wrong = [*_unsettled(load, url)]
            over.set()
            join(receivers)
            _show(load, weather)
            wrong += [*_wrong(load), *weather.ended_alone, *load.defects]
            wrong += [f"{node.log}: SIGTERM ended it with {code}" for node in nodes if (code := node.stop())]
            wrong += said(nodes)
    tell(wrong)


def tell(wrong: Sequence[str]) -> None:
    """Print what is wrong, one of each kind, and end with exit code 1 if anything is."""
    print(f"\n{len(wrong)} things are wrong" if wrong else "\nnothing is wrong")
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for line in wrong:
        kinds[re.sub(r"[\d.]+", "N", line)].append(line)
    for lines in kinds.values():
        print(f"  {lines[0]}" + (f"\n    and {len(lines) - 1} of this kind" if lines[1:] else ""))
    sys.exit(bool(wrong))


def _prepared(nodes: Sequence[Node]) -> Load:
    """Queues, tables, the function and its mapping, and the schedules that recur."""
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    config = Config(retries={"total_max_attempts": 1})

    def client(service: str, node: int = 0) -> BaseClient:
        return session.client(service, endpoint_url=f"http://127.0.0.1:{nodes[node].port}", config=config)

    iam, sqs, dynamodb, functions = (client(name) for name in ("iam", "sqs", "dynamodb", "lambda"))
    trust = json.loads(json.dumps(TRUST))
    trust["Statement"][0]["Principal"]["Service"] = ["scheduler.amazonaws.com", "lambda.amazonaws.com"]
    may = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": ["sqs:*", "dynamodb:*"], "Resource": "*"}],
    }
    iam.create_role(RoleName="bench", AssumeRolePolicyDocument=json.dumps(trust))
    iam.put_role_policy(RoleName="bench", PolicyName="may", PolicyDocument=json.dumps(may))
    urls: dict[str, str] = {}
    arns: dict[str, str] = {}
    for name, visibility_s in QUEUES.items():
        attributes = {"VisibilityTimeout": str(visibility_s)} | ({"FifoQueue": "true"} if "." in name else {})
        urls[name] = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        arns[name] = f"arn:aws:sqs:us-east-1:000000000000:{name}"
    redrive = json.dumps({"deadLetterTargetArn": arns["dead"], "maxReceiveCount": 1000})
    sqs.set_queue_attributes(QueueUrl=urls["moved"], Attributes={"RedrivePolicy": redrive})
    for table in ("kept", "done"):
        dynamodb.create_table(
            TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )  # fmt: skip
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", FUNCTION)
    functions.create_function(
        FunctionName="worker", Role=ROLE, Handler="index.handler", Timeout=8,
        Runtime=f"python3.{sys.version_info.minor}", Code={"ZipFile": code.getvalue()},
    )  # fmt: skip
    functions.create_event_source_mapping(EventSourceArn=arns["work"], FunctionName="worker", BatchSize=10)
    load = Load(Nodes([node.port for node in nodes]), Memory(), urls, arns)
    for number in range(3):
        client("scheduler", number % len(nodes)).create_schedule(
            Name=f"each-minute-{number}", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": arns["ticks"], "RoleArn": ROLE,
                    "Input": f"each-minute-{number} <aws.scheduler.scheduled-time>"},
        )  # fmt: skip
    return load


def _unsettled(load: Load, url: str) -> Iterator[str]:
    """Wait until all queues are empty and nothing is under way; what is not, when the time is over."""
    began = time.monotonic()
    left: list[str] = []
    said: list[str] = []
    while time.monotonic() < began + SETTLE_S_MAX:
        load.start_move()
        left = [f"{name} still has {count} messages" for name in QUEUES if (count := _depth(load, name))]
        is_due = max(load.memory.due_ms.values(), default=0) > 1000 * time.time()
        with psycopg.connect(url, autocommit=True) as connection:
            row = connection.execute("SELECT count(*) FROM deliveries").fetchone()
        assert row is not None
        if row[0]:
            left.append(f"{row[0]} deliveries are not settled")
        if not left and not is_due:
            print(f"settled after {time.monotonic() - began:.0f} s")
            return
        if said != left:
            print(f"after {time.monotonic() - began:.0f} s: {', '.join(left)}")
            said = left
        time.sleep(1)
    yield from left


def _depth(load: Load, queue: str) -> int:
    members = {"QueueUrl": load.urls[queue], "AttributeNames": ["All"]}
    outcome = load.nodes.aws("AmazonSQS.GetQueueAttributes", members)
    if not isinstance(outcome, Done):
        return 1
    names = ("", "NotVisible", "Delayed")
    return sum(int(outcome.document["Attributes"][f"ApproximateNumberOfMessages{name}"]) for name in names)


def _wrong(load: Load) -> Iterator[str]:
    memory = load.memory
    done, kept = _items(load, "done"), _items(load, "kept")
    yield from checks.lost(memory, "orders", checks.bodies(memory, "orders"))
    yield from checks.lost(memory, "ordered.fifo", checks.bodies(memory, "ordered.fifo"))
    yield from checks.lost(memory, "ticks", checks.bodies(memory, "ticks"))
    yield from checks.lost(memory, "work", set(done))
    memory.sent["moved"] = memory.sent["dead"]
    yield from checks.lost(memory, "moved", checks.bodies(memory, "moved"))
    for queue in RECEIVED:
        yield from checks.twice(memory, queue)
        yield from checks.returned(memory, queue)
        yield from checks.visible_too_early(memory, queue, QUEUES[queue])
    yield from checks.disorder(memory, "ordered.fifo")
    yield from checks.early(memory, "ticks")
    values = {name: int(item["n"]["N"]) for name, item in kept.items() if "n" in item}
    yield from checks.miscounted(memory, values)
    winners = {name: item["winner"]["S"] for name, item in kept.items() if "winner" in item}
    yield from checks.ill_won(memory, winners)


def _items(load: Load, table: str) -> dict[str, Document]:
    found: dict[str, Document] = {}
    asked: dict[str, object] = {"TableName": table, "ConsistentRead": True}
    while True:
        outcome = load.nodes.aws("DynamoDB_20120810.Scan", asked)
        if not isinstance(outcome, Done):
            raise RuntimeError(f"the table {table} cannot be read: {outcome}")
        found |= {item["id"]["S"]: item for item in outcome.document["Items"]}
        if "LastEvaluatedKey" not in outcome.document:
            return found
        asked["ExclusiveStartKey"] = outcome.document["LastEvaluatedKey"]


def _show(load: Load, weather: Weather) -> None:
    memory = load.memory
    print(f"{weather.kills} nodes killed, {weather.restarts} restarts of the database")
    for name, sent in memory.sent.items():
        received = len(memory.received[name]) if name in RECEIVED else "-"
        print(f"{name:14}{len(sent):8,} acknowledged, {memory.in_doubt[name]} in doubt, {received} received")
    counted = sum(memory.counted.values())
    doubt = sum(memory.in_doubt[name] for name in memory.counted)
    print(f"{'increments':14}{counted:8,} acknowledged, {doubt} in doubt")
    print(f"{'races':14}{len(memory.puts):8,}")
    lags = checks.lag_ms(memory, "ticks")
    if lags:
        print(f"schedules: late by {lags[len(lags) // 2]} ms (median), {lags[-1]} ms (worst), of {len(lags)}")
    print("answers:")
    for outcome, count in sorted(load.nodes.outcomes.items()):
        print(f"  {count:8,} {outcome}")


def said(nodes: Sequence[Node]) -> Iterator[str]:
    """A line of a node's log that tells of a broken promise."""
    for node in nodes:
        for line in node.log.read_text(errors="replace").splitlines():
            is_doubt = "was lost during a commit" in line  # The database crashed; the client was told so by a 500.
            if "Traceback" in line or (" error " in line and not is_doubt):
                yield f"{node.log.name}: {line[:300]}"


def wait_for(nodes: Sequence[Node]) -> None:
    """Wait until all nodes answer. Errors: RuntimeError."""
    for node in nodes:
        deadline = time.monotonic() + 60
        while not isinstance(Nodes([node.port]).aws("AmazonSQS.ListQueues", {}), Done):
            if time.monotonic() > deadline or not node.is_up:
                raise RuntimeError(f"a node did not start: {node.log.read_text()}")
            time.sleep(0.1)


def join(threads: Sequence[threading.Thread]) -> None:
    """Wait until all threads have ended."""
    for thread in threads:
        thread.join(60)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill", description=__doc__)
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes share the store")
    parser.add_argument("--seconds", type=float, default=600, help="how long there is weather")
    parser.add_argument("--every", type=float, default=10, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=1, help="decides which nodes are killed")
    parser.add_argument("--no-restart", action="store_true", help="leave the database alone")
    return parser.parse_args()


if __name__ == "__main__":
    main()
