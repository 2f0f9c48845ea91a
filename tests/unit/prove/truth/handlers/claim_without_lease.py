"""The first run claims the order and may die; the next one finds the claim, returns, and the order is never shipped.

trigger: sqs
rule: lost
cause: claim without a lease
"""

import json

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        try:
            dynamodb.put_item(
                TableName="claims",
                Item={"id": {"S": order}},
                ConditionExpression="attribute_not_exists(id)",
            )
        except dynamodb.exceptions.ConditionalCheckFailedException:
            continue
        dynamodb.put_item(TableName="shipments", Item={"order": {"S": order}})
