"""Each message of a batch is done on its own, and those that fail are named.

trigger: sqs
messages: [{"id": "order-1"}, {"id": "order-2"}]
rule: safe
faults: 1
"""

import json

import boto3

reports = boto3.resource("dynamodb").Table("reports")


def handler(event, context):
    failed = []
    for record in event["Records"]:
        try:
            reports.put_item(Item={"id": json.loads(record["body"])["id"]})
        except Exception:
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
