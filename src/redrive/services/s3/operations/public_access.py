"""The operations on what a bucket keeps to itself: its block of public access, and who owns its objects."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.changing import set_setting
from redrive.services.s3.model.acl import owner_grant
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.errors import malformed_xml
from redrive.services.s3.model.policies import ACL, BLOCKS, OWNER_ENFORCED, OWNERSHIP, OWNERSHIPS, PUBLIC_ACCESS
from redrive.services.s3.model.refusals import not_set
from redrive.store.api import Transaction


@operation("PutPublicAccessBlock")
def put_public_access_block(
    tx: Transaction, caller: Caller, *, bucket: str, public_access_block_configuration: Document,
    content_md5: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Say which public access a bucket blocks. What is not said is not blocked.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutPublicAccessBlock.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketPublicAccessBlock", expected_owner=expected_bucket_owner)
    given = {name: bool(public_access_block_configuration.get(name)) for name in BLOCKS}
    set_setting(tx, found, PUBLIC_ACCESS, given)
    return {}


@operation("GetPublicAccessBlock")
def get_public_access_block(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return which public access a bucket blocks.

    Errors: NoSuchBucket; AccessDenied; NoSuchPublicAccessBlockConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetPublicAccessBlock.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketPublicAccessBlock", expected_owner=expected_bucket_owner)
    configuration = found.settings.get(PUBLIC_ACCESS)
    if configuration is None:
        message = "The public access block configuration was not found"
        raise not_set("NoSuchPublicAccessBlockConfiguration", message, bucket)
    return {"PublicAccessBlockConfiguration": configuration}


@operation("DeletePublicAccessBlock")
def delete_public_access_block(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Block no public access any more.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeletePublicAccessBlock.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketPublicAccessBlock", expected_owner=expected_bucket_owner)
    set_setting(tx, found, PUBLIC_ACCESS, None)
    return {}


@operation("PutBucketOwnershipControls")
def put_bucket_ownership_controls(
    tx: Transaction, caller: Caller, *, bucket: str, ownership_controls: Document, content_md5: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Say who owns the objects of a bucket, and whether ACLs count.

    Errors: NoSuchBucket; AccessDenied; MalformedXML; InvalidBucketAclWithObjectOwnership.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketOwnershipControls.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketOwnershipControls", expected_owner=expected_bucket_owner)
    rules = ownership_controls.get("Rules") or []
    if len(rules) != 1 or rules[0].get("ObjectOwnership") not in OWNERSHIPS:
        raise malformed_xml()
    if rules[0]["ObjectOwnership"] == OWNER_ENFORCED and _lets_others_in(found):
        message = "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
        raise ServiceError("InvalidBucketAclWithObjectOwnership", message, http_status=400)
    set_setting(tx, found, OWNERSHIP, {"Rules": [{"ObjectOwnership": rules[0]["ObjectOwnership"]}]})
    return {}


@operation("GetBucketOwnershipControls")
def get_bucket_ownership_controls(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return who owns the objects of a bucket.

    Errors: NoSuchBucket; AccessDenied; OwnershipControlsNotFoundError.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketOwnershipControls.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketOwnershipControls", expected_owner=expected_bucket_owner)
    controls = found.settings.get(OWNERSHIP)
    if controls is None:
        message = "The bucket ownership controls were not found"
        raise not_set("OwnershipControlsNotFoundError", message, bucket)
    return {"OwnershipControls": controls}


@operation("DeleteBucketOwnershipControls")
def delete_bucket_ownership_controls(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Let whoever writes an object own it.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucketOwnershipControls.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketOwnershipControls", expected_owner=expected_bucket_owner)
    set_setting(tx, found, OWNERSHIP, None)
    return {}


def _lets_others_in(bucket: Bucket) -> bool:
    """Whether the ACL of a bucket grants something to others than its owner."""
    own = owner_grant(bucket.account)["Grantee"]
    return any(grant["Grantee"] != own for grant in bucket.settings.get(ACL, {}).get("Grants", ()))
