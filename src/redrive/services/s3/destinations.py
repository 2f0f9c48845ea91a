"""Checks the destinations of a new configuration: S3 sends a test event to queues and topics, and asks functions.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketNotificationConfiguration.html
"""

from __future__ import annotations

from collections.abc import Iterable

from redrive.core.arn import Arn
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.targets import queue_url
from redrive.services.s3.calls import bucket_caller
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.notification import FUNCTION, QUEUE, TOPIC, Destination
from redrive.services.s3.model.notification_checks import destinations_error
from redrive.services.s3.model.notification_records import SUBJECT, trial_text
from redrive.store.api import Transaction

_FIFO = ".fifo"


def try_destinations(tx: Transaction, caller: Caller, bucket: Bucket, destinations: Iterable[Destination]) -> None:
    """Send the test events. A failed call keeps nothing: also those that were sent are rolled back.

    Errors: InvalidArgument, with all destinations that S3 cannot use.
    """
    failures: list[tuple[str, str]] = []
    for one in destinations:
        reason = _refused(tx, caller, bucket, one)
        if reason:
            failures.append((f"{one.arn}, null" if one.kind is FUNCTION else one.arn, reason))
    if failures:
        raise destinations_error(failures)


def _refused(tx: Transaction, caller: Caller, bucket: Bucket, one: Destination) -> str:
    """Why S3 cannot use a destination; empty if it can."""
    name = {QUEUE: "queue", TOPIC: "topic"}.get(one.kind, "")
    if name and one.arn.endswith(_FIFO):
        return f"FIFO {name}s are not supported"
    try:
        _try(tx, caller, bucket, one)
    except ServiceError:
        if one.kind is FUNCTION:
            return f"Not authorized to invoke function [{one.arn}]"
        if not _exists(tx, caller, one):
            return f"The destination {name} does not exist"
        return f"Permissions on the destination {name} do not allow S3 to publish notifications from this bucket"
    return ""


def _try(tx: Transaction, caller: Caller, bucket: Bucket, one: Destination) -> None:
    """Call a destination as S3 calls it for an event. A function is not run."""
    service = bucket_caller(tx, bucket.scope, bucket.arn, Arn.parse(one.arn).region)
    if one.kind is FUNCTION:
        params: dict[str, object] = {"FunctionName": one.arn, "InvocationType": "DryRun"}
        tx.services.call(tx, service, "lambda", "Invoke", params)
        return
    text = trial_text(bucket.name, at=tx.now, request_id=caller.request_id)
    if one.kind is QUEUE:
        tx.services.call(
            tx, service, "sqs", "SendMessage", {"QueueUrl": queue_url(one.arn), "MessageBody": text}
        )  # fmt: skip
    else:
        tx.services.call(
            tx, service, "sns", "Publish", {"TopicArn": one.arn, "Message": text, "Subject": SUBJECT}
        )  # fmt: skip


def _exists(tx: Transaction, caller: Caller, one: Destination) -> bool:
    """Whether there is such a queue or topic, whoever may use it: its own account is asked."""
    arn = Arn.parse(one.arn)
    owner = Caller(Scope(arn.account, arn.region), caller.request_id)
    try:
        if one.kind is QUEUE:
            tx.services.call(tx, owner, "sqs", "GetQueueUrl", {"QueueName": arn.resource})
        else:
            tx.services.call(tx, owner, "sns", "GetTopicAttributes", {"TopicArn": one.arn})
    except ServiceError:
        return False
    return True
