"""Takes the message id for the key of the execution. Caught: a redriven message, or a duplicate, has another one.

redrive prove message_id_as_key:handler
"""

import json
import time

import boto3

dynamodb = boto3.client("dynamodb")


def handler(event, context):
    for record in event["Records"]:
        job = json.loads(record["body"])
        lease_until = time.time() + context.get_remaining_time_in_millis() / 1000
        if begin(record["messageId"], lease_until):
            work(record["messageId"], job["payload"])
            finish(record["messageId"])
    return {"statusCode": 200}


def work(key, payload):
    """Write the report, under the key: doing it twice is doing it once, as long as the key is the same."""
    dynamodb.put_item(TableName="reports", Item={"message_id": {"S": key}, "report": {"S": payload["report"]}})


class StillRunning(Exception):
    """Another delivery of this execution is being worked on."""


def begin(key, lease_until):
    """Claim the execution, or take it over when the lease of a run that died has ended; False if it is done."""
    try:
        dynamodb.put_item(
            TableName="execution-state",
            Item={"message_id": {"S": key}, "status": {"S": "RUNNING"}, "lease_until": {"N": f"{lease_until:.3f}"}},
            ConditionExpression="attribute_not_exists(message_id) OR (#status = :running AND lease_until < :now)",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":running": {"S": "RUNNING"}, ":now": {"N": f"{time.time():.3f}"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except dynamodb.exceptions.ConditionalCheckFailedException as refused:
        if refused.response["Item"]["status"]["S"] != "SUCCESS":
            raise StillRunning(key) from None
        return False
    return True


def finish(key):
    dynamodb.update_item(
        TableName="execution-state",
        Key={"message_id": {"S": key}},
        UpdateExpression="SET #status = :success",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":success": {"S": "SUCCESS"}},
    )
