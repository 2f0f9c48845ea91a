"""redrive.handler records the run and the effect, and the effect carries a key that its downstream never forgets.

trigger: sqs
rule: safe
faults: 1
"""

import boto3

from redrive.handler import DynamoDBLedger, effect, idempotent, path, sqs_batch

dynamodb = boto3.client("dynamodb")


@effect("payment", key_memory=None)
def pay(idempotency_key, amount):
    dynamodb.put_item(TableName="payments", Item={"id": {"S": idempotency_key}, "amount": {"N": str(amount)}})
    return idempotency_key


@idempotent(key=path("body.id"), ledger=DynamoDBLedger("executions", client=dynamodb))
def run(record):
    return {"payment": pay(path("body.amount")(record))}


handler = sqs_batch(run)
