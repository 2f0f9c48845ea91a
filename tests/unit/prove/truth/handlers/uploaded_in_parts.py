"""The threads of boto3's transfers upload two parts under the order's key: a second attempt uploads the same.

trigger: sqs
faults: 1
rule: safe
"""

import io
import json

import boto3
from boto3.s3.transfer import TransferConfig

PART = 5 * 1024 * 1024
bucket = boto3.resource("s3").Bucket("labels")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        file = io.BytesIO(order["id"].encode().ljust(PART + 1))
        bucket.upload_fileobj(file, order["id"], Config=TransferConfig(PART, multipart_chunksize=PART))
