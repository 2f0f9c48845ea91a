"""Two functions share an order's table; the one that bills it counts the bill each time.

trigger: sqs
rule: repeated
cause: unrecorded
change: safe
"""

import json

import boto3

orders = boto3.resource("dynamodb").Table("orders")


def handler(event, context):
    for record in event["Records"]:
        orders.update_item(
            Key={"id": json.loads(record["body"])["id"]},
            UpdateExpression="SET bills = if_not_exists(bills, :none) + :one",
            ExpressionAttributeValues={":none": 0, ":one": 1},
        )
