"""The operations on access control lists of buckets and objects."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller, canonical_user
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.changing import change_members, set_setting
from redrive.services.s3.model.acl import GRANTS, AclRequest, acl_request, missing_acl, owner_grant
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.happened import Happened
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.model.params import params_of
from redrive.services.s3.model.policies import ACL, has_acls
from redrive.services.s3.model.record import record_of
from redrive.services.s3.protection import allowed_grants
from redrive.services.s3.reading import read_version
from redrive.services.s3.telling import tell
from redrive.services.s3.versions import told_id
from redrive.store.api import Transaction


@operation("PutBucketAcl")
def put_bucket_acl(
    tx: Transaction, caller: Caller, *, bucket: str, acl: str | None = None,
    access_control_policy: Document | None = None, content_md5: str | None = None,
    checksum_algorithm: str | None = None, grant_full_control: str | None = None, grant_read: str | None = None,
    grant_read_acp: str | None = None, grant_write: str | None = None, grant_write_acp: str | None = None,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Say by an ACL who may use a bucket.

    Errors: NoSuchBucket; AccessDenied; AccessControlListNotSupported; InvalidArgument; InvalidRequest;
    MalformedACLError; MissingSecurityHeader.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketAcl.html
    """
    params = params_of(locals())
    found = bucket_of(
        tx, caller, bucket, "s3:PutBucketAcl", expected_owner=expected_bucket_owner, params=params
    )  # fmt: skip
    grants = allowed_grants(caller, found, found.account, _asked(params))
    if has_acls(found):
        set_setting(tx, found, ACL, {"Grants": grants})
    return {}


@operation("GetBucketAcl")
def get_bucket_acl(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return the ACL of a bucket.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketAcl.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketAcl", expected_owner=expected_bucket_owner)
    return _shown(found, found.account, found.settings.get(ACL, {}).get("Grants"))


@operation("PutObjectAcl")
def put_object_acl(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, acl: str | None = None,
    access_control_policy: Document | None = None, content_md5: str | None = None,
    checksum_algorithm: str | None = None, grant_full_control: str | None = None, grant_read: str | None = None,
    grant_read_acp: str | None = None, grant_write: str | None = None, grant_write_acp: str | None = None,
    request_payer: str | None = None, version_id: str | None = None, expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Say by an ACL who may use an object.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; AccessDenied; AccessControlListNotSupported; InvalidArgument;
    InvalidRequest; MalformedACLError; MissingSecurityHeader; MethodNotAllowed (a delete marker).
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObjectAcl.html
    """
    params = params_of(locals())
    action = "s3:PutObjectAcl" if version_id is None else "s3:PutObjectVersionAcl"
    found = bucket_of(tx, caller, bucket, action, key=key, expected_owner=expected_bucket_owner, params=params)
    tx.objects.reserve(found.bucket_id, key_bytes(key))
    version = read_version(tx, caller, found, key, version_id, method="PUT")
    record = record_of(version.document)
    grants = allowed_grants(caller, found, record.owner, _asked(params))
    if not has_acls(found) or grants == record.members.get(GRANTS, [owner_grant(record.owner)]):
        return {}
    change_members(tx, found, version, {**record.members, GRANTS: grants})
    happened = Happened(
        "ObjectAcl:Put", key, etag=record.etag, version_id=told_id(tx, version), reason="PutObjectAcl",
        source_ip=caller.source_ip,
    )  # fmt: skip
    tell(tx, caller, found, happened)
    return {}


@operation("GetObjectAcl")
def get_object_acl(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, version_id: str | None = None,
    request_payer: str | None = None, expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Return the ACL of an object.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; AccessDenied; MethodNotAllowed (a delete marker).
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAcl.html
    """
    params = params_of(locals())
    action = "s3:GetObjectAcl" if version_id is None else "s3:GetObjectVersionAcl"
    found = bucket_of(tx, caller, bucket, action, key=key, expected_owner=expected_bucket_owner, params=params)
    record = record_of(read_version(tx, caller, found, key, version_id, method="GET").document)
    return _shown(found, record.owner, record.members.get(GRANTS))


def _asked(params: Document) -> AclRequest:
    """The ACL of a request. Errors: MissingSecurityHeader."""
    asked = acl_request(
        params.get("acl"), params.get("access_control_policy"), full=params.get("grant_full_control"),
        read=params.get("grant_read"), read_acp=params.get("grant_read_acp"), write=params.get("grant_write"),
        write_acp=params.get("grant_write_acp"),
    )  # fmt: skip
    if asked.is_empty:
        raise missing_acl()
    return asked


def _shown(bucket: Bucket, owner: str, grants: list[Document] | None) -> Document:
    """An ACL as S3 shows it; where ACLs do not count, the bucket's owner has everything."""
    shown_owner = owner if has_acls(bucket) else bucket.account
    if grants is None or not has_acls(bucket):
        grants = [owner_grant(shown_owner)]
    return {"Owner": {"ID": canonical_user(shown_owner)}, "Grants": grants}
