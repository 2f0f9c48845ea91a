"""The note says at which attempt it was written, so that a second attempt leaves another note.

trigger: sqs
rule: changed
cause: differs from attempt to attempt
"""

import json

import boto3

notes = boto3.resource("dynamodb").Table("notes")


def handler(event, context):
    for record in event["Records"]:
        count = record["attributes"]["ApproximateReceiveCount"]
        how = "at once" if count == "1" else f"after {count} attempts"
        notes.put_item(Item={"id": json.loads(record["body"])["id"], "text": f"done {how}"})
        notes.put_item(Item={"id": "latest", "order": json.loads(record["body"])["id"]})
