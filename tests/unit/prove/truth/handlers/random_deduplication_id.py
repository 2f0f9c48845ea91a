"""Each attempt sends under a new deduplication id, so the FIFO queue cannot know its message again.

trigger: sqs
rule: repeated
cause: random key
change: better
"""

import json
import uuid

import boto3

sqs = boto3.client("sqs")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        sqs.send_message(
            QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/mails.fifo",
            MessageBody=order["id"],
            MessageGroupId="orders",
            MessageDeduplicationId=str(uuid.uuid4()),
        )
