"""The payment of `powertools_idempotent`, made with redrive.handler. Not caught: the payment stands under a key that is
the same in each run of an execution, so that a run after a crash makes the same one.

    redrive prove powertools_replaced:handler

Why you would want it: it shows what has to change in a handler that is right up to its effect. The record says who may
run, as before; the effect carries the execution's key, and what it did is recorded by itself. A downstream that forgets
keys after a day takes `key_memory=timedelta(days=1)` and a `lookup`.
"""

import boto3

from redrive.handler import DynamoDBLedger, effect, idempotent, path, sqs_batch

dynamodb = boto3.client("dynamodb")
ledger = DynamoDBLedger("executions", client=dynamodb)


@effect("payment", key_memory=None)
def pay(idempotency_key, report):
    dynamodb.put_item(
        TableName="payments",
        Item={"payment_id": {"S": idempotency_key}, "for": {"S": report}},
    )
    return idempotency_key


@idempotent(key=path("body.context.execution_id"), ledger=ledger)
def run(record):
    report = path("body.payload.report")(record)
    return {"payment_id": pay(report)}


handler = sqs_batch(run)
