"""Finds buckets, and decides who may do what with them and their objects.

    the bucket ──► its Region ──► its owner, if the caller expects one ──► policies, ACLs, the block of public access

What decisions rarely need is computed late: condition keys where a policy has conditions, the ACL and the tags of an
object where they count. The root of a bucket's account without a bucket policy needs none of them.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/how-s3-evaluates-access-control.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.languages.iam import Context, resource_tags
from redrive.services.s3.model.acl import GRANTS
from redrive.services.s3.model.bucket import BUCKETS, Bucket, bucket_arn, no_such_bucket
from redrive.services.s3.model.condition_keys import existing_tag_keys, keys_of
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.model.policies import deciding_policy, has_acls
from redrive.services.s3.model.record import Record, record_of
from redrive.services.s3.model.refusals import OWNER_DIGITS, access_denied, wrong_owner_form
from redrive.services.s3.model.regions import REGION_HEADER, wrong_region
from redrive.services.s3.versions import find_version, named_version
from redrive.store.api import NO_CONTEXT, Transaction

ABAC = "AbacStatus"

_EVERYWHERE = frozenset({"s3:GetBucketLocation"})
"""What may be asked in every Region: it is how callers find the bucket's."""

_UNLOCKING = frozenset({"s3:GetBucketPolicy", "s3:PutBucketPolicy", "s3:DeleteBucketPolicy"})
"""What the root of a bucket's account may always do, so that a policy cannot lock the account out."""

_BY_OBJECT_ACL = frozenset(
    f"s3:{name}" for name in (
        "GetObject", "GetObjectVersion", "GetObjectAcl", "GetObjectVersionAcl", "PutObjectAcl", "PutObjectVersionAcl",
    )
)  # fmt: skip
"""What the ACL of an object can allow."""

_OF_EACH_REQUEST: Context = {
    "s3:signatureversion": ("AWS4-HMAC-SHA256",),
    "s3:TlsVersion": ("1.3",),
}
"""Condition keys that say how a request came. The engine stands for AWS's endpoints, which speak TLS."""

_NO_PARAMS: Document = {}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a caller wants to do, and with what."""

    bucket: Bucket
    action: str
    key: str | None
    params: Document = field(default_factory=dict)
    context: Context = field(default_factory=dict)

    @property
    def resource(self) -> str:
        return bucket_arn(self.bucket.name if self.key is None else f"{self.bucket.name}/{self.key}")


def bucket_of(
    tx: Transaction, caller: Caller, name: str, action: str, *, key: str | None = None,
    expected_owner: str | None = None, context: Mapping[str, tuple[str, ...]] | None = None,
    params: Document = _NO_PARAMS,
) -> Bucket:  # fmt: skip
    """The bucket with a name, if the caller may do `action` (`s3:GetObject`) with it, or with its object `key`.

    `params` are those of the operation: policies may have conditions about them. Errors: NoSuchBucket;
    PermanentRedirect or AuthorizationHeaderMalformed (another Region's); AccessDenied; InvalidBucketOwnerAWSAccountID.
    """
    bucket = tx.resources.get(Bucket, BUCKETS, name)
    if bucket is None:
        raise no_such_bucket(name)
    if caller.region != bucket.region:
        _check_region(caller, bucket, action)
    if expected_owner is not None:
        check_owner(bucket, expected_owner)
    authorize(tx, caller, bucket, action, key=key, context=context or NO_CONTEXT, params=params)
    return bucket


def authorize(
    tx: Transaction, caller: Caller, bucket: Bucket, action: str, *, key: str | None = None,
    context: Context = NO_CONTEXT, params: Document = _NO_PARAMS,
) -> None:  # fmt: skip
    """Refuse what the caller may not do with a bucket or with its object. Errors: AccessDenied."""
    policy = deciding_policy(bucket)
    if caller.is_account and caller.account == bucket.account and (not policy or action in _UNLOCKING):
        return
    asked = _Asked(bucket, action, key, params, context)
    try:
        _decide(tx, caller, asked, policy)
    except ServiceError as error:
        grants = _object_grants(tx, asked)
        if not grants:
            raise _refusal_of(error, asked, caller) from None
        _decide_by_grants(tx, caller, asked, grants)


def may(
    tx: Transaction, caller: Caller, bucket: Bucket, action: str, *, key: str | None = None,
    context: Context = NO_CONTEXT, params: Document = _NO_PARAMS,
) -> bool:  # fmt: skip
    """Whether the caller may do something with a bucket or with its object."""
    try:
        authorize(tx, caller, bucket, action, key=key, context=context, params=params)
    except ServiceError:
        return False
    return True


def authorize_account(
    tx: Transaction, caller: Caller, action: str, resource: str, context: Context = NO_CONTEXT
) -> None:
    """Refuse what concerns no bucket that exists. Errors: AccessDenied."""
    try:
        tx.services.authorize(tx, caller, action, resource, context={**_OF_EACH_REQUEST, **context})
    except ServiceError as error:
        raise refusal(error, resource, is_own=not caller.is_anonymous) from None


def refusal(error: ServiceError, resource: str, *, is_own: bool) -> ServiceError:
    """A refusal in the words of S3. Only callers of the bucket's account hear why.

    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/troubleshoot-403-errors.html
    """
    if error.code != "AccessDeniedException":
        return error
    told = error.message.replace(f"on resource: {resource}", f'on resource: "{resource}"')
    return access_denied(told) if is_own else access_denied()


def _refusal_of(error: ServiceError, asked: _Asked, caller: Caller) -> ServiceError:
    """A refusal about a bucket; its header says where the bucket is, for tools that look for it."""
    refused = refusal(error, asked.resource, is_own=caller.account == asked.bucket.account)
    refused.members = {**refused.members, REGION_HEADER: asked.bucket.region}
    return refused


def check_owner(bucket: Bucket, expected: str) -> None:
    """Refuse another owner than the expected one. Errors: AccessDenied; InvalidBucketOwnerAWSAccountID."""
    if len(expected) != OWNER_DIGITS or not expected.isdecimal():
        raise wrong_owner_form(expected)
    if expected != bucket.account:
        raise access_denied()


def _decide(tx: Transaction, caller: Caller, asked: _Asked, policy: str) -> None:
    """Errors: AccessDeniedException."""
    tx.services.authorize(
        tx, caller, asked.action, asked.resource, context=asked.context, policy=policy,
        resource_account=asked.bucket.account, more=lambda: _context(tx, asked),
    )  # fmt: skip


def _decide_by_grants(tx: Transaction, caller: Caller, asked: _Asked, grants: Sequence[Document]) -> None:
    """Decide again, with what the ACL of an object grants. Errors: AccessDenied."""
    try:
        _decide(tx, caller, asked, deciding_policy(asked.bucket, asked.key, grants))
    except ServiceError as error:
        raise _refusal_of(error, asked, caller) from None


def _context(tx: Transaction, asked: _Asked) -> Context:
    """The condition keys of a request, for policies that have conditions."""
    record = _record(tx, asked)
    return {
        **_OF_EACH_REQUEST,
        "s3:ResourceAccount": (asked.bucket.account,),
        **_tags_of(asked.bucket),
        **(existing_tag_keys(record.tags) if record is not None else {}),
        **keys_of(asked.params, tx.now),
    }


def _object_grants(tx: Transaction, asked: _Asked) -> Sequence[Document]:
    """The grants of an object's own ACL, where they can allow what is asked."""
    if asked.action not in _BY_OBJECT_ACL or not has_acls(asked.bucket):
        return ()
    record = _record(tx, asked)
    grants: Sequence[Document] = () if record is None else record.members.get(GRANTS, ())
    return grants


def _record(tx: Transaction, asked: _Asked) -> Record | None:
    """The record of the object that is asked for, if there is one."""
    if asked.key is None:
        return None
    version_id = asked.params.get("version_id")
    named = None if version_id is None else named_version(tx, asked.bucket, version_id)
    if version_id is not None and named is None:
        return None
    found = find_version(tx, asked.bucket, key_bytes(asked.key), named)
    return None if found is None else record_of(found.document)


def _check_region(caller: Caller, bucket: Bucket, action: str) -> None:
    """Refuse a request that was signed for another Region. Services call where the bucket is."""
    is_signed = not (caller.is_anonymous or caller.service or caller.invoked_by)
    if is_signed and action not in _EVERYWHERE:
        raise wrong_region(bucket.name, bucket.region, caller.region, caller.host)


def _tags_of(bucket: Bucket) -> Context:
    """The tags of a bucket, if they take part in decisions.

    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/buckets-tagging-enable-abac.html
    """
    is_on = bucket.settings.get(ABAC, {}).get("Status") == "Enabled"
    return resource_tags(bucket.tags) if is_on else NO_CONTEXT
