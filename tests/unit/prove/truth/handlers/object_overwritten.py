"""The object's key and body follow from the message alone, so that writing it twice leaves the same object.

trigger: sqs
rule: safe
"""

import json

import boto3

s3 = boto3.client("s3")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        s3.put_object(Bucket="orders", Key=f"{order['id']}.json", Body=record["body"].encode())
