"""Letters for tests, as `read_letter` makes them."""

from __future__ import annotations

import json
from typing import Any

from redrive.core.clock import Instant
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.letter import Letter

ACCOUNT = "us-east-1:000000000000"
QUEUE = f"arn:aws:sqs:{ACCOUNT}:orders"
FIFO = f"{QUEUE}.fifo"


def _attributes(**named: str) -> Any:
    return {name: {"DataType": "String", "StringValue": value} for name, value in named.items()}


def of_queue(body: str, *, sent_at: Instant = 0, source: str = QUEUE, id: str = "m-1", **system: str) -> Letter:
    """A message that a redrive policy has moved."""
    told = {"SentTimestamp": str(sent_at), "ApproximateReceiveCount": "4", "DeadLetterQueueSourceArn": source} | system
    return read_letter({"MessageId": id, "ReceiptHandle": "r", "Body": body, "Attributes": told})


def of_schedule(execution_id: str, *, sent_at: Instant = 0, code: str = "INTERNAL_ERROR", **more: str) -> Letter:
    """What Scheduler could not send to a queue."""
    told = _attributes(
        SCHEDULE_ARN=f"arn:aws:scheduler:{ACCOUNT}:schedule/default/nightly", ERROR_CODE=code, ERROR_MESSAGE="no",
        EXECUTION_ID=execution_id, TARGET_ARN="arn:aws:scheduler:::aws-sdk:sqs:sendMessage", **more,
    )  # fmt: skip
    request = {"QueueUrl": "http://localhost/000000000000/orders", "MessageBody": json.dumps({"day": 1})}
    return read_letter({
        "MessageId": "m-1", "Body": json.dumps(request), "Attributes": {"SentTimestamp": str(sent_at)},
        "MessageAttributes": told,
    })  # fmt: skip


def of_function(event: Any, *, sent_at: Instant = 0) -> Letter:
    """What Lambda writes to the dead-letter queue of a function."""
    told = _attributes(RequestID="r-1", ErrorCode="200", ErrorMessage="'order'")
    return read_letter({
        "MessageId": "m-1", "Body": json.dumps(event), "Attributes": {"SentTimestamp": str(sent_at)},
        "MessageAttributes": told,
    })  # fmt: skip
