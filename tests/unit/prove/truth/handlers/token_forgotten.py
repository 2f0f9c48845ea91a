"""DynamoDB knows a ClientRequestToken for 10 minutes; a message that comes after an hour adds the amount again.

trigger: sqs
rule: repeated
cause: token forgotten
"""

import json

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        dynamodb.transact_write_items(
            ClientRequestToken=order["id"],
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
