"""Finds buckets, and decides who may do what with them and their objects."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.s3.model.bucket import BUCKETS, Bucket, bucket_arn, no_such_bucket
from redrive.store.api import NO_CONTEXT, Transaction


def bucket_of(
    tx: Transaction, caller: Caller, name: str, action: str, *, key: str | None = None,
    expected_owner: str | None = None, context: dict[str, tuple[str, ...]] | None = None,
    params: Document | None = None,  # noqa: ARG001 - no condition key is made of parameters yet.
) -> Bucket:  # fmt: skip
    """The bucket with a name, if the caller may do `action` (`s3:GetObject`) with it, or with its object `key`.

    Errors: NoSuchBucket; AccessDenied; InvalidBucketOwnerAWSAccountID.
    """
    bucket = tx.resources.get(Bucket, BUCKETS, name)
    resource = bucket_arn(name if key is None else f"{name}/{key}")
    policy = "" if bucket is None else bucket.policy
    try:
        tx.services.authorize(tx, caller, action, resource, context=context or NO_CONTEXT, policy=policy)
    except ServiceError as error:
        if error.code != "AccessDeniedException":
            raise
        message = "Access Denied" if caller.is_anonymous else error.message
        raise ServiceError("AccessDenied", message, http_status=403) from None
    if bucket is None:
        raise no_such_bucket(name)
    if expected_owner not in (None, bucket.account):
        raise ServiceError("AccessDenied", "Access Denied", http_status=403)
    return bucket
