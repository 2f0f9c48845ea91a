"""Two functions share an order's table; the one that places it sets what is always the same.

trigger: sqs
rule: safe
"""

import json

import boto3

orders = boto3.resource("dynamodb").Table("orders")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        orders.update_item(
            Key={"id": order["id"]},
            UpdateExpression="SET amount = :amount",
            ExpressionAttributeValues={":amount": order["amount"]},
        )
