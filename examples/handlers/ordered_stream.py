"""Following a stream in order, and going on exactly where it failed.

Why you would want it: without a partial answer a stream's whole batch comes again, and what was done is done twice.
This handler names the record that failed, so that Lambda goes on from there, and each record is keyed by its event
id, so that those after it which were done already are not done again.

Needs: EXECUTIONS_TABLE; a mapping of a DynamoDB stream with ReportBatchItemFailures.
"""

import os

from redrive.handler import DynamoDBLedger, DynamoDBRecord, dynamodb_batch, idempotent, stream_sequence

ledger = DynamoDBLedger(os.environ["EXECUTIONS_TABLE"])
index: dict[str, str] = {}


@idempotent(key=stream_sequence(), ledger=ledger)
def run(record: DynamoDBRecord) -> None:
    change = record["dynamodb"]
    item = str(change["Keys"]["id"]["S"])
    if record["eventName"] == "REMOVE":
        index.pop(item, None)
    else:
        index[item] = str(change["NewImage"]["title"]["S"])


handler = dynamodb_batch(run)
