"""Powertools' record says who runs, and not that the payment was made: a run that dies after it pays again.

trigger: sqs
rule: repeated
cause: effect is not remembered
"""

import json

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

sns = boto3.client("sns")
layer = DynamoDBPersistenceLayer(table_name="idempotency")
config = IdempotencyConfig(event_key_jmespath="id", expires_after_seconds=30 * 86_400)


@idempotent_function(data_keyword_argument="order", persistence_store=layer, config=config)
def pay(order):
    sns.publish(TopicArn="arn:aws:sns:us-east-1:000000000000:payments", Message=order["id"])
    return {"paid": order["id"]}


def handler(event, context):
    config.register_lambda_context(context)
    for record in event["Records"]:
        pay(order=json.loads(record["body"]))
