"""Order and outbox row are written together; the row is sent before it says so, and a crash between sends it twice.

trigger: sqs
rule: repeated
cause: marked after the effect
"""

import json

import boto3
from botocore.exceptions import ClientError

dynamodb = boto3.client("dynamodb")
sns = boto3.client("sns")
TOPIC = "arn:aws:sns:us-east-1:000000000000:orders"


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        accept(order)
        row = dynamodb.get_item(TableName="outbox", Key={"id": {"S": order}}, ConsistentRead=True)["Item"]
        if "sent" not in row:
            sns.publish(TopicArn=TOPIC, Message=row["text"]["S"])
            dynamodb.update_item(
                TableName="outbox",
                Key={"id": {"S": order}},
                UpdateExpression="SET sent = :yes",
                ExpressionAttributeValues={":yes": {"BOOL": True}},
            )


def accept(order):
    row = {"id": {"S": order}, "text": {"S": f"{order} was placed"}}
    new = "attribute_not_exists(id)"
    try:
        dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": "orders", "Item": {"id": {"S": order}}, "ConditionExpression": new}},
                {"Put": {"TableName": "outbox", "Item": row, "ConditionExpression": new}},
            ]
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "TransactionCanceledException":
            raise
        if any(reason["Code"] not in {"ConditionalCheckFailed", "None"} for reason in reasons_of(error)):
            raise


def reasons_of(error):
    return error.response["CancellationReasons"]
