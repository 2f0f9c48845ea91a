"""The safe one: a lease instead of a status, the body's own key, and an effect that carries the key. Not caught.

redrive prove safe:handler

no record, FAILED, or RUNNING past its lease   take it, under a token of this run's own
RUNNING within its lease                       raise: the message stays in its queue and comes back
SUCCESS                                        done before: let the message go
"""

import json
import time

import boto3

dynamodb = boto3.client("dynamodb")


class StillRunning(Exception):
    """Another delivery of this execution is being worked on."""


def handler(event, context):
    failed = []
    for record in event["Records"]:
        try:
            run_once(json.loads(record["body"]), f"{context.aws_request_id}/{record['messageId']}", context)
        except Exception as error:  # noqa: BLE001 - one bad message must not hold up the others.
            print(f"message {record['messageId']} stays in the queue: {error!r}")
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}


def run_once(job, token, context):
    execution_id = job["context"]["execution_id"]
    lease_until = time.time() + context.get_remaining_time_in_millis() / 1000
    if not begin(execution_id, token, lease_until):
        return
    try:
        work(execution_id, job["payload"])
    except Exception:
        end(execution_id, token, "FAILED")
        raise
    end(execution_id, token, "SUCCESS")


def begin(execution_id, token, lease_until):
    """Take the execution; False if it was done before."""
    try:
        dynamodb.update_item(
            TableName="execution-state",
            Key={"execution_id": {"S": execution_id}},
            UpdateExpression="SET #status = :running, #token = :token, lease_until = :lease_until",
            ConditionExpression="attribute_not_exists(execution_id) OR #status = :failed"
            " OR (#status = :running AND lease_until < :now)",
            ExpressionAttributeNames={"#status": "status", "#token": "token"},
            ExpressionAttributeValues={
                ":running": {"S": "RUNNING"},
                ":failed": {"S": "FAILED"},
                ":token": {"S": token},
                ":lease_until": {"N": f"{lease_until:.3f}"},
                ":now": {"N": f"{time.time():.3f}"},
            },
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except dynamodb.exceptions.ConditionalCheckFailedException as refused:
        if refused.response["Item"]["status"]["S"] != "SUCCESS":
            raise StillRunning(execution_id) from None
        return False
    return True


def work(execution_id, payload):
    """The job itself. Its effect stands under the execution's key, so that doing it twice is doing it once."""
    dynamodb.put_item(
        TableName="reports",
        Item={"execution_id": {"S": execution_id}, "report": {"S": payload["report"]}},
    )


def end(execution_id, token, status):
    """Record how this run ended, if it is still this run's to say."""
    try:
        dynamodb.update_item(
            TableName="execution-state",
            Key={"execution_id": {"S": execution_id}},
            UpdateExpression="SET #status = :status REMOVE lease_until",
            ConditionExpression="#token = :token",
            ExpressionAttributeNames={"#status": "status", "#token": "token"},
            ExpressionAttributeValues={":status": {"S": status}, ":token": {"S": token}},
        )
    except dynamodb.exceptions.ConditionalCheckFailedException:
        print(f"execution {execution_id} was taken over by another run")
