"""Types of the records that Lambda passes to a function, and of the function's answer.

Sources: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html,
https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html,
https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

from __future__ import annotations

from typing import Generic, NotRequired, TypedDict, TypeVar

S = TypeVar("S")


class SqsMessageAttribute(TypedDict, total=False):
    """An attribute from the sender; `binaryValue` is base64."""

    stringValue: str
    binaryValue: str
    dataType: str


class SqsRecord(TypedDict):
    """A message in a function's event. `attributes` has the system's: ApproximateReceiveCount, MessageGroupId …"""

    messageId: str
    receiptHandle: str
    body: str
    attributes: dict[str, str]
    messageAttributes: dict[str, SqsMessageAttribute]
    md5OfBody: str
    eventSource: str
    eventSourceARN: str
    awsRegion: str


class KinesisData(TypedDict):
    """The payload of a Kinesis record; `data` is base64."""

    kinesisSchemaVersion: str
    partitionKey: str
    sequenceNumber: str
    data: str
    approximateArrivalTimestamp: float


class KinesisRecord(TypedDict):
    """A record of a Kinesis stream. `eventID` is `<shard>:<sequence number>`."""

    kinesis: KinesisData
    eventSource: str
    eventVersion: str
    eventID: str
    eventName: str
    invokeIdentityArn: str
    awsRegion: str
    eventSourceARN: str


class DynamoDBChange(TypedDict, total=False):
    """A change of an item. The stream's view type decides which images exist; values are in DynamoDB's format."""

    ApproximateCreationDateTime: float
    Keys: dict[str, dict[str, object]]
    NewImage: dict[str, dict[str, object]]
    OldImage: dict[str, dict[str, object]]
    SequenceNumber: str
    SizeBytes: int
    StreamViewType: str


class DynamoDBRecord(TypedDict):
    """A record of a DynamoDB stream; `eventName` is INSERT, MODIFY or REMOVE."""

    eventID: str
    eventName: str
    eventVersion: str
    eventSource: str
    awsRegion: str
    dynamodb: DynamoDBChange
    eventSourceARN: str


class TimeWindow(TypedDict):
    """The span of a tumbling window, as `2025-01-01T00:00:00Z`."""

    start: str
    end: str


class TimeWindowEvent(TypedDict, Generic[S]):
    """The event of a function whose stream mapping has a tumbling window: `TimeWindowEvent[dict[str, int]]`.

    `state` is that of the answer before, and `{}` at first. The last call for a window has no records.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-windows.html
    """

    Records: list[KinesisRecord] | list[DynamoDBRecord]
    window: TimeWindow
    state: S
    shardId: str
    eventSourceARN: str
    isFinalInvokeForWindow: bool
    isWindowTerminatedEarly: bool


class BatchItemFailure(TypedDict):
    """One record to deliver again: its message id, or its sequence number."""

    itemIdentifier: str


class BatchResponse(TypedDict):
    """The answer of a function whose mapping has ReportBatchItemFailures.

    An empty list means that all records succeeded.
    """

    batchItemFailures: list[BatchItemFailure]


class TimeWindowResponse(TypedDict, Generic[S]):
    """The answer of such a function. Without `state`, Lambda counts the call as failed."""

    state: S
    batchItemFailures: NotRequired[list[BatchItemFailure]]
