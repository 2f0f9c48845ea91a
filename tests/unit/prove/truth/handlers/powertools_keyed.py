"""Under Powertools' idempotency the report is written under the order's key, so a run that dies does no harm.

trigger: sqs
rule: safe
faults: 1
"""

import json

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

reports = boto3.resource("dynamodb").Table("reports")
layer = DynamoDBPersistenceLayer(table_name="idempotency")
config = IdempotencyConfig(event_key_jmespath="id", expires_after_seconds=30 * 86_400)


@idempotent_function(data_keyword_argument="order", persistence_store=layer, config=config)
def write(order):
    reports.put_item(Item={"id": order["id"]})
    return {"written": order["id"]}


def handler(event, context):
    config.register_lambda_context(context)
    for record in event["Records"]:
        write(order=json.loads(record["body"]))
