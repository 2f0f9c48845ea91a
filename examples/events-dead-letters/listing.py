"""Sends all dead letters of a queue to EventBridge again, as a function of thirty lines does it.

    AWS_ENDPOINT_URL=http://127.0.0.1:4566 python listing.py QUEUE

If one entry of ten fails, it sends all ten again; `redrive events resend` sends only that one.
"""
# ruff: noqa: UP006, UP035 - The two functions stand here as they were published.

import json
import logging
import os
import sys
from typing import Dict

import boto3

_session = boto3.session.Session("test", "test", region_name="us-east-1")
_endpoint = os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
sqs = _session.resource("sqs", endpoint_url=_endpoint)
cloudwatch_events = _session.client("events", endpoint_url=_endpoint)
logger = logging.getLogger(__name__)


# fmt: off
def new_entry(msg: Dict, source: str) -> Dict:
    """CloudWatch Event用のEntryを作成します"""
    return {
        "Time": msg["time"],
        "Source": source,
        "Resources": msg["resources"],
        "DetailType": msg["detail-type"],
        "Detail": json.dumps(msg["detail"]),
    }


def resend(queue_name: str):
    """DLQからメッセージを取り出してCloudWatch Eventに投げます"""
    queue = sqs.get_queue_by_name(QueueName=queue_name)
    retry_source_name = "retry"
    while True:
        messages_to_delete = []
        entries = []
        for message in queue.receive_messages(MaxNumberOfMessages=10):
            entries.append(new_entry(json.loads(message.body), retry_source_name))
            messages_to_delete.append(
                {"Id": message.message_id, "ReceiptHandle": message.receipt_handle}
            )
        # メッセージがないならキューが空
        if len(messages_to_delete) == 0:
            break

        # CloudWatchEventに送る
        res = cloudwatch_events.put_events(Entries=entries)
        if res["FailedEntryCount"] > 0:
            logger.error("put events failed", extra={"response": res})
            continue
        delete_res = queue.delete_messages(Entries=messages_to_delete)
        if "Failed" in delete_res:
            logger.error("delete message failed", extra={"response": delete_res})
# fmt: on


if __name__ == "__main__":
    resend(sys.argv[1])
