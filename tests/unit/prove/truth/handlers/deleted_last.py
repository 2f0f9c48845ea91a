"""The handler deletes its message itself, after the work is done.

trigger: sqs
rule: safe
"""

import json

import boto3

sqs = boto3.client("sqs")
reports = boto3.resource("dynamodb").Table("reports")
QUEUE = "https://sqs.us-east-1.amazonaws.com/000000000000/messages"


def handler(event, context):
    for record in event["Records"]:
        reports.put_item(Item={"id": json.loads(record["body"])["id"]})
        sqs.delete_message(QueueUrl=QUEUE, ReceiptHandle=record["receiptHandle"])
