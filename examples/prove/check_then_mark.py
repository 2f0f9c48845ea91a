"""Looks whether an execution was done, works, and marks it as done afterwards. Caught: a run that dies between the work
and the mark has it done again, and two deliveries at once both find nothing.

    redrive prove check_then_mark:handler
"""

import json
import time

import boto3

table = boto3.resource("dynamodb").Table("processed")
sqs = boto3.client("sqs")
KEEP_S = 7 * 86_400


def handler(event, _context):
    for record in event["Records"]:
        job = json.loads(record["body"])
        execution_id = job["context"]["execution_id"]
        if is_done(execution_id):
            continue
        work(job)
        mark_done(execution_id)
    return {"statusCode": 200}


def is_done(execution_id):
    return "Item" in table.get_item(Key={"execution_id": execution_id})


def work(job):
    sqs.send_message(
        QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/mails",
        MessageBody=json.dumps({"report": job["payload"]["report"]}),
    )


def mark_done(execution_id):
    table.put_item(Item={"execution_id": execution_id, "status": "completed", "ttl": int(time.time()) + KEEP_S})
