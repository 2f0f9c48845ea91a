"""Keeping the order of each account in a FIFO queue, also when a movement fails, and booking each one once.

Why you would want it: if a withdrawal fails and the one after it is booked, the order that the queue kept is lost. This
handler stops an account at its first failure and hands back what comes after it; other accounts go on. The balance and
the note that it is done are one transaction, so that no crash can come between them.

Needs: EXECUTIONS_TABLE, BALANCES_TABLE; a mapping of a FIFO queue with ReportBatchItemFailures.
"""

import json
import os

import boto3

from redrive.handler import DynamoDBLedger, SqsRecord, current_execution, idempotent, path, sqs_batch

dynamodb = boto3.client("dynamodb")
ledger = DynamoDBLedger(os.environ["EXECUTIONS_TABLE"], client=dynamodb)
BALANCES_TABLE = os.environ["BALANCES_TABLE"]


@idempotent(key=path("body.movement"), ledger=ledger)
def run(record: SqsRecord) -> None:
    movement = json.loads(record["body"])
    booking = {
        "TableName": BALANCES_TABLE,
        "Key": {"account": {"S": movement["account"]}},
        "UpdateExpression": "ADD cents :cents",
        "ConditionExpression": "cents >= :needed",
        "ExpressionAttributeValues": {
            ":cents": {"N": str(movement["cents"])},
            ":needed": {"N": str(max(0, -movement["cents"]))},
        },
    }
    done = ledger.finish_item(current_execution().token, None)
    dynamodb.transact_write_items(TransactItems=[{"Update": booking}, done])


handler = sqs_batch(run)
