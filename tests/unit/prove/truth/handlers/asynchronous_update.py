"""An asynchronous invocation sets a state, which is the same when it is set twice.

trigger: lambda
event: {"id": "order-1", "state": "paid"}
rule: safe
"""

import boto3

orders = boto3.resource("dynamodb").Table("orders")


def handler(event, context):
    orders.update_item(
        Key={"id": event["id"]},
        UpdateExpression="SET #state = :state",
        ExpressionAttributeNames={"#state": "state"},
        ExpressionAttributeValues={":state": event["state"]},
    )
