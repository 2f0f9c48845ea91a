"""Each attempt stores the invoice under a new random id.

trigger: sqs
rule: repeated
cause: random key
change: safe
"""

import json
from uuid import uuid4

import boto3

invoices = boto3.resource("dynamodb").Table("invoices")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        invoices.put_item(Item={"id": str(uuid4()), "order": order["id"], "amount": order["amount"]})
