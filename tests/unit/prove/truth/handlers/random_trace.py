"""Each attempt draws another trace, and the work stands under its key whatever was drawn.

trigger: sqs
rule: safe
"""

import json
import random

import boto3

reports = boto3.resource("dynamodb").Table("reports")


def handler(event, context):
    for record in event["Records"]:
        trace = random.randrange(10**9)
        reports.put_item(Item={"id": json.loads(record["body"])["id"], "trace": trace})
