"""The operations on the policy of a bucket."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.model import acl
from redrive.services.s3.model.bucket import BUCKETS
from redrive.services.s3.model.bucket_policy import check_policy
from redrive.services.s3.model.policies import blocks, grants_of, is_public
from redrive.services.s3.model.refusals import access_denied, not_set
from redrive.store.api import Transaction


@operation("PutBucketPolicy")
def put_bucket_policy(
    tx: Transaction, caller: Caller, *, bucket: str, policy: str, content_md5: str | None = None,  # noqa: ARG001
    checksum_algorithm: str | None = None, confirm_remove_self_bucket_access: bool | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Give a bucket a policy. A public one is refused while the bucket blocks public policies.

    Errors: NoSuchBucket; AccessDenied; MethodNotAllowed (the caller is of another account); MalformedPolicy.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketPolicy.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketPolicy", expected_owner=expected_bucket_owner)
    _refuse_strangers(caller, found.account)
    check_policy(policy, bucket)
    if blocks(found, "BlockPublicPolicy") and is_public(policy):
        message = (
            f"User: {caller.principal_arn} is not authorized to perform: s3:PutBucketPolicy on resource: "
            f'"{found.arn}" because public policies are prevented by the BlockPublicPolicy setting in S3 Block Public '
            "Access."
        )
        raise access_denied(message)
    tx.resources.put(BUCKETS, replace(found, policy=policy))
    return {}


@operation("GetBucketPolicy")
def get_bucket_policy(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return the policy of a bucket.

    Errors: NoSuchBucket; AccessDenied; MethodNotAllowed; NoSuchBucketPolicy.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketPolicy.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketPolicy", expected_owner=expected_bucket_owner)
    _refuse_strangers(caller, found.account)
    if not found.policy:
        raise not_set("NoSuchBucketPolicy", "The bucket policy does not exist", bucket)
    return {"Policy": found.policy}


@operation("DeleteBucketPolicy")
def delete_bucket_policy(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Take the policy of a bucket away. The root of the account may do so whatever the policy denies.

    Errors: NoSuchBucket; AccessDenied; MethodNotAllowed.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketPolicy.html
    """
    found = bucket_of(tx, caller, bucket, "s3:DeleteBucketPolicy", expected_owner=expected_bucket_owner)
    _refuse_strangers(caller, found.account)
    if found.policy:
        tx.resources.put(BUCKETS, replace(found, policy=""))
    return {}


@operation("GetBucketPolicyStatus")
def get_bucket_policy_status(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Say whether the policy of a bucket lets everyone in.

    Errors: NoSuchBucket; AccessDenied; NoSuchBucketPolicy.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketPolicyStatus.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketPolicyStatus", expected_owner=expected_bucket_owner)
    if not found.policy:
        raise not_set("NoSuchBucketPolicy", "The bucket policy does not exist", bucket)
    return {"PolicyStatus": {"IsPublic": is_public(found.policy) or acl.is_public(grants_of(found))}}


def _refuse_strangers(caller: Caller, owner: str) -> None:
    """Only the bucket's own account handles its policy, whatever the policy allows. Errors: MethodNotAllowed."""
    if caller.account != owner:
        message = "The specified method is not allowed against this resource."
        raise ServiceError("MethodNotAllowed", message, http_status=405)
