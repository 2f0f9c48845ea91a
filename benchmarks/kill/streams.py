"""The command: `python -m benchmarks.kill.streams [--postgresql]`. Streams and indexes while nodes are killed.

Functions write what they do into files of this machine, which no killed server takes back.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import sys
import tempfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import boto3
from botocore.config import Config

from benchmarks.kill import stream_checks as checks
from benchmarks.kill.__main__ import join, said, tell, wait_for
from benchmarks.kill.client import Nodes
from benchmarks.kill.cluster import Node, Weather, nodes_on
from benchmarks.kill.stream_load import BY_OWNER, DYNAMODB, ITEMS, KINESIS, RIVER, STREAMS, StreamLoad
from benchmarks.report import machine
from benchmarks.travel import ROLE, TRUST
from redrive.core.documents import Document
from scripts.postgresql import serving

SETTLE_S_MAX = 150
SPILL = "spill"
POISON_EVERY = 60
PLAIN, ISOLATES, COPIES = "plain", "isolates", "copies"
FUNCTION = """
import base64, json, os

def number_of(record):
    if "kinesis" in record:
        told = json.loads(base64.b64decode(record["kinesis"]["data"]))
        return told["key"], told["n"]
    change = record["dynamodb"]
    is_gone = record["eventName"] == "REMOVE"
    image = change["OldImage" if is_gone else "NewImage"]
    return image["id"]["S"], (-1 if is_gone else 1) * int(image["n"]["N"])

def handler(event, context):
    written = os.open(os.environ["DONE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    every = int(os.environ["POISON_EVERY"])
    try:
        for record in event["Records"]:
            key, number = number_of(record)
            if every and number % every == every - 1:
                raise RuntimeError(f"{key} {number} is poison")
            os.write(written, f"{key} {number}\\n".encode())
    finally:
        os.close(written)
"""
History = Mapping[str, Sequence[int]]


def main() -> None:
    """Serve, load, kill, settle, check."""
    arguments = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="redrive-kill-"))
    print(f"{machine()}\nlogs: {folder}", flush=True)
    with _nodes(arguments, folder) as nodes:
        wait_for(nodes)
        load = StreamLoad(Nodes([node.port for node in nodes]), arguments.seed)
        _prepare(nodes[0], folder)
        weather = Weather(nodes, None, seconds=arguments.seconds, every_s=arguments.every, seed=arguments.seed)
        clients = load.start()
        weather.run()
        load.over.set()
        join(clients)
        wrong = [*_unsettled(load, folder), *_wrong(load, folder), *weather.ended_alone, *load.defects]
        print(f"{weather.kills} nodes killed, {load.resharded} splits and merges")
        wrong += [f"{node.log}: SIGTERM ended it with {code}" for node in nodes if (code := node.stop())]
        wrong += said(nodes)
    tell(wrong)


@contextmanager
def _nodes(arguments: argparse.Namespace, folder: Path) -> Iterator[list[Node]]:
    """One node on SQLite, or several on PostgreSQL."""
    if not arguments.postgresql:
        with nodes_on(("--data", str(folder / "data")), 1, folder) as nodes:
            yield nodes
        return
    with serving(durable=True) as database, nodes_on(("--store", database.url), arguments.nodes, folder) as nodes:
        yield nodes


def _prepare(node: Node, folder: Path) -> None:
    """The stream, the table, the functions and their mappings."""
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    config = Config(retries={"total_max_attempts": 1})
    iam, sqs, kinesis, dynamodb, functions = (
        session.client(name, endpoint_url=f"http://127.0.0.1:{node.port}", config=config)
        for name in ("iam", "sqs", "kinesis", "dynamodb", "lambda")
    )
    trust = json.loads(json.dumps(TRUST))
    trust["Statement"][0]["Principal"]["Service"] = "lambda.amazonaws.com"
    may = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.create_role(RoleName="bench", AssumeRolePolicyDocument=json.dumps(trust))
    iam.put_role_policy(RoleName="bench", PolicyName="may", PolicyDocument=json.dumps(may))
    sqs.create_queue(QueueName=SPILL)
    kinesis.create_stream(StreamName=RIVER, ShardCount=3)
    river_arn = kinesis.describe_stream_summary(StreamName=RIVER)["StreamDescriptionSummary"]["StreamARN"]
    made = dynamodb.create_table(
        TableName=ITEMS, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "owner")],
        GlobalSecondaryIndexes=[
            {"IndexName": BY_OWNER, "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
             "Projection": {"ProjectionType": "ALL"}}
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )  # fmt: skip
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", FUNCTION)
    spilled = {"OnFailure": {"Destination": f"arn:aws:sqs:us-east-1:000000000000:{SPILL}"}}
    isolating = {"BisectBatchOnFunctionError": True, "MaximumRetryAttempts": 1, "DestinationConfig": spilled}
    sources: Mapping[str, tuple[str, Document]] = {
        PLAIN: (river_arn, {"ParallelizationFactor": 3}),
        ISOLATES: (river_arn, {"ParallelizationFactor": 2, **isolating}),
        COPIES: (made["TableDescription"]["LatestStreamArn"], {}),
    }
    for name, (arn, settings) in sources.items():
        variables = {"DONE": str(folder / name), "POISON_EVERY": str(POISON_EVERY if name == ISOLATES else 0)}
        functions.create_function(
            FunctionName=name, Role=ROLE, Handler="index.handler", Timeout=8, Environment={"Variables": variables},
            Runtime=f"python3.{sys.version_info.minor}", Code={"ZipFile": code.getvalue()},
        )  # fmt: skip
        functions.create_event_source_mapping(
            EventSourceArn=arn, FunctionName=name, StartingPosition="TRIM_HORIZON", BatchSize=20, **settings
        )


def _unsettled(load: StreamLoad, folder: Path) -> Iterator[str]:
    """Wait until the functions have had all records; what they have not had, when the time is over."""
    began = time.monotonic()
    written = {PLAIN: load.records, ISOLATES: load.records, COPIES: load.changes}
    while True:
        left = {}
        for name, history in written.items():
            done = _done(folder, name)
            left[name] = sum(
                number not in set(done[key]) and not _is_poison(name, number)
                for key, numbers in history.items() for number in numbers
            )  # fmt: skip
        if not any(left.values()):
            print(f"settled after {time.monotonic() - began:.0f} s")
            time.sleep(15)  # The last poison record is given up after its retries.
            return
        if time.monotonic() > began + SETTLE_S_MAX:
            yield from (f"{name} lacks {count} records" for name, count in left.items() if count)
            return
        time.sleep(2)


def _wrong(load: StreamLoad, folder: Path) -> Iterator[str]:
    names: dict[str, tuple[str, int]] = {}
    river, changes = _river(load, names), _changes(load)
    yield from checks.contents(RIVER, load.records, river)
    yield from checks.contents(ITEMS, load.changes, changes)
    yield from checks.exactly(ITEMS, changes)
    given_up = _given_up(load, names)
    poison = {key: {number for number in given if _is_poison(ISOLATES, number)} for key, given in given_up.items()}
    for name, history, left_out in (
        (PLAIN, load.records, {}), (ISOLATES, load.records, given_up), (COPIES, load.changes, {}),
    ):  # fmt: skip
        done = _done(folder, name)
        yield from checks.in_order(name, history, done, left_out)
        known, first = sum(map(len, history.values())), sum(len(set(numbers)) for numbers in done.values())
        again = sum(map(len, done.values())) - first
        print(f"{name:10}{known:8,} acknowledged, {first:,} done, {again:,} of them again")
    others = sum(map(len, given_up.values())) - sum(map(len, poison.values()))
    print(f"given up: {sum(map(len, poison.values()))} poison records, {others} others")
    print(f"in doubt: {dict(load.doubts)}")
    items = {one["id"]["S"]: one for one in load.all_of(f"{DYNAMODB}.Scan", "Items", {"TableName": ITEMS})}
    asked = {"TableName": ITEMS, "IndexName": BY_OWNER}
    entries = {one["id"]["S"]: one for one in load.all_of(f"{DYNAMODB}.Scan", "Items", asked)}
    yield from checks.table(load.items, items)
    yield from checks.index(BY_OWNER, "owner", items, entries)


def _is_poison(function: str, number: int) -> bool:
    return function == ISOLATES and number % POISON_EVERY == POISON_EVERY - 1


def _done(folder: Path, name: str) -> defaultdict[str, list[int]]:
    """What a function did, by key, in its order."""
    done: defaultdict[str, list[int]] = defaultdict(list)
    path = folder / name
    for line in path.read_text().splitlines() if path.exists() else ():
        key, number = line.split()
        done[key].append(int(number))
    return done


def _river(load: StreamLoad, names: dict[str, tuple[str, int]]) -> History:
    """The stream of Kinesis by key. `names` gets the record of each sequence number."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for shard in load.done(f"{KINESIS}.ListShards", {"StreamName": RIVER})["Shards"]:
        asked = {"StreamName": RIVER, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        for record in _records(load, KINESIS, asked):
            told = json.loads(base64.b64decode(record["Data"]))
            found[told["key"]].append(told["n"])
            names[record["SequenceNumber"]] = (told["key"], told["n"])
    return found


def _changes(load: StreamLoad) -> History:
    """The stream of the table by item; a deletion is the negative number of what it deleted."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    arn = load.done(f"{DYNAMODB}.DescribeTable", {"TableName": ITEMS})["Table"]["LatestStreamArn"]
    for shard in load.done(f"{STREAMS}.DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
        asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        for record in _records(load, STREAMS, asked):
            change, sign = record["dynamodb"], -1 if record["eventName"] == "REMOVE" else 1
            image = change["OldImage" if sign < 0 else "NewImage"]
            found[image["id"]["S"]].append(sign * int(image["n"]["N"]))
    return found


def _records(load: StreamLoad, family: str, asked: Document) -> Iterator[Document]:
    """The records of a shard, up to its end or to where nothing follows now."""
    iterator = load.done(f"{family}.GetShardIterator", asked)["ShardIterator"]
    while iterator is not None:
        page = load.done(f"{family}.GetRecords", {"ShardIterator": iterator})
        yield from page["Records"]
        iterator = page.get("NextShardIterator") if page["Records"] else None


def _given_up(load: StreamLoad, names: Mapping[str, tuple[str, int]]) -> dict[str, set[int]]:
    """The records in the failure records. A batch that is isolated has one record."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    url = load.done("AmazonSQS.GetQueueUrl", {"QueueName": SPILL})["QueueUrl"]
    asked = {"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 600}
    while messages := load.done("AmazonSQS.ReceiveMessage", asked).get("Messages"):
        for message in messages:
            told = json.loads(message["Body"])["KinesisBatchInfo"]
            assert told["batchSize"] == 1, "a batch that is split to its end has one record"
            key, number = names[told["startSequenceNumber"]]
            found[key].add(number)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill.streams", description=__doc__)
    parser.add_argument("--postgresql", action="store_true", help="several nodes on a PostgreSQL; otherwise SQLite")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes share the PostgreSQL")
    parser.add_argument("--seconds", type=float, default=150, help="how long there is weather")
    parser.add_argument("--every", type=float, default=5, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=1, help="decides which nodes are killed, and which shards split")
    return parser.parse_args()


if __name__ == "__main__":
    main()
