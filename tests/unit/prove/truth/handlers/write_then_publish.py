"""A refused write is taken for work that is done, and so a run that dies between write and publish never publishes.

trigger: sqs
rule: lost
cause: claim without a lease
"""

import json

import boto3
from botocore.exceptions import ClientError

orders = boto3.resource("dynamodb").Table("orders")
sns = boto3.client("sns")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        try:
            orders.put_item(Item=order, ConditionExpression="attribute_not_exists(id)")
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                continue
            raise
        sns.publish(TopicArn="arn:aws:sns:us-east-1:000000000000:placed", Message=order["id"])
