"""running_means_skip.py, mended in a few lines: RUNNING is a lease, and ends with the run that took it. Not caught.

redrive prove running_is_a_lease:handler
"""

import json
import time

import boto3
from botocore.exceptions import ClientError

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        job = json.loads(record["body"])
        execution_id = job["context"]["execution_id"]
        if not begin(execution_id, context):
            continue
        work(execution_id, job["payload"])
        finish(execution_id)
    return {"statusCode": 200}


def begin(execution_id, context):
    """Claim the execution; False if there is nothing to do."""
    now = time.time()
    lease_until = now + context.get_remaining_time_in_millis() / 1000
    try:
        dynamodb.put_item(
            TableName="execution-state",
            Item={
                "execution_id": {"S": execution_id},
                "status": {"S": "RUNNING"},
                "lease_until": {"N": f"{lease_until:.3f}"},
            },
            ConditionExpression="attribute_not_exists(execution_id) OR lease_until < :now",
            ExpressionAttributeValues={":now": {"N": f"{now:.3f}"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        if error.response["Item"]["status"]["S"] == "RUNNING":
            raise  # That run may have died: let the message come back.
        return False
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
        UpdateExpression="SET #status = :success REMOVE lease_until",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":success": {"S": "SUCCESS"}},
    )
