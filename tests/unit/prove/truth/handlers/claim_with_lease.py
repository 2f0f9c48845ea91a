"""RUNNING is a lease that ends with its run, a run that finds it fails, and the report stands under its key.

trigger: sqs
rule: safe
"""

import json
import time

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        if not begin(order, context):
            continue
        dynamodb.put_item(TableName="reports", Item={"id": {"S": order}})
        dynamodb.update_item(
            TableName="runs",
            Key={"id": {"S": order}},
            UpdateExpression="SET progress = :done REMOVE lease_until",
            ExpressionAttributeValues={":done": {"S": "DONE"}},
        )


def begin(order, context):
    now = time.time()
    until = now + context.get_remaining_time_in_millis() / 1000
    try:
        dynamodb.put_item(
            TableName="runs",
            Item={"id": {"S": order}, "progress": {"S": "RUNNING"}, "lease_until": {"N": f"{until:.3f}"}},
            ConditionExpression="attribute_not_exists(id) OR lease_until < :now",
            ExpressionAttributeValues={":now": {"N": f"{now:.3f}"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except dynamodb.exceptions.ConditionalCheckFailedException as error:
        if error.response["Item"]["progress"]["S"] == "RUNNING":
            raise
        return False
    return True
