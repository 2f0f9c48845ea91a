"""How S3 calls the destinations of notifications: as itself, for the bucket. The destination's policy decides."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.core.scope import Caller, Scope
from redrive.delivery.history.records import Origin
from redrive.delivery.sources.targets import queue_url
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

PRINCIPAL = "s3.amazonaws.com"


def bucket_caller(tx: Transaction, scope: Scope, bucket_arn: str, region: str, *, trace: str = "") -> Caller:
    """S3, which calls for a bucket of this account."""
    return Caller(
        Scope(scope.account, region), new_row_id(tx.entropy, tx.now), service=PRINCIPAL, source_arn=bucket_arn,
        trace_header=trace,
    )  # fmt: skip


def service_caller(tx: Transaction, delivery: Delivery, region: str) -> Caller:
    """S3, which delivers a notification."""
    trace = str(delivery.document.get("trace", ""))
    return bucket_caller(tx, delivery.scope, delivery.source_arn, region, trace=trace)


def queue_params(delivery: Delivery) -> Document:
    """The parameters of SendMessage for a notification."""
    return {"QueueUrl": queue_url(delivery.target_arn), "MessageBody": str(delivery.document["text"])}


def origin_of(delivery: Delivery) -> Origin:
    """The execution that changed the object; otherwise each notification is its own execution."""
    return Origin(delivery.document.get("execution") or delivery.id, delivery.document.get("cause") or "")
