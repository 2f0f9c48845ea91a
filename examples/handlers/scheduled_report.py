"""A scheduled report that is written once for each execution, however often its message is delivered or redriven.

Why you would want it: EventBridge Scheduler puts its execution id into the message, and the id stays the same when
the message is delivered twice, comes back after a crash, or is redriven from the dead-letter queue next week. With the
id as key what is done is not done again, what failed runs again, and what was killed on the way is not lost.

Needs: EXECUTIONS_TABLE, a table keyed by `execution_id`; a mapping with ReportBatchItemFailures; a schedule with
`"context": {"execution_id": "<aws.scheduler.execution-id>"}` in its input.
"""

import json
import os

import boto3

from redrive.handler import DynamoDBLedger, SqsRecord, current_execution, idempotent, scheduler_context, sqs_batch

dynamodb = boto3.client("dynamodb")
ledger = DynamoDBLedger(os.environ["EXECUTIONS_TABLE"], client=dynamodb)


@idempotent(key=scheduler_context(), ledger=ledger)
def run(record: SqsRecord) -> dict[str, str]:
    work = json.loads(record["body"])
    report = work["payload"]["report"]
    # The write carries the execution id, so that a run after a crash writes the same row.
    dynamodb.put_item(
        TableName=os.environ["REPORTS_TABLE"],
        Item={"execution_id": {"S": current_execution().key}, "report": {"S": report}},
    )
    return {"report": report}


handler = sqs_batch(run)
