"""The function behind the state machine: imports a file once, however often it is called for it."""

from __future__ import annotations

from typing import Any

import boto3

dynamodb = boto3.client("dynamodb")
s3 = boto3.client("s3")


class NotAFile(Exception):
    """The file cannot be imported, now or later."""


def handler(event: dict[str, Any], _context: Any) -> str:
    """Import the file of an event. The key is bucket, key and ETag: the file with this content."""
    bucket, one = event["detail"]["bucket"]["name"], event["detail"]["object"]
    content = s3.get_object(Bucket=bucket, Key=one["key"])["Body"].read()
    if content.startswith(b"bad"):
        raise NotAFile("its first line is not a heading")
    try:
        # The memory and the work are one write; `times` would show a second one.
        dynamodb.update_item(
            TableName="results", Key={"file": {"S": f"{bucket}#{one['key']}#{one['etag']}"}},
            UpdateExpression="SET #result = :imported ADD #times :one",
            ConditionExpression="attribute_not_exists(#result)",
            ExpressionAttributeNames={"#result": "result", "#times": "times"},
            ExpressionAttributeValues={":imported": {"S": "imported"}, ":one": {"N": "1"}},
        )  # fmt: skip
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return "a duplicate, left out"
    return "imported"
