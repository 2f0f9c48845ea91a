"""Websites and replication: refused by name. To those who ask, a bucket has none."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.model.refusals import not_offered, not_set
from redrive.store.api import Transaction


@operation("PutBucketWebsite")
def put_bucket_website(
    tx: Transaction, caller: Caller, *, bucket: str, website_configuration: Document,  # noqa: ARG001
    content_md5: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Refuse to make a bucket a website.

    Errors: NoSuchBucket; AccessDenied; NotImplemented.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketWebsite.html
    """
    bucket_of(tx, caller, bucket, "s3:PutBucketWebsite", expected_owner=expected_bucket_owner)
    instead = "Leave the WebsiteConfiguration out; objects can be read by their URLs, if the bucket's policy allows it."
    raise not_offered("websites of buckets (PutBucketWebsite)", instead)


@operation("GetBucketWebsite")
def get_bucket_website(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Say that a bucket is no website.

    Errors: NoSuchBucket; AccessDenied; NoSuchWebsiteConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketWebsite.html
    """
    bucket_of(tx, caller, bucket, "s3:GetBucketWebsite", expected_owner=expected_bucket_owner)
    message = "The specified bucket does not have a website configuration"
    raise not_set("NoSuchWebsiteConfiguration", message, bucket)


@operation("DeleteBucketWebsite")
def delete_bucket_website(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Do nothing, as AWS does where there is no website.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketWebsite.html
    """
    bucket_of(tx, caller, bucket, "s3:DeleteBucketWebsite", expected_owner=expected_bucket_owner)
    return {}


@operation("PutBucketReplication")
def put_bucket_replication(
    tx: Transaction, caller: Caller, *, bucket: str, replication_configuration: Document,  # noqa: ARG001
    content_md5: str | None = None, checksum_algorithm: str | None = None, token: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Refuse to copy what is written to other buckets.

    Errors: NoSuchBucket; AccessDenied; NotImplemented.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketReplication.html
    """
    bucket_of(tx, caller, bucket, "s3:PutReplicationConfiguration", expected_owner=expected_bucket_owner)
    instead = "Leave the ReplicationConfiguration out, or copy objects in a function that the bucket notifies."
    raise not_offered("replication of buckets (PutBucketReplication)", instead)


@operation("GetBucketReplication")
def get_bucket_replication(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Say that nothing in a bucket is copied to others.

    Errors: NoSuchBucket; AccessDenied; ReplicationConfigurationNotFoundError.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketReplication.html
    """
    bucket_of(tx, caller, bucket, "s3:GetReplicationConfiguration", expected_owner=expected_bucket_owner)
    message = "The replication configuration was not found"
    raise not_set("ReplicationConfigurationNotFoundError", message, bucket)


@operation("DeleteBucketReplication")
def delete_bucket_replication(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Do nothing, as AWS does where nothing is copied.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketReplication.html
    """
    bucket_of(tx, caller, bucket, "s3:PutReplicationConfiguration", expected_owner=expected_bucket_owner)
    return {}
