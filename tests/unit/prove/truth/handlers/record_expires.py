"""The record expires after a day, and a message can come again after two weeks: it is counted twice.

trigger: sqs
rule: repeated
cause: record expires too early
change: safe
"""

import json
import time

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        expires = int(time.time()) + 24 * 3600
        try:
            dynamodb.transact_write_items(
                TransactItems=[
                    {
                        "Put": {
                            "TableName": "seen",
                            "Item": {"id": {"S": order}, "ttl": {"N": str(expires)}},
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
