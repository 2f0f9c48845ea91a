"""A line is appended to an object by reading and writing it: a second attempt appends the line again.

trigger: sqs
rule: changed
cause: read, modify, write
"""

import json

import boto3

s3 = boto3.client("s3")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        try:
            text = s3.get_object(Bucket="journals", Key="today.txt")["Body"].read().decode()
        except s3.exceptions.NoSuchKey:
            text = "orders:\n"
        s3.put_object(Bucket="journals", Key="today.txt", Body=f"{text}{order['id']}\n".encode())
