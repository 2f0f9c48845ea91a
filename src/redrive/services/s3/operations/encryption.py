"""The operations on the encryption that a bucket has by default."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.changing import set_setting
from redrive.services.s3.model.encryption import ENCRYPTION, check_configuration, configuration_of
from redrive.store.api import Transaction


@operation("PutBucketEncryption")
def put_bucket_encryption(
    tx: Transaction, caller: Caller, *, bucket: str, server_side_encryption_configuration: Document,
    content_md5: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Say how the objects of a bucket are encrypted where a request does not say it.

    Errors: NoSuchBucket; AccessDenied; MalformedXML; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketEncryption.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutEncryptionConfiguration", expected_owner=expected_bucket_owner)
    set_setting(tx, found, ENCRYPTION, check_configuration(server_side_encryption_configuration))
    return {}


@operation("GetBucketEncryption")
def get_bucket_encryption(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return how the objects of a bucket are encrypted. Every bucket has an answer.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketEncryption.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetEncryptionConfiguration", expected_owner=expected_bucket_owner)
    return {"ServerSideEncryptionConfiguration": configuration_of(found)}


@operation("DeleteBucketEncryption")
def delete_bucket_encryption(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Let a bucket encrypt as a new one does.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketEncryption.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutEncryptionConfiguration", expected_owner=expected_bucket_owner)
    set_setting(tx, found, ENCRYPTION, None)
    return {}
