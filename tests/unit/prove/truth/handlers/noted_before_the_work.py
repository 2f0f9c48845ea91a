"""The environment notes an order before it is stored: a second attempt in it skips what the first one did not do.

trigger: sqs
rule: lost
cause: memory of the environment
"""

import json

import boto3

orders = boto3.resource("dynamodb").Table("orders")
seen: set[str] = set()


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        if order["id"] in seen:
            continue
        seen.add(order["id"])
        orders.put_item(Item=order)
