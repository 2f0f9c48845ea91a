"""A FIFO queue keeps the order of a group, and the version in the condition refuses an older state.

trigger: sqs
template: fifo.yaml
event: {"id": "order-1", "version": 3}
rule: safe
"""

import json

import boto3
from botocore.exceptions import ClientError

orders = boto3.resource("dynamodb").Table("orders")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        try:
            orders.put_item(
                Item=order,
                ConditionExpression="attribute_not_exists(id) OR version < :version",
                ExpressionAttributeValues={":version": order["version"]},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
