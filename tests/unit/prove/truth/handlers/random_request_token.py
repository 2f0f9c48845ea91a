"""The transaction's token is drawn anew in each attempt, so DynamoDB adds the amount again.

trigger: sqs
rule: repeated
cause: random key
change: better
"""

import json
import uuid

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        dynamodb.transact_write_items(
            ClientRequestToken=str(uuid.uuid4()),
            TransactItems=[
                {
                    "Update": {
                        "TableName": "totals",
                        "Key": {"customer": {"S": "c-1"}},
                        "UpdateExpression": "ADD amount :amount",
                        "ExpressionAttributeValues": {":amount": {"N": str(order["amount"])}},
                    }
                }
            ],
        )
