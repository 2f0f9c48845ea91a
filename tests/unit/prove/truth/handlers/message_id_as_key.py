"""The record stands under the message id, and a duplicate has another one: the order is counted twice.

trigger: sqs
rule: repeated
cause: key of the delivery
change: safe
"""

import json

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        try:
            dynamodb.transact_write_items(
                TransactItems=[
                    {
                        "Put": {
                            "TableName": "seen",
                            "Item": {"id": {"S": record["messageId"]}, "order": {"S": order["id"]}},
                            "ConditionExpression": "attribute_not_exists(id)",
                        }
                    },
                    {
                        "Update": {
                            "TableName": "totals",
                            "Key": {"day": {"S": "monday"}},
                            "UpdateExpression": "ADD orders :one",
                            "ExpressionAttributeValues": {":one": {"N": "1"}},
                        }
                    },
                ]
            )
        except dynamodb.exceptions.TransactionCanceledException as error:
            if error.response["CancellationReasons"][0]["Code"] != "ConditionalCheckFailed":
                raise
