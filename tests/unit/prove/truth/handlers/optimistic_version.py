"""The version stops two runs at a time, and not the same message twice: a crash after the write adds again.

trigger: sqs
rule: repeated
cause: read, modify, write
change: safe
"""

import json

import boto3

accounts = boto3.resource("dynamodb").Table("accounts")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        account = accounts.get_item(Key={"id": "acc"}).get("Item", {"balance": 0, "version": 0})
        accounts.put_item(
            Item={"id": "acc", "balance": account["balance"] + order["amount"], "version": account["version"] + 1},
            ConditionExpression="attribute_not_exists(id) OR version = :known",
            ExpressionAttributeValues={":known": account["version"]},
        )
