"""The account remembers the orders that it has, and its version refuses a write that has not seen them.

trigger: sqs
rule: safe
"""

import json

import boto3

accounts = boto3.resource("dynamodb").Table("accounts")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        account = accounts.get_item(Key={"id": "acc"}, ConsistentRead=True).get("Item")
        account = account or {"id": "acc", "balance": 0, "version": 0, "applied": []}
        if order["id"] in account["applied"]:
            continue
        accounts.put_item(
            Item={
                "id": "acc",
                "balance": account["balance"] + order["amount"],
                "version": account["version"] + 1,
                "applied": [*account["applied"], order["id"]],
            },
            ConditionExpression="attribute_not_exists(id) OR version = :known",
            ExpressionAttributeValues={":known": account["version"]},
        )
