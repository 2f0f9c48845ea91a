"""The operations on the tags of a bucket, and on whether these tags take part in decisions."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import request_tags
from redrive.services.s3.access import ABAC, bucket_of
from redrive.services.s3.changing import set_setting
from redrive.services.s3.model.bucket import BUCKETS
from redrive.services.s3.model.bucket_tags import read_bucket_tags, shown_tags
from redrive.services.s3.model.errors import malformed_xml
from redrive.services.s3.model.refusals import not_set
from redrive.store.api import Transaction

_STATUSES = ("Enabled", "Disabled")


@operation("PutBucketTagging")
def put_bucket_tagging(
    tx: Transaction, caller: Caller, *, bucket: str, tagging: Document, content_md5: str | None = None,  # noqa: ARG001
    checksum_algorithm: str | None = None, expected_bucket_owner: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Give a bucket these tags in place of all others. No tags at all take the set away.

    Errors: NoSuchBucket; AccessDenied; InvalidTag; BadRequest.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketTagging.html
    """
    tags = read_bucket_tags(tagging.get("TagSet") or ())
    context = request_tags(tags)
    found = bucket_of(
        tx, caller, bucket, "s3:PutBucketTagging", expected_owner=expected_bucket_owner, context=dict(context)
    )
    tx.resources.put(BUCKETS, replace(found, tags=tags))
    return {}


@operation("GetBucketTagging")
def get_bucket_tagging(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return the tags of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchTagSet.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketTagging.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketTagging", expected_owner=expected_bucket_owner)
    if not found.tags:
        raise not_set("NoSuchTagSet", "The TagSet does not exist", bucket)
    return {"TagSet": shown_tags(found.tags)}


@operation("DeleteBucketTagging")
def delete_bucket_tagging(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Take the tags of a bucket away.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketTagging.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketTagging", expected_owner=expected_bucket_owner)
    tx.resources.put(BUCKETS, replace(found, tags={}))
    return {}


@operation("PutBucketAbac")
def put_bucket_abac(
    tx: Transaction, caller: Caller, *, bucket: str, abac_status: Document, content_md5: str | None = None,  # noqa: ARG001
    checksum_algorithm: str | None = None, expected_bucket_owner: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Let policies see the tags of a bucket as `aws:ResourceTag`, or no longer.

    Errors: NoSuchBucket; AccessDenied; MalformedXML.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketAbac.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketAbac", expected_owner=expected_bucket_owner)
    if abac_status.get("Status") not in _STATUSES:
        raise malformed_xml()
    set_setting(tx, found, ABAC, {"Status": abac_status["Status"]})
    return {}


@operation("GetBucketAbac")
def get_bucket_abac(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Say whether policies see the tags of a bucket.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketAbac.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketAbac", expected_owner=expected_bucket_owner)
    return {"AbacStatus": found.settings.get(ABAC, {"Status": "Disabled"})}
