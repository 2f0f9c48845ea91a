"""One order in two is audited, by chance: whether there is an audit is no matter of faults, and each is there once.

trigger: sqs
rule: safe
drawn: item in audits
"""

import json
import random

import boto3

orders = boto3.resource("dynamodb").Table("orders")
audits = boto3.resource("dynamodb").Table("audits")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        orders.put_item(Item=order)
        if random.random() < 0.5:
            audits.put_item(Item={"id": order["id"]})
