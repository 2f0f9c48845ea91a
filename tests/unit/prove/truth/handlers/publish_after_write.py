"""The order is written under its key, and then published: a crash after the publish publishes it again.

trigger: sqs
rule: repeated
cause: unrecorded
"""

import json

import boto3

orders = boto3.resource("dynamodb").Table("orders")
sns = boto3.client("sns")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        orders.put_item(Item=order)
        sns.publish(TopicArn="arn:aws:sns:us-east-1:000000000000:placed", Message=order["id"])
