"""The amount is added to one of four shards, by chance; whichever it is, a second attempt adds again.

trigger: sqs
rule: repeated
cause: unrecorded
"""

import json
import random

import boto3

totals = boto3.resource("dynamodb").Table("totals")


def handler(event, context):
    for record in event["Records"]:
        totals.update_item(
            Key={"shard": f"shard-{random.randrange(4)}"},
            UpdateExpression="ADD amount :amount",
            ExpressionAttributeValues={":amount": json.loads(record["body"])["amount"]},
        )
