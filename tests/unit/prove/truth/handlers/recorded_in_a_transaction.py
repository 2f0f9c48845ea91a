"""The amount and the record of the order are written in one transaction, and a refused record means that it is done.

trigger: sqs
rule: safe
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
                            "Item": {"id": {"S": order["id"]}},
                            "ConditionExpression": "attribute_not_exists(id)",
                        }
                    },
                    {
                        "Update": {
                            "TableName": "totals",
                            "Key": {"customer": {"S": "c-1"}},
                            "UpdateExpression": "ADD amount :amount",
                            "ExpressionAttributeValues": {":amount": {"N": str(order["amount"])}},
                        }
                    },
                ]
            )
        except dynamodb.exceptions.TransactionCanceledException as error:
            if error.response["CancellationReasons"][0]["Code"] != "ConditionalCheckFailed":
                raise
