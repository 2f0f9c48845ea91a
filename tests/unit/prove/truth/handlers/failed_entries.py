"""SendMessageBatch may refuse entries in an answer that is a success; the refused mail is never sent.

trigger: sqs
rule: lost
cause: unprocessed entries
change: better
"""

import json

import boto3

sqs = boto3.client("sqs")
QUEUE = "https://sqs.us-east-1.amazonaws.com/000000000000/mails.fifo"


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        entries = [
            {
                "Id": kind,
                "MessageBody": f"{order} {kind}",
                "MessageGroupId": order,
                "MessageDeduplicationId": order + kind,
            }
            for kind in ("invoice", "thanks")
        ]
        sqs.send_message_batch(QueueUrl=QUEUE, Entries=entries)
