"""BatchWriteItem may leave items out and say so in its answer, which nobody reads.

trigger: sqs
rule: lost
cause: unprocessed entries
change: safe
"""

import json

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        lines = [{"PutRequest": {"Item": {"id": {"S": f"{order}-{line}"}}}} for line in (1, 2, 3)]
        dynamodb.batch_write_item(RequestItems={"lines": lines})
