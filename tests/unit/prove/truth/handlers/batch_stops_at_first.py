"""A failure of one message is reported without its identifier, so the whole batch succeeds and that message is lost.

trigger: sqs
messages: [{"id": "order-1"}, {"id": "order-2"}]
rule: lost
cause: dropped on an error path
change: safe
"""

import json

import boto3

reports = boto3.resource("dynamodb").Table("reports")


def handler(event, context):
    for record in event["Records"]:
        try:
            reports.put_item(Item={"id": json.loads(record["body"])["id"]})
        except Exception:
            break
    return {"batchItemFailures": []}
