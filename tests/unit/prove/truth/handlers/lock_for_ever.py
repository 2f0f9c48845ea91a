"""A lock without an end is deleted last: a run that dies holds it for ever, and each later one is refused.

trigger: sqs
rule: stuck
cause: claim without a lease
"""

import json

import boto3

locks = boto3.resource("dynamodb").Table("locks")
reports = boto3.resource("dynamodb").Table("reports")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        locks.put_item(Item={"id": order}, ConditionExpression="attribute_not_exists(id)")
        reports.put_item(Item={"id": order, "text": "ready"})
        locks.delete_item(Key={"id": order})
