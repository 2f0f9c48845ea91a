"""The amount is added to a total, and nothing remembers the message: a crash after the update adds it twice.

trigger: sqs
rule: repeated
cause: unrecorded
change: safe
"""

import json

import boto3

totals = boto3.resource("dynamodb").Table("totals")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        totals.update_item(
            Key={"customer": "c-1"},
            UpdateExpression="ADD amount :amount",
            ExpressionAttributeValues={":amount": order["amount"]},
        )
