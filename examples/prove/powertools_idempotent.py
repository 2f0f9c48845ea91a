"""A payment made with AWS Lambda Powertools' idempotency. Caught: a run that dies after the payment and before its
result is saved has it made again.

    redrive prove powertools_idempotent:handler

Why you would want it: Powertools keeps duplicates out, and says itself what it leaves to you. When a run crashes or
times out between its effect and the end, its record stays INPROGRESS until the invocation's time is over; then the next
delivery runs the function from its beginning, and pays again. `powertools_replaced` is the same handler with an effect
that knows whether it happened.

Source: https://docs.aws.amazon.com/powertools/python/latest/utilities/idempotency/
"""

import json
import uuid

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

dynamodb = boto3.client("dynamodb")
records = DynamoDBPersistenceLayer("idempotency", boto3_client=dynamodb)
config = IdempotencyConfig(event_key_jmespath="context.execution_id", expires_after_seconds=30 * 86_400)


def handler(event, context):
    config.register_lambda_context(context)  # Without it an INPROGRESS record would stay for 30 days.
    for record in event["Records"]:
        pay(job=json.loads(record["body"]))


@idempotent_function(data_keyword_argument="job", config=config, persistence_store=records)
def pay(job):
    payment_id = str(uuid.uuid4())
    dynamodb.put_item(
        TableName="payments",
        Item={"payment_id": {"S": payment_id}, "for": {"S": job["payload"]["report"]}},
    )
    return {"payment_id": payment_id}
