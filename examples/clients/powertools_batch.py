"""Powertools for AWS Lambda: a batch whose records are idempotent, of which one fails.

    AWS_ENDPOINT_URL=http://127.0.0.1:4566 python powertools_batch.py

The handler is given the same batch twice, as a queue would give it. It names the record that failed, and does the work
of the others once.
"""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "orders")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")
os.environ.setdefault("AWS_LAMBDA_FUNCTION_NAME", "orders")

import boto3
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

TABLE = "powertools-idempotency"
processor = BatchProcessor(event_type=EventType.SQS)
config = IdempotencyConfig(event_key_jmespath="messageId")
charged: list[str] = []


@idempotent_function(
    data_keyword_argument="record", config=config, persistence_store=DynamoDBPersistenceLayer(table_name=TABLE)
)
def charge(record: dict[str, Any]) -> str:
    """Charge the order of a record."""
    if record["body"] == "poison":
        raise ValueError("no order")
    charged.append(record["body"])
    return str(record["body"])


def work_on(record: SQSRecord) -> str:
    """Do the work of one record."""
    return str(charge(record=record.raw_event))


def handler(event: dict[str, Any], context: Any) -> Any:
    """The function."""
    config.register_lambda_context(context)
    return process_partial_response(event=event, record_handler=work_on, processor=processor, context=context)


def main() -> None:
    """Make the table, run the handler twice with one batch, and print what it answered and did."""
    dynamodb = boto3.client("dynamodb")
    dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.get_waiter("table_exists").wait(TableName=TABLE)
    bodies = ("one", "two", "poison")
    event = {"Records": [{"messageId": f"id-{body}", "body": body, "eventSource": "aws:sqs"} for body in bodies]}
    context = SimpleNamespace(
        function_name="orders", memory_limit_in_mb=128, aws_request_id="1", get_remaining_time_in_millis=lambda: 30_000,
        invoked_function_arn="arn:aws:lambda:us-east-1:000000000000:function:orders",
    )  # fmt: skip
    for _ in range(2):
        print("answered", json.dumps(handler(event, context)))
    print("charged", *charged)


if __name__ == "__main__":
    main()
