"""What failed is named under `batchItemFailure`, which Lambda does not know: it deletes the message.

trigger: sqs
rule: lost
cause: misspelt response
change: safe
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
    return {"batchItemFailure": failed}
