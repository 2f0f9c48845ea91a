"""A stage with batches of a stream: their records are fetched, and go to a function, a queue and another stream."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from redrive.deadletters.causes import cause_of
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.plan import Action, Canary, Plan, Rule
from redrive.testing.world import World
from tests.unit.deadletters.killing import ACCOUNT, FUNCTION, Stage, make_worker, received

CLICKS, COPIES = (f"arn:aws:kinesis:{ACCOUNT}:stream/{name}" for name in ("clicks", "copies"))
DESTINATIONS = {
    "RetryAttemptsExhausted": Destination(To.FUNCTION, FUNCTION),
    "RecordAgeExceeded": Destination(To.QUEUE, f"arn:aws:sqs:{ACCOUNT}:told"),
    "BatchItemTooOld": Destination(To.STREAM, COPIES),
}
"""Where the batches go, by the condition that ended their retries."""

BATCHES = {
    "run-0": "RetryAttemptsExhausted", "run-1": "RetryAttemptsExhausted", "run-gated": "RetryAttemptsExhausted",
    "queue-0": "RecordAgeExceeded", "queue-1": "RecordAgeExceeded", "copy-0": "BatchItemTooOld",
    "copy-1": "BatchItemTooOld",
}  # fmt: skip
RECORDS = 2
"""How many records a batch has."""


@contextmanager
def batch_stage() -> Iterator[Stage]:
    """Letters of batches whose records the stream still has."""
    world = World(seed=1)
    sqs, kinesis = world.client("sqs"), world.client("kinesis")
    done: list[str] = []
    make_worker(world, lambda event: done.append(names_in(event["Records"])))
    for name in ("clicks", "copies"):
        kinesis.create_stream(StreamName=name, ShardCount=1)
        world.settle()
        kinesis.increase_stream_retention_period(StreamName=name, RetentionPeriodHours=8_000)
    told, dead = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("told", "dead"))
    letters = {}
    for name, condition in BATCHES.items():
        put = [kinesis.put_record(StreamName="clicks", PartitionKey="a", Data=name.encode()) for _ in range(RECORDS)]
        sent = sqs.send_message(QueueUrl=dead, MessageBody=_record(name, condition, put))
        letters[str(sent["MessageId"])] = name
    causes = {condition: cause_of(read_letter({"Body": _record("", condition, put)})) for condition in DESTINATIONS}
    rules = tuple(Rule(cause, Action.REDRIVE, DESTINATIONS[name]) for name, cause in causes.items())

    def delivered() -> Sequence[str]:
        queued = [names_in(json.loads(one["Body"])["Records"]) for one in received(world, told)]
        return [*queued, *_copied(world), *done]

    stage = Stage(world, dead, Plan(dead, rules, canary=Canary(1, 4)), letters, delivered, done, fetches=True)
    stage.save()
    yield stage
    world.close()


def _record(name: str, condition: str, put: Sequence[Any]) -> str:
    """What Lambda writes of a batch; the name stands there for the gate, which looks for it."""
    return json.dumps({
        "requestContext": {
            "requestId": f"r-{name}", "functionArn": FUNCTION, "condition": condition, "approximateInvokeCount": 3
        },
        "responseContext": {"statusCode": 200, "functionError": "Unhandled"}, "version": "1.0",
        "KinesisBatchInfo": {
            "shardId": put[0]["ShardId"], "startSequenceNumber": put[0]["SequenceNumber"],
            "endSequenceNumber": put[-1]["SequenceNumber"], "batchSize": len(put), "streamArn": CLICKS,
            "approximateArrivalOfFirstRecord": "2025-01-01T00:00:00Z",
        },
    })  # fmt: skip


def names_in(records: Sequence[Any]) -> str:
    """The name of a batch whose records came whole; of others how many there are."""
    names = {base64.b64decode(one["kinesis"]["data"]).decode() for one in records}
    return names.pop() if len(names) == 1 and len(records) == RECORDS else f"{len(records)} of {sorted(names)}"


def _copied(world: World) -> Iterator[str]:
    """The names of the batches in the other stream, each as often as all its records are there."""
    kinesis = world.client("kinesis")
    shard = kinesis.list_shards(StreamName="copies")["Shards"][0]["ShardId"]
    at = kinesis.get_shard_iterator(StreamName="copies", ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    found = [one["Data"].decode() for one in kinesis.get_records(ShardIterator=at["ShardIterator"])["Records"]]
    for name in sorted(set(found)):
        whole, rest = divmod(found.count(name), RECORDS)
        yield from [name] * whole
        if rest:
            yield f"{rest} of {name}"
