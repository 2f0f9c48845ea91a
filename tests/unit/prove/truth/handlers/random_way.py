"""By chance one order in two is mailed as well, without a key: only some draws show that a crash mails it twice.

trigger: sqs
rule: repeated
cause: unrecorded
drawn: message to mails
"""

import json
import random

import boto3

orders = boto3.resource("dynamodb").Table("orders")
sqs = boto3.client("sqs")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        orders.put_item(Item=order)
        if random.random() > 0.5:
            sqs.send_message(QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/mails", MessageBody=order["id"])
