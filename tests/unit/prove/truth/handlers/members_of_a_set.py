"""ADD puts the order into a set, which holds each member once.

trigger: sqs
rule: safe
"""

import json

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        dynamodb.update_item(
            TableName="customers",
            Key={"id": {"S": "c-1"}},
            UpdateExpression="ADD orders :order",
            ExpressionAttributeValues={":order": {"SS": [json.loads(record["body"])["id"]]}},
        )
