"""What a run gathers in a list of the module is still there for the next one, which counts it again.

trigger: sqs
rule: repeated
cause: memory of the environment
"""

import json

import boto3

invoices = boto3.resource("dynamodb").Table("invoices")
lines: list[int] = []


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        lines.append(order["amount"])
        invoices.put_item(Item={"id": order["id"], "total": sum(lines)})
    lines.clear()
