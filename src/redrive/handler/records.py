"""The records that Lambda hands to a function, and the answer that it reads, as types.

Sources: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html,
https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html, https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

from __future__ import annotations

from typing import TypedDict


class SqsMessageAttribute(TypedDict, total=False):
    """An attribute that the sender gave; `binaryValue` is base64."""

    stringValue: str
    binaryValue: str
    dataType: str


class SqsRecord(TypedDict):
    """A message, as the function gets it. `attributes` has the system's: ApproximateReceiveCount, MessageGroupId …"""

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
    """What changed. Images are there as the stream's view type has them, in DynamoDB's spelling of values."""

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


class BatchItemFailure(TypedDict):
    """One record that has to come again: its message id, or its sequence number."""

    itemIdentifier: str


class BatchResponse(TypedDict):
    """What a function answers whose mapping has ReportBatchItemFailures. An empty list is a whole success."""

    batchItemFailures: list[BatchItemFailure]
