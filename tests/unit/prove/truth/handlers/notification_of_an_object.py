"""A row for each object that was put, under bucket and key, with the same contents however often S3 tells.

trigger: s3
rule: safe
"""

from urllib.parse import unquote_plus

import boto3

files = boto3.resource("dynamodb").Table("files")


def handler(event, context):
    for record in event["Records"]:
        bucket, thing = record["s3"]["bucket"]["name"], record["s3"]["object"]
        files.put_item(Item={"id": f"{bucket}/{unquote_plus(thing['key'])}", "size": thing["size"]})
