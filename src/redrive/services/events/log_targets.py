"""Log groups as targets: each event becomes a log event.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-targets.html
"""

from __future__ import annotations

import hashlib

from redrive.core.arn import Arn
from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


def write_log(tx: Transaction, caller: Caller, delivery: Delivery, text: str) -> Document:
    """Write the input as a log event; a rule's target has a stream of its own in the group.

    A transformed input must be `{"timestamp": …, "message": …}`.
    Errors: ServiceError of CloudWatch Logs.
    """
    group = Arn.parse(delivery.target_arn).resource.removeprefix("log-group:").removesuffix(":*")
    target_id = str(delivery.document["target"]["Id"])
    stream = _stream_name(delivery.source_arn, target_id)
    timestamp, message = tx.now, text
    if "InputTransformer" in delivery.document["target"]:
        timestamp, message = _transformed(text)
    params: Document = {
        "logGroupName": group, "logStreamName": stream, "logEvents": [{"timestamp": timestamp, "message": message}],
    }  # fmt: skip
    try:
        return tx.services.call(tx, caller, "logs", "PutLogEvents", params)
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
    tx.services.call(tx, caller, "logs", "CreateLogStream", {"logGroupName": group, "logStreamName": stream})
    return tx.services.call(tx, caller, "logs", "PutLogEvents", params)


def _transformed(text: str) -> tuple[int, str]:
    """The time and the message of a transformed input. Errors: ServiceError."""
    document = load_json(text)
    if not isinstance(document, dict) or not isinstance(document.get("message"), str):
        raise ServiceError("InvalidParameterException", "The input must be an object with timestamp and message.")
    try:
        return int(document.get("timestamp", "")), document["message"]
    except (TypeError, ValueError) as error:
        raise ServiceError("InvalidParameterException", "The timestamp must be milliseconds.") from error


def _stream_name(rule_arn: str, target_id: str) -> str:
    """A name in the form of AWS's: a UUID, the same for all events of a target."""
    digits = hashlib.sha256(f"{rule_arn}#{target_id}".encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
