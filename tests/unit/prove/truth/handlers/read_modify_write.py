"""The balance is read, increased and written back: a second attempt increases what the first one has written.

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
        account = accounts.get_item(Key={"id": "acc"}).get("Item", {"balance": 0})
        accounts.put_item(Item={"id": "acc", "balance": account["balance"] + order["amount"]})
