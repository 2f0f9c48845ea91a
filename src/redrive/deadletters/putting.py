"""Puts work into a stream of Kinesis: the records of a batch as they were, all other work as one record.

A request of several records may be accepted in part. The rest is sent again at once, some times. A batch that was
accepted in part alone is told as unknown, because to send it again would send that part twice.

Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.documents import Document, load_json
from redrive.deadletters.outcomes import Accepted, Parcel, Refused, SendOutcome, Unknown, outcome_of, refused
from redrive.handler.failures import Kind

RECORDS_MAX = 500
BYTES_MAX = 4 * 1024 * 1024
"""How many records a request has at most, and how large they are together; Kinesis takes 5 MiB."""

REQUESTS_MAX = 8
"""How many requests without a single record accepted end the attempt."""


def put(kinesis: Any, stream: str, parcel: Parcel) -> SendOutcome:
    """Put the work of a letter into a stream."""
    try:
        left = _records(parcel)
    except (ValueError, KeyError, TypeError, binascii.Error):
        return Refused("NoRecords", "only records of Kinesis can be put back into a stream", Kind.PERMANENT)
    named = {"StreamARN" if stream.startswith("arn:") else "StreamName": stream}
    count, vain, last = len(left), 0, ""
    while left:
        size = _size(left)
        try:
            answer = kinesis.put_records(Records=left[:size], **named)["Records"]
        except (ClientError, BotoCoreError) as error:
            outcome: SendOutcome = outcome_of(error)
            return outcome if len(left) == count else _in_part(count, left, str(error))
        failed = [one for one, told in zip(left[:size], answer, strict=True) if told.get("ErrorCode")]
        last = next((str(told["SequenceNumber"]) for told in reversed(answer) if told.get("SequenceNumber")), last)
        vain = vain + 1 if len(failed) == size else 0
        left = [*failed, *left[size:]]
        if vain == REQUESTS_MAX:
            told = next(one for one in answer if one.get("ErrorCode"))
            code, message = str(told["ErrorCode"]), str(told.get("ErrorMessage", ""))
            return refused(code, message, is_ours=False) if len(left) == count else _in_part(count, left, message)
    return Accepted(last)


def _in_part(count: int, left: Sequence[Document], why: str) -> Unknown:
    return Unknown(f"{count - len(left)} of {count} records were accepted: {why}")


def _records(parcel: Parcel) -> list[Document]:
    if parcel.letter.work.batch is None:
        key = parcel.letter.work.id or parcel.letter.message_id
        return [{"Data": parcel.text.encode(), "PartitionKey": key[:256]}]
    told = [one["kinesis"] for one in load_json(parcel.text)["Records"]]
    return [{"Data": base64.b64decode(one["data"]), "PartitionKey": one["partitionKey"]} for one in told]


def _size(left: Sequence[Document]) -> int:
    """How many of the records fit into one request, at least one."""
    size = total = 0
    for one in left[:RECORDS_MAX]:
        total += len(one["Data"]) + len(one["PartitionKey"])
        if size and total > BYTES_MAX:
            break
        size += 1
    return size
