"""The environment notes an order when it is stored: it saves a write, and another environment stores the same again.

trigger: sqs
rule: safe
"""

import json

import boto3

orders = boto3.resource("dynamodb").Table("orders")
seen: set[str] = set()


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        if order["id"] not in seen:
            orders.put_item(Item=order)
            seen.add(order["id"])
