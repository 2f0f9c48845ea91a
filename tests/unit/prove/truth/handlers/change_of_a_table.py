"""A change of a table is noted under its eventID, which stays the same when the change is read again.

trigger: dynamodb
rule: safe
faults: 1
"""

import boto3

audit = boto3.resource("dynamodb").Table("audit")


def handler(event, context):
    for record in event["Records"]:
        audit.put_item(Item={"id": record["eventID"], "what": record["eventName"]})
