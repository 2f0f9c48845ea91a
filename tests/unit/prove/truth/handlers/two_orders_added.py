"""The table itself adds each order, under the condition that it is not booked yet: two at once are both added.

trigger: sqs
concurrent: 2
faults: 1
rule: safe
"""

import json

import boto3
from botocore.exceptions import ClientError

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        try:
            dynamodb.update_item(
                TableName="accounts",
                Key={"account": {"S": "acc"}},
                UpdateExpression="ADD balance :amount, booked :ids",
                ConditionExpression="NOT contains(booked, :id)",
                ExpressionAttributeValues={
                    ":amount": {"N": str(order["amount"])},
                    ":ids": {"SS": [order["id"]]},
                    ":id": {"S": order["id"]},
                },
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
