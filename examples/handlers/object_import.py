"""Importing each uploaded object once, many at a time, although S3 may announce it twice and in any order.

Why you would want it: S3 delivers its events at least once. The key `bucket#key#sequencer` names one write of one
object: the same write announced twice is imported once, and a new upload under the same name is imported again. Async
work runs side by side; only the messages that failed come back.

Needs: EXECUTIONS_TABLE; a mapping with ReportBatchItemFailures of a queue that gets the bucket's events.
"""

import asyncio
import json
import os

from redrive.handler import DynamoDBLedger, SqsRecord, idempotent, s3_object, sqs_batch

ledger = DynamoDBLedger(os.environ["EXECUTIONS_TABLE"])
imported: list[str] = []


async def import_object(bucket: str, key: str) -> int:
    await asyncio.sleep(0)  # Stands for reading the object and loading its rows.
    imported.append(f"{bucket}/{key}")
    return len(key)


@idempotent(key=s3_object(), ledger=ledger, prefix="import#")
async def run(record: SqsRecord) -> dict[str, int]:
    detail = json.loads(record["body"])["detail"]
    return {"rows": await import_object(detail["bucket"]["name"], detail["object"]["key"])}


handler = sqs_batch(run, concurrency=20)
