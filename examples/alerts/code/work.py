"""The work that the alarms watch: a job on a schedule, and files that arrive.

The item `crash` of the table `switches` breaks the job, so that it can be seen how that is told. On AWS the package
needs `redrive` in a requirements.txt; a server of redrive has the library.
"""

from __future__ import annotations

import json
import os
import time
from datetime import datetime

import boto3

from redrive.handler import (
    DynamoDBLedger,
    Metrics,
    SqsRecord,
    current_execution,
    idempotent,
    scheduler_context,
    sqs_batch,
)  # fmt: skip

dynamodb = boto3.client("dynamodb")


@idempotent(key=scheduler_context(), ledger=DynamoDBLedger("executions"))
def work(record: SqsRecord) -> None:
    report = json.loads(record["body"])["payload"]["report"]
    item = {"execution_id": {"S": current_execution().key}, "report": {"S": report}}
    dynamodb.put_item(TableName="reports", Item=item)
    if switched_off("crash"):
        os._exit(1)  # The report is written, and the ledger does not know: the execution stays RUNNING.


run_job = sqs_batch(work)


def switched_off(name: str) -> bool:
    """Whether a switch was on; it is off afterwards."""
    answer = dynamodb.delete_item(TableName="switches", Key={"name": {"S": name}}, ReturnValues="ALL_OLD")
    return "Attributes" in answer


def import_file(event, _context):
    """Measure how long after its event a file is imported, with the dimensions that the article names."""
    detail = event["detail"]
    happened = datetime.fromisoformat(event["time"]).timestamp()
    metrics = Metrics("S3EventProcessing", {"BucketName": detail["bucket"]["name"], "EventType": detail["reason"]})
    metrics.add("ProcessingLatency", (time.time() - happened) * 1000, "Milliseconds")
    metrics.write()
