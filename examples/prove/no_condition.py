"""Writes RUNNING without a condition. Caught: two deliveries of one execution both believe that it is theirs.

redrive prove no_condition:handler
"""

import json

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, _context):
    for record in event["Records"]:
        job = json.loads(record["body"])
        execution_id = job["context"]["execution_id"]
        record_status(execution_id, "RUNNING")
        work(job["payload"])
        record_status(execution_id, "SUCCESS")
    return {"statusCode": 200}


def record_status(execution_id, status):
    dynamodb.put_item(
        TableName="execution-state",
        Item={"execution_id": {"S": execution_id}, "status": {"S": status}},
    )


def work(payload):
    """Count the report. Counting adds up: done twice, it is wrong."""
    dynamodb.update_item(
        TableName="totals",
        Key={"report": {"S": payload["report"]}},
        UpdateExpression="ADD written :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )
