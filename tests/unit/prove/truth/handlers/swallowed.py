"""Any error is printed and forgotten: a throttled write is lost with its message.

trigger: sqs
rule: lost
cause: dropped on an error path
change: safe
"""

import json

import boto3

reports = boto3.resource("dynamodb").Table("reports")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        try:
            reports.put_item(Item={"id": order["id"], "amount": order["amount"]})
        except Exception as error:
            print(f"could not write: {error}")
    return {"statusCode": 200}
