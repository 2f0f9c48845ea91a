"""The operations on buckets."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.model.bucket import BUCKETS, Bucket, bucket_arn
from redrive.store.api import Transaction


@operation("CreateBucket")
def create_bucket(
    tx: Transaction, caller: Caller, *, bucket: str,
    acl: str | None = None, create_bucket_configuration: Document | None = None,  # noqa: ARG001
    grant_full_control: str | None = None, grant_read: str | None = None, grant_read_acp: str | None = None,  # noqa: ARG001
    grant_write: str | None = None, grant_write_acp: str | None = None,  # noqa: ARG001
    object_lock_enabled_for_bucket: bool | None = None, object_ownership: str | None = None,  # noqa: ARG001
    bucket_namespace: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Create a bucket.

    Errors: BucketAlreadyOwnedByYou; BucketAlreadyExists.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
    """
    tx.services.authorize(tx, caller, "s3:CreateBucket", bucket_arn(bucket))
    if tx.resources.get(Bucket, BUCKETS, bucket) is not None:
        raise ServiceError(
            "BucketAlreadyOwnedByYou",
            "Your previous request to create the named bucket succeeded and you already own it.",
            http_status=409,
        )
    tx.resources.put(BUCKETS, Bucket(bucket, caller.account, caller.region, tx.now, new_row_id(tx.entropy, tx.now)))
    return {"Location": f"/{bucket}", "BucketArn": bucket_arn(bucket)}


@operation("HeadBucket")
def head_bucket(tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None) -> Document:
    """Tell whether a bucket exists and the caller may list it.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html
    """
    found = bucket_of(tx, caller, bucket, "s3:ListBucket", expected_owner=expected_bucket_owner)
    return {"BucketRegion": found.region, "BucketArn": found.arn, "AccessPointAlias": False}
