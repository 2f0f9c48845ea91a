"""A pump is `idle` for a moment and then `running`, as the message says: the word is the work.

trigger: sqs
event: {"id": "pump-1", "state": "running"}
rule: safe
"""

import json

import boto3

pumps = boto3.resource("dynamodb").Table("pumps")


def handler(event, context):
    for record in event["Records"]:
        pump = json.loads(record["body"])
        pumps.put_item(Item={"id": pump["id"], "state": "idle"})
        pumps.put_item(Item={"id": pump["id"], "state": pump["state"]})
