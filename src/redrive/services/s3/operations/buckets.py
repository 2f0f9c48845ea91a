"""The operations on buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.pages import InvalidToken, decode_token, encode_token
from redrive.core.scope import Caller, canonical_user
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, request_tags
from redrive.services.s3 import limits
from redrive.services.s3.access import authorize_account, bucket_of
from redrive.services.s3.expiring import forget
from redrive.services.s3.model.acl import AclRequest, acl_request, is_public, read_grants
from redrive.services.s3.model.bucket import BUCKETS, Bucket, bucket_arn
from redrive.services.s3.model.bucket_tags import read_bucket_tags
from redrive.services.s3.model.errors import invalid_argument
from redrive.services.s3.model.names import check_name
from redrive.services.s3.model.policies import ACL, BLOCKS, OWNER_ENFORCED, OWNERSHIP, OWNERSHIPS, PUBLIC_ACCESS
from redrive.services.s3.model.regions import FIRST, is_region, region_of_new
from redrive.services.s3.uploads import forget_uploads
from redrive.store.api import Transaction


@operation("CreateBucket")
def create_bucket(
    tx: Transaction, caller: Caller, *, bucket: str, acl: str | None = None,
    create_bucket_configuration: Document | None = None, grant_full_control: str | None = None,
    grant_read: str | None = None, grant_read_acp: str | None = None, grant_write: str | None = None,
    grant_write_acp: str | None = None, object_lock_enabled_for_bucket: bool | None = None,
    object_ownership: str | None = None, bucket_namespace: str | None = None,
) -> Document:  # fmt: skip
    """Create a bucket. In the first Region, creating one's own bucket again changes nothing.

    Errors: InvalidBucketName; InvalidLocationConstraint; IllegalLocationConstraintException; AccessDenied;
    BucketAlreadyOwnedByYou; BucketAlreadyExists; InvalidArgument; InvalidTag; TooManyBuckets;
    InvalidBucketAclWithObjectOwnership; InvalidBucketAclWithBlockPublicAccessError.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
    """
    check_name(bucket, bucket_namespace, caller.account, caller.region)
    region = region_of_new(create_bucket_configuration, caller.region)
    tags = read_bucket_tags((create_bucket_configuration or {}).get("Tags") or ())
    asked = acl_request(
        acl, full=grant_full_control, read=grant_read, read_acp=grant_read_acp, write=grant_write,
        write_acp=grant_write_acp,
    )  # fmt: skip
    settings = _first_settings(caller.account, asked, object_ownership, has_lock=bool(object_lock_enabled_for_bucket))
    _authorize_new(
        tx, caller, bucket, asked, object_ownership, tags, region, has_lock=bool(object_lock_enabled_for_bucket)
    )
    _refuse_second(tx, caller, bucket, has_tags=bool(tags))
    if tx.resources.get(Bucket, BUCKETS, bucket) is None:
        _refuse_too_many(tx, caller)
        made = Bucket(
            bucket, caller.account, region, tx.now, new_row_id(tx.entropy, tx.now),
            versioning="Enabled" if object_lock_enabled_for_bucket else "", tags=tags, settings=settings,
        )  # fmt: skip
        tx.resources.put(BUCKETS, made)
    has_constraint = bool((create_bucket_configuration or {}).get("LocationConstraint"))
    location = f"http://{bucket}.{caller.host}/" if has_constraint else f"/{bucket}"
    return {"Location": location, "BucketArn": bucket_arn(bucket)}


def _first_settings(account: str, asked: AclRequest, ownership: str | None, *, has_lock: bool) -> dict[str, Document]:
    """What a new bucket says of itself: nothing in it is public, and its owner owns everything, unless told."""
    owned = OWNER_ENFORCED if ownership is None else ownership
    if owned not in OWNERSHIPS:
        message = f"Invalid x-amz-object-ownership header: {owned}"
        raise invalid_argument(message, "x-amz-object-ownership", owned)
    grants = read_grants(asked, account, account)
    settings: dict[str, Document] = {
        OWNERSHIP: {"Rules": [{"ObjectOwnership": owned}]},
        PUBLIC_ACCESS: dict.fromkeys(BLOCKS, True),
    }
    if owned == OWNER_ENFORCED and not asked.changes_nothing:
        message = "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
        raise ServiceError("InvalidBucketAclWithObjectOwnership", message, http_status=400)
    if is_public(grants):
        message = "Bucket cannot have public ACLs set with BlockPublicAccess enabled"
        raise ServiceError("InvalidBucketAclWithBlockPublicAccessError", message, http_status=400)
    if not asked.changes_nothing:
        settings[ACL] = {"Grants": grants}
    if has_lock:
        settings["ObjectLockConfiguration"] = {"ObjectLockEnabled": "Enabled"}
    return settings


def _authorize_new(
    tx: Transaction, caller: Caller, bucket: str, asked: AclRequest, ownership: str | None, tags: Mapping[str, str],
    region: str, *, has_lock: bool,
) -> None:  # fmt: skip
    """Refuse a caller who may not make such a bucket. What the bucket is to have needs permissions of its own."""
    context: dict[str, tuple[str, ...]] = {"s3:LocationConstraint": (region,)}
    if asked.canned is not None:
        context["s3:x-amz-acl"] = (asked.canned,)
    if ownership is not None:
        context["s3:x-amz-object-ownership"] = (ownership,)
    needed = ["s3:CreateBucket"]
    needed += [] if asked.changes_nothing else ["s3:PutBucketAcl"]
    needed += [] if ownership is None else ["s3:PutBucketOwnershipControls"]
    needed += ["s3:PutBucketObjectLockConfiguration", "s3:PutBucketVersioning"] if has_lock else []
    needed += ["s3:TagResource"] if tags else []
    all_context: Context = {**context, **request_tags(tags)} if tags else context
    for action in needed:
        authorize_account(tx, caller, action, bucket_arn(bucket), all_context)


def _refuse_second(tx: Transaction, caller: Caller, name: str, *, has_tags: bool) -> None:
    """Errors: BucketAlreadyExists; BucketAlreadyOwnedByYou."""
    present = tx.resources.get(Bucket, BUCKETS, name)
    if present is None:
        return
    members = {"BucketName": name}
    if present.account != caller.account:
        message = (
            "The requested bucket name is not available. The bucket namespace is shared by all users of the system. "
            "Please select a different name and try again."
        )
        raise ServiceError("BucketAlreadyExists", message, http_status=409, members=members)
    if not caller.region == present.region == FIRST or has_tags:
        message = "Your previous request to create the named bucket succeeded and you already own it."
        raise ServiceError("BucketAlreadyOwnedByYou", message, http_status=409, members=members)


def _refuse_too_many(tx: Transaction, caller: Caller) -> None:
    if tx.services.limits is Limits.STRICT and tx.resources.count(Bucket, BUCKETS) >= limits.BUCKETS_MAX:
        own = sum(1 for _ in _buckets(tx, caller.account, "", ""))
        if own >= limits.BUCKETS_MAX:
            message = "You have attempted to create more buckets than allowed"
            raise ServiceError("TooManyBuckets", message, http_status=400)


@operation("DeleteBucket")
def delete_bucket(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:  # fmt: skip
    """Delete an empty bucket. Uploads that were begun in it end with it.

    Errors: NoSuchBucket; AccessDenied; BucketNotEmpty.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteBucket.html
    """
    found = bucket_of(tx, caller, bucket, "s3:DeleteBucket", expected_owner=expected_bucket_owner)
    tx.be_alone()
    if tx.objects.has_any(found.bucket_id):
        message = "The bucket you tried to delete is not empty"
        if found.versioning:
            message += ". You must delete all versions in the bucket."
        raise ServiceError("BucketNotEmpty", message, http_status=409, members={"BucketName": bucket})
    while forget_uploads(tx, found.bucket_id, limit=limits.BUCKETS_PER_READ) == limits.BUCKETS_PER_READ:
        pass
    tx.resources.delete(Bucket, BUCKETS, bucket)
    forget(tx, bucket)
    return {}


@operation("HeadBucket")
def head_bucket(tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None) -> Document:
    """Tell whether a bucket exists and the caller may list it.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html
    """
    found = bucket_of(tx, caller, bucket, "s3:ListBucket", expected_owner=expected_bucket_owner)
    return {"BucketRegion": found.region, "BucketArn": found.arn, "AccessPointAlias": False}


@operation("GetBucketLocation")
def get_bucket_location(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return the Region of a bucket; nothing if it is the first Region.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketLocation.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketLocation", expected_owner=expected_bucket_owner)
    return {"LocationConstraint": None if found.region == FIRST else found.region}


@operation("ListBuckets")
def list_buckets(
    tx: Transaction, caller: Caller, *, max_buckets: int | None = None, continuation_token: str | None = None,
    prefix: str | None = None, bucket_region: str | None = None,
) -> Document:  # fmt: skip
    """List the caller's buckets of all Regions, by name.

    Errors: AccessDenied; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html
    """
    authorize_account(tx, caller, "s3:ListAllMyBuckets", "*")
    if max_buckets is not None and not 1 <= max_buckets <= limits.BUCKETS_PAGE:
        message = f"Argument max-buckets must be an integer between 1 and {limits.BUCKETS_PAGE}"
        raise invalid_argument(message, "max-buckets", str(max_buckets))
    if bucket_region is not None and not is_region(bucket_region):
        message = f"Argument value {bucket_region} is not a valid AWS Region"
        raise invalid_argument(message, "bucket-region", bucket_region)
    try:
        after = decode_token(continuation_token, prefix, bucket_region)
    except InvalidToken:
        message = "The continuation token provided is incorrect"
        raise invalid_argument(message, "continuation-token", str(continuation_token)) from None
    size = max_buckets or limits.BUCKETS_PAGE
    wanted = (one for one in _buckets(tx, caller.account, prefix or "", after) if bucket_region in (None, one.region))
    page = list(islice(wanted, size + 1))
    has_region = any(given is not None for given in (max_buckets, continuation_token, prefix, bucket_region))
    answer: Document = {
        "Owner": {"ID": canonical_user(caller.account)},
        "Buckets": [_shown(one, has_region=has_region) for one in page[:size]],
    }
    if prefix is not None:
        answer["Prefix"] = prefix
    if len(page) > size:
        answer["ContinuationToken"] = encode_token(page[size - 1].name, prefix, bucket_region)
    return answer


def _shown(bucket: Bucket, *, has_region: bool) -> Document:
    created: Instant = bucket.created_at
    shown: Document = {"Name": bucket.name, "CreationDate": created, "BucketArn": bucket.arn}
    return {**shown, "BucketRegion": bucket.region} if has_region else shown


def _buckets(tx: Transaction, account: str, prefix: str, after: str) -> Iterator[Bucket]:
    """The buckets of an account, by name."""
    while True:
        found = tx.resources.list(Bucket, BUCKETS, prefix=prefix, after=after, limit=limits.BUCKETS_PER_READ)
        yield from (bucket for bucket in found if bucket.account == account)
        if len(found) < limits.BUCKETS_PER_READ:
            return
        after = found[-1].name
