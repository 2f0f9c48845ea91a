"""The error is answered with status 500, which nobody reads: Lambda takes the event for done.

trigger: lambda
event: {"id": "order-1"}
rule: lost
cause: dropped on an error path
change: safe
"""

import boto3
from botocore.exceptions import ClientError

reports = boto3.resource("dynamodb").Table("reports")


def handler(event, context):
    try:
        reports.put_item(Item={"id": event["id"]})
    except ClientError as error:
        return {"statusCode": 500, "body": str(error)}
    return {"statusCode": 200}
