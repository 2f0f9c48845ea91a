"""Imports a file when it arrives. A change that S3 tells twice is done once, and an old one never undoes a new one.

The key is bucket, key, versionId and sequencer: S3 gives each change of an object another sequencer, and a duplicate
has the same one. It is the same by EventBridge and by direct notification, so a file may come both ways.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

import boto3

dynamodb = boto3.client("dynamodb")
s3 = boto3.client("s3")

SEQUENCER_DIGITS = 32


class Change(NamedTuple):
    """A change of an object. `sequencer` is filled up on the right, so that texts compare as AWS says."""

    way: str
    bucket: str
    key: str
    version: str
    sequencer: str
    is_deleted: bool

    @property
    def id(self) -> str:
        """What makes the change once."""
        return f"{self.bucket}#{self.key}#{self.version}#{self.sequencer}"


def handler(event: dict[str, Any], _context: Any) -> None:
    """Import what an event of EventBridge, or the messages of a queue, tell of."""
    for change in changes_of(event):
        try:
            did = import_file(change, tries=event.get("redelivery", 0))
        except Exception as error:
            told(change, f"failed: {error}")
            raise
        told(change, did)


def changes_of(event: dict[str, Any]) -> Iterator[Change]:
    """The changes in an event. In records, keys are encoded as in a form; in details they are not."""
    if "detail" in event:
        one = event["detail"]["object"]
        yield Change(
            "retry" if "redelivery" in event else "bus", event["detail"]["bucket"]["name"], one["key"],
            one.get("version-id", ""), _filled(one["sequencer"]), event["detail-type"] == "Object Deleted",
        )  # fmt: skip
        return
    for message in event["Records"]:
        for record in json.loads(message["body"]).get("Records", ()):  # S3's test event has no records.
            one = record["s3"]["object"]
            yield Change(
                "direct", record["s3"]["bucket"]["name"], unquote_plus(one["key"]), one.get("versionId", ""),
                _filled(one["sequencer"]), record["eventName"].startswith("ObjectRemoved:"),
            )  # fmt: skip


def import_file(change: Change, *, tries: int) -> str:
    """Do the work, and remember it in the same transaction. Returns what became of it."""
    content = "" if change.is_deleted else read(change, tries)
    done = {
        "Put": {"TableName": "processed", "Item": {"id": {"S": change.id}}, **condition("attribute_not_exists(id)")}
    }
    newer = condition("attribute_not_exists(sequencer) OR sequencer < :sequencer")
    values = {":sequencer": {"S": change.sequencer}, ":content": {"S": content}, ":one": {"N": "1"}}
    effect = {
        "Update": {
            "TableName": "files", "Key": {"file": {"S": change.key}}, **newer, "ExpressionAttributeValues": values,
            "UpdateExpression": "SET sequencer = :sequencer, content = :content ADD imports :one",
        }
    }  # fmt: skip
    try:
        dynamodb.transact_write_items(TransactItems=[done, effect])
    except dynamodb.exceptions.TransactionCanceledException as error:
        first, second = (reason["Code"] for reason in error.response["CancellationReasons"])
        if first == "ConditionalCheckFailed":
            return "a duplicate, left out"
        if second == "ConditionalCheckFailed":
            return "older than what was done, left out"
        raise
    return "removed" if change.is_deleted else "imported"


def read(change: Change, tries: int) -> str:
    """The object's content. A file may say that its first imports fail."""
    try:
        content = s3.get_object(Bucket=change.bucket, Key=change.key)["Body"].read()
    except s3.exceptions.NoSuchKey:
        return ""  # Deleted since: the event of that comes, or has come.
    text = content[:200].decode()
    if text.startswith("fails ") and tries < int(text.split()[1]):
        raise RuntimeError("ServiceUnavailable: the importer does not answer")
    return text[:20].strip()


def condition(expression: str) -> dict[str, str]:
    """The condition of a write."""
    return {"ConditionExpression": expression}


def told(change: Change, did: str) -> None:
    """Log what became of a change, for the table that run.py prints."""
    print(json.dumps({"file": {"key": change.key, "way": change.way, "did": did}}))


def _filled(sequencer: str) -> str:
    return sequencer.ljust(SEQUENCER_DIGITS, "0")
