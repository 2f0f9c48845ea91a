"""CloudTrail's records of calls to S3: those about buckets are management events, those about objects are data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.services.cloudtrail.model.calls import CallKind, event_name, kind_of
from redrive.testing.world import World


@pytest.mark.parametrize(
    ("operation", "kind", "name"),
    [
        ("PutObject", CallKind.DATA, "PutObject"),
        ("ListObjectsV2", CallKind.DATA, "ListObjectsV2"),
        ("CreateBucket", CallKind.WRITE, "CreateBucket"),
        ("GetBucketPolicy", CallKind.READ, "GetBucketPolicy"),
        ("PutPublicAccessBlock", CallKind.WRITE, "PutBucketPublicAccessBlock"),
        ("PutBucketLifecycleConfiguration", CallKind.WRITE, "PutBucketLifecycle"),
    ],
)
def test_calls_about_buckets_are_management_events_by_their_names(operation: str, kind: CallKind, name: str) -> None:
    assert (kind_of("s3", operation), event_name("s3", operation)) == (kind, name)


def test_rule_gets_the_record_of_a_new_bucket(world: World) -> None:
    """The trail's own account is told; the parameters are those of the call."""
    queue = world.client("sqs").create_queue(QueueName="told")["QueueUrl"]
    events = world.client("events")
    pattern = {"detail-type": ["AWS API Call via CloudTrail"], "detail": {"eventName": ["CreateBucket"]}}
    events.put_rule(Name="calls", EventPattern=json.dumps(pattern))
    arn = "arn:aws:sqs:us-east-1:000000000000:told"
    statement = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.client("sqs").set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
    events.put_targets(Rule="calls", Targets=[{"Id": "1", "Arn": arn}])
    world.client("cloudtrail").create_trail(Name="all", S3BucketName="trails")
    world.client("cloudtrail").start_logging(Name="all")

    world.client("s3").create_bucket(Bucket="docs")
    world.advance(minutes=1)

    (message,) = world.client("sqs").receive_message(QueueUrl=queue)["Messages"]
    detail: Any = json.loads(message["Body"])["detail"]
    assert (detail["eventSource"], detail["eventName"]) == ("s3.amazonaws.com", "CreateBucket")
    assert detail["requestParameters"]["bucketName"] == "docs"
