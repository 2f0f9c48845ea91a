"""Taking many sensors' readings from a stream at a time, each sensor's in order.

Why you would want it: a stream's batch holds records of many partition keys, and to wait for each of them in turn takes
the sum of all the waits. An async function runs as many keys at a time as you say, and never two records of one. What
failed and all after it come again; what was done before is not done again.

Needs: EXECUTIONS_TABLE; a mapping of a Kinesis stream with ReportBatchItemFailures.
"""

import base64
import json
import os

from redrive.handler import DynamoDBLedger, KinesisRecord, idempotent, kinesis_batch, retry, stream_sequence

ledger = DynamoDBLedger(os.environ["EXECUTIONS_TABLE"])
latest: dict[str, float] = {}


@retry()
async def store(sensor: str, degrees: float) -> None:
    """Where a client of a database would be awaited."""
    latest[sensor] = degrees


@idempotent(key=stream_sequence(), ledger=ledger)
async def run(record: KinesisRecord) -> None:
    reading = json.loads(base64.b64decode(record["kinesis"]["data"]))
    await store(reading["sensor"], reading["degrees"])


handler = kinesis_batch(run, concurrency=20)
