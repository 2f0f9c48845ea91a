"""The operations on the CORS rules of a bucket."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.changing import set_setting
from redrive.services.s3.model.cors import CORS, check_rules
from redrive.services.s3.model.refusals import not_set
from redrive.store.api import Transaction


@operation("PutBucketCors")
def put_bucket_cors(
    tx: Transaction, caller: Caller, *, bucket: str, cors_configuration: Document,
    content_md5: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Say which web pages may use a bucket, and how. Replaces all rules.

    Errors: NoSuchBucket; AccessDenied; MalformedXML; InvalidRequest.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketCors.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketCORS", expected_owner=expected_bucket_owner)
    set_setting(tx, found, CORS, {"CORSRules": check_rules(cors_configuration)})
    return {}


@operation("GetBucketCors")
def get_bucket_cors(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return the CORS rules of a bucket.

    Errors: NoSuchBucket; AccessDenied; NoSuchCORSConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketCors.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketCORS", expected_owner=expected_bucket_owner)
    if CORS not in found.settings:
        raise not_set("NoSuchCORSConfiguration", "The CORS configuration does not exist", bucket)
    return found.settings[CORS]


@operation("DeleteBucketCors")
def delete_bucket_cors(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Let no web page use a bucket any more.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketCors.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketCORS", expected_owner=expected_bucket_owner)
    set_setting(tx, found, CORS, None)
    return {}
