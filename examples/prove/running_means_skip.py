"""Takes RUNNING for "somebody is at it" and lets the message go. Caught: the work of a run that dies is lost.

redrive prove running_means_skip:handler
"""

import json

import boto3
from botocore.exceptions import ClientError

dynamodb = boto3.client("dynamodb")


def handler(event, _context):
    for record in event["Records"]:
        job = json.loads(record["body"])
        execution_id = job["context"]["execution_id"]
        if not begin(execution_id):
            continue
        work(execution_id, job["payload"])
        finish(execution_id)
    return {"statusCode": 200}


def begin(execution_id):
    """Claim the execution; False if there is nothing to do."""
    try:
        dynamodb.put_item(
            TableName="execution-state",
            Item={
                "execution_id": {"S": execution_id},
                "status": {"S": "RUNNING"},
            },
            ConditionExpression="attribute_not_exists(execution_id)",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return False  # Done before, or running elsewhere: let it go.
    return True


def work(execution_id, payload):
    dynamodb.put_item(
        TableName="reports",
        Item={"execution_id": {"S": execution_id}, "report": {"S": payload["report"]}},
    )


def finish(execution_id):
    dynamodb.update_item(
        TableName="execution-state",
        Key={"execution_id": {"S": execution_id}},
        UpdateExpression="SET #status = :success",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":success": {"S": "SUCCESS"}},
    )
