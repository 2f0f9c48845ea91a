"""The message is deleted before its work is done: a run that dies between loses the work.

trigger: sqs
rule: lost
cause: message deleted first
change: safe
"""

import json

import boto3

sqs = boto3.client("sqs")
reports = boto3.resource("dynamodb").Table("reports")
QUEUE = "https://sqs.us-east-1.amazonaws.com/000000000000/messages"


def handler(event, context):
    for record in event["Records"]:
        sqs.delete_message(QueueUrl=QUEUE, ReceiptHandle=record["receiptHandle"])
        reports.put_item(Item={"id": json.loads(record["body"])["id"]})
