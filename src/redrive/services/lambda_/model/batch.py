"""Batches of messages: the function's event, and which messages stay in the queue, according to the function's answer.

All functions here are pure. The table of answers is AWS's own:

    nothing, "", null, {}, {"batchItemFailures": null or []}      all messages are done
    {"batchItemFailures": [{"itemIdentifier": id}, …]}            the named ones stay, the others are done
    not JSON, not an object, a value that is not a list,
    an identifier that is empty, null, missing or unknown         all stay
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json, load_json
from redrive.delivery.outside.invocation import InvocationResult, InvocationStatus
from redrive.delivery.sources.event_sources import Batch

_ENVELOPE_BYTES = len('{"Records":[]}')


def sqs_record(message: Document, queue_arn: str) -> Document:
    """Convert a message from ReceiveMessage to the form in which functions see it.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    """
    record: Document = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message.get("Body", ""),
        "attributes": dict(message.get("Attributes") or {}),
        "messageAttributes": {
            name: _attribute(value) for name, value in (message.get("MessageAttributes") or {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": Arn.parse(queue_arn).region,
    }
    if message.get("MD5OfMessageAttributes"):
        record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return record


def batches(records: Iterable[Document], *, bytes_max: int) -> Iterator[Batch]:
    """Split records, in order, into events of at most `bytes_max` bytes; a record that is larger gets its own event."""
    texts: list[str] = []
    receipts: dict[str, str] = {}
    size = _ENVELOPE_BYTES
    for record in records:
        text = dump_json(record)
        weight = len(text.encode()) + 1
        if texts and size + weight > bytes_max:
            yield _batch(texts, receipts)
            texts, receipts, size = [], {}, _ENVELOPE_BYTES
        texts.append(text)
        receipts[record["messageId"]] = record["receiptHandle"]
        size += weight
    if texts:
        yield _batch(texts, receipts)


def messages_left(result: InvocationResult, ids: Sequence[str], *, reports_failures: bool) -> frozenset[str]:
    """Return the ids of the messages that stay in the queue after a run.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    if result.status is not InvocationStatus.OK:
        return frozenset(ids)
    if not reports_failures:
        return frozenset()
    reported = reported_failures(result.payload)
    return frozenset(reported if reported is not None and frozenset(reported) <= frozenset(ids) else ids)


def reported_failures(payload: bytes) -> list[str] | None:
    """Return the identifiers that an answer reports as failed; None if the answer is malformed."""
    if not payload:
        return []
    try:
        answer = load_json(payload)
    except (ValueError, RecursionError):
        return None
    if answer is None or answer == "":
        return []
    if not isinstance(answer, dict):
        return None
    failures = answer.get("batchItemFailures")
    if failures is None:
        return []
    if not isinstance(failures, list):
        return None
    identifiers = [item.get("itemIdentifier") if isinstance(item, dict) else None for item in failures]
    found = [one for one in identifiers if isinstance(one, str)]
    return found if len(found) == len(identifiers) else None


def _attribute(value: Document) -> Document:
    attribute: Document = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if value.get("StringValue") is not None:
        attribute["stringValue"] = value["StringValue"]
    if value.get("BinaryValue") is not None:
        attribute["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode()
    return attribute


def _batch(texts: Sequence[str], receipts: Mapping[str, str]) -> Batch:
    return Batch(f'{{"Records":[{",".join(texts)}]}}'.encode(), receipts)
