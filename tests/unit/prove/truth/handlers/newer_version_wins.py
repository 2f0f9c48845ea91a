"""A record of a stream is written under a condition that refuses what is older.

trigger: kinesis
event: [{"name": "lamp", "version": 1, "state": "on"}, {"name": "lamp", "version": 2, "state": "off"}]
rule: safe
faults: 1
"""

import base64
import json

import boto3
from botocore.exceptions import ClientError

lamps = boto3.resource("dynamodb").Table("lamps")


def handler(event, context):
    for record in event["Records"]:
        lamp = json.loads(base64.b64decode(record["kinesis"]["data"]))
        try:
            lamps.put_item(
                Item=lamp,
                ConditionExpression="attribute_not_exists(#name) OR version < :version",
                ExpressionAttributeNames={"#name": "name"},
                ExpressionAttributeValues={":version": lamp["version"]},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
