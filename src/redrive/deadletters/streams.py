"""The records of a batch that was given up: fetched from the stream while it has them, in the form of Lambda's events.

The letter of a batch names the shard and the first and last sequence number, and holds no records. Kinesis keeps
records for the retention period of the stream, DynamoDB for 24 hours. What was trimmed is gone: a batch that lacks its
first records is told as such, and never taken for whole. Lambda's events of Kinesis also have `invokeIdentityArn`, the
role of the mapping, which a batch does not name: it is left out.

Sources: https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html;
https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html;
https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetShardIterator.html;
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from redrive.core.clock import DAY_MS, HOUR_MS, Instant
from redrive.core.documents import Document
from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.letter import Batch, Letter
from redrive.deadletters.sources import Client

DYNAMODB_KEPT_MS = DAY_MS
"""How long DynamoDB keeps the records of a stream."""

RECORDS_OF_PAGE = 1_000
PAGES_MAX = 1_000
"""The most pages that are read for a batch: a page of a shard may be empty."""

EMPTY_PAGES_MAX = 50
"""After so many pages without a record, one after the other, nothing more is expected of a shard."""

_TRIMMED = frozenset({"TrimmedDataAccessException", "InvalidArgumentException"})
_MISSING = frozenset({"ResourceNotFoundException"})


@dataclass(frozen=True, slots=True)
class Fetched:
    """The records that the stream has of a batch.

    `missing` is how many of the batch it has no more; `until` is when it drops the first record, as far as is known.
    """

    records: tuple[Document, ...]
    missing: int
    until: Instant | None
    why: str = ""
    """Why records are missing, if the stream says it."""

    @property
    def event(self) -> Document:
        """The event with which a function is invoked again."""
        return {"Records": list(self.records)}


class Streams:
    """Fetches batches. Reading a stream takes nothing out of it."""

    def __init__(self, client: Client, now: Callable[[], Instant]) -> None:
        self._client = client
        self._now = now
        self._kept_ms: dict[str, int] = {}

    def fetch(self, batch: Batch) -> Fetched:
        """The records of a batch, whole or in part. Errors: ClientError if the stream may not be read."""
        if not (batch.stream_arn and batch.first.isdecimal() and batch.last.isdecimal()):
            return Fetched((), max(1, batch.count), None, "the letter does not say which records they are")
        try:
            until = self.until(batch)
            records = tuple(self._records(batch))
        except ClientError as error:
            told = error.response["Error"]
            if told.get("Code") in _MISSING | _TRIMMED:
                return Fetched((), batch.count, None, told.get("Message") or str(told.get("Code")))
            raise
        return Fetched(records, max(0, batch.count - len(records)), until)

    def finding(self, letter: Letter) -> Finding:
        """The gate of a preflight: whether the stream still has the records, and until when."""
        batch = letter.work.batch
        assert batch is not None, "only the letter of a batch has records in a stream"
        detail = f"{batch.shard_id} from {batch.first}"
        try:
            found = self.fetch(batch)
        except ClientError as error:
            reason = f"the stream may not be read: {error.response['Error'].get('Code', '')}"
            return Finding("stream", Answer.REFUSE, reason, detail)
        if found.missing:
            lost = f"{found.missing} of {batch.count} records, {detail}"
            reason = (
                "the stream has dropped all records" if not found.records else "the stream has dropped some records"
            )
            return Finding("stream", Answer.REFUSE, reason, f"{lost}. {found.why}".rstrip(". "))
        return Finding("stream", Answer.GO, "the stream still has the records", detail, found.until)

    def until(self, batch: Batch) -> Instant | None:
        """When the stream drops the first record; None if the letter does not say when it came. Errors: ClientError."""
        if batch.arrived_at is None:
            return None
        if not _is_kinesis(batch):
            return batch.arrived_at + DYNAMODB_KEPT_MS
        kept_ms = self._kept_ms.get(batch.stream_arn)
        if kept_ms is None:
            told = self._client("kinesis").describe_stream_summary(StreamARN=batch.stream_arn)
            kept_ms = int(told["StreamDescriptionSummary"]["RetentionPeriodHours"]) * HOUR_MS
            self._kept_ms[batch.stream_arn] = kept_ms
        return batch.arrived_at + kept_ms

    def _records(self, batch: Batch) -> Iterator[Document]:
        """The records from the first to the last of the batch, as Lambda shows them."""
        first, last = int(batch.first), int(batch.last)
        for record in self._from_first(batch):
            shown = _kinesis_record(record, batch) if _is_kinesis(batch) else _dynamodb_record(record, batch)
            number = int(_number_of(record))
            if number > last:
                return
            if number >= first:
                yield shown
            if number == last:
                return

    def _from_first(self, batch: Batch) -> Iterator[Any]:
        service = "kinesis" if _is_kinesis(batch) else "dynamodbstreams"
        reader = self._client(service)
        named = {"StreamARN" if service == "kinesis" else "StreamArn": batch.stream_arn}
        iterator = reader.get_shard_iterator(
            **named, ShardId=batch.shard_id, ShardIteratorType="AT_SEQUENCE_NUMBER",
            **{"StartingSequenceNumber" if service == "kinesis" else "SequenceNumber": batch.first},
        )["ShardIterator"]  # fmt: skip
        empty = 0
        for _ in range(PAGES_MAX):
            page = reader.get_records(ShardIterator=iterator, Limit=min(RECORDS_OF_PAGE, max(batch.count, 1)))
            yield from page["Records"]
            empty = 0 if page["Records"] else empty + 1
            iterator = page.get("NextShardIterator")
            if iterator is None or empty >= EMPTY_PAGES_MAX or page.get("MillisBehindLatest") == 0:
                return


def _is_kinesis(batch: Batch) -> bool:
    return batch.stream_arn.split(":")[2:3] == ["kinesis"]


def _number_of(record: Mapping[str, Any]) -> str:
    return str(record["SequenceNumber"] if "SequenceNumber" in record else record["dynamodb"]["SequenceNumber"])


def _kinesis_record(record: Mapping[str, Any], batch: Batch) -> Document:
    number = record["SequenceNumber"]
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0", "partitionKey": record["PartitionKey"], "sequenceNumber": number,
            "data": base64.b64encode(record["Data"]).decode(),
            "approximateArrivalTimestamp": _seconds(record["ApproximateArrivalTimestamp"]),
        },
        "eventSource": "aws:kinesis", "eventVersion": "1.0", "eventID": f"{batch.shard_id}:{number}",
        "eventName": "aws:kinesis:record", "awsRegion": batch.stream_arn.split(":")[3],
        "eventSourceARN": batch.stream_arn,
    }  # fmt: skip


def _dynamodb_record(record: Mapping[str, Any], batch: Batch) -> Document:
    told = dict(record["dynamodb"])
    created = told.get("ApproximateCreationDateTime")
    if created is not None:
        told["ApproximateCreationDateTime"] = int(_seconds(created))
    images = {name: _texts(told[name]) for name in ("Keys", "NewImage", "OldImage") if name in told}
    return {
        "eventID": record["eventID"], "eventName": record["eventName"], "eventVersion": record["eventVersion"],
        "eventSource": record["eventSource"], "awsRegion": record["awsRegion"], "dynamodb": told | images,
        "eventSourceARN": batch.stream_arn,
        **({"userIdentity": _identity(record["userIdentity"])} if record.get("userIdentity") else {}),
    }  # fmt: skip


def _identity(told: Mapping[str, Any]) -> Document:
    """Who has changed the item: Lambda's events spell the members in lower case."""
    return {"type": told["Type"], "principalId": told["PrincipalId"]}


def _texts(value: Any) -> Any:
    """Attribute values with their bytes in Base64, as JSON has them."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case Mapping():
            return {name: _texts(one) for name, one in value.items()}
        case list() | tuple():
            return [_texts(one) for one in value]
        case _:
            return value


def _seconds(at: datetime | float) -> float:
    return at.timestamp() if isinstance(at, datetime) else float(at)
