"""What the article's handlers use and do not define: here with the least that lets them run."""

import base64
import json
import logging

import boto3

logger = logging.getLogger(__name__)


class RetryableError(Exception):
    """An error that may be gone at the next attempt."""


class NonRetryableError(Exception):
    """An error that stays."""


def process_message(body):
    """Do an order: count it in the table `done`."""
    order = json.loads(body)
    if order["poisoned"]:
        raise RetryableError(f"order {order['order']} cannot be done")
    boto3.client("dynamodb").update_item(
        TableName="done", Key={"order": {"S": order["order"]}}, UpdateExpression="ADD times :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )  # fmt: skip


def process_stream_record(record):
    """Do the order in a record of Kinesis."""
    process_message(base64.b64decode(record["kinesis"]["data"]))
