"""Tells of what happened to objects: to the targets of a bucket's notifications, and to EventBridge."""

from __future__ import annotations

from redrive.core.scope import Caller
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.happened import Happened
from redrive.store.api import Transaction


def tell(tx: Transaction, caller: Caller, bucket: Bucket, happened: Happened) -> None:  # noqa: ARG001
    """Promise, in this transaction, each notification that the bucket's configuration asks for."""
    if "NotificationConfiguration" not in bucket.settings:
        return
