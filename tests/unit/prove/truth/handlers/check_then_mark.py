"""It looks for its mark, mails, and marks then: a crash before the mark mails twice.

trigger: sqs
rule: repeated
cause: marked after the effect
"""

import json

import boto3

marks = boto3.resource("dynamodb").Table("marks")
sqs = boto3.client("sqs")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        if "Item" in marks.get_item(Key={"order": order["id"]}, ConsistentRead=True):
            continue
        sqs.send_message(QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/mails", MessageBody=order["id"])
        marks.put_item(Item={"order": order["id"]})
