"""The last record wins, and records that come again overwrite newer ones.

trigger: kinesis
event: [{"name": "lamp", "version": 1, "state": "on"}, {"name": "lamp", "version": 2, "state": "off"}]
rule: changed
cause: older over newer
change: safe
"""

import base64
import json

import boto3

lamps = boto3.resource("dynamodb").Table("lamps")


def handler(event, context):
    for record in event["Records"]:
        lamp = json.loads(base64.b64decode(record["kinesis"]["data"]))
        lamps.put_item(Item=lamp)
