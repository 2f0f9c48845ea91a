"""The operations on the lifecycle rules of a bucket."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.changing import set_setting
from redrive.services.s3.expiring import forget
from redrive.services.s3.model.lifecycle import ALL_128K, LIFECYCLE, TIMER, next_midnight
from redrive.services.s3.model.lifecycle_rules import check_minimum, read_rules
from redrive.services.s3.model.refusals import not_set
from redrive.store.api import Transaction

_MINIMUM = "TransitionDefaultMinimumObjectSize"


@operation("PutBucketLifecycleConfiguration")
def put_bucket_lifecycle_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, checksum_algorithm: str | None = None,  # noqa: ARG001
    lifecycle_configuration: Document | None = None, expected_bucket_owner: str | None = None,
    transition_default_minimum_object_size: str | None = None,
) -> Document:  # fmt: skip
    """Say when the objects of a bucket expire or move. The rules replace all others, and are about all objects.

    Errors: NoSuchBucket; AccessDenied; MalformedXML; InvalidRequest; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutLifecycleConfiguration", expected_owner=expected_bucket_owner)
    minimum = check_minimum(transition_default_minimum_object_size)
    rules = read_rules(lifecycle_configuration, tx.entropy)
    set_setting(tx, found, LIFECYCLE, {"Rules": rules, _MINIMUM: minimum})
    tx.timers.set(TIMER, bucket, next_midnight(tx.now))
    return {_MINIMUM: minimum}


@operation("GetBucketLifecycleConfiguration")
def get_bucket_lifecycle_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return the lifecycle rules of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchLifecycleConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketLifecycleConfiguration.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetLifecycleConfiguration", expected_owner=expected_bucket_owner)
    configuration = found.settings.get(LIFECYCLE)
    if configuration is None:
        raise not_set("NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist", bucket)
    return {"Rules": configuration["Rules"], _MINIMUM: configuration.get(_MINIMUM, ALL_128K)}


@operation("DeleteBucketLifecycle")
def delete_bucket_lifecycle(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Let nothing in a bucket expire any more.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketLifecycle.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutLifecycleConfiguration", expected_owner=expected_bucket_owner)
    set_setting(tx, found, LIFECYCLE, None)
    forget(tx, bucket)
    return {}
