"""Encryption, object lock, access control lists and lifecycle, as the operations on objects ask for them.

`params` has the parameters of the operation by their names in Python, without those that are None. `members` is what is
stored with an object by this module; what AWS's answers show of it is in WRITE_MEMBERS and READ_MEMBERS.
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.services.s3 import encrypting
from redrive.services.s3.access import authorize, may
from redrive.services.s3.model import lock
from redrive.services.s3.model.acl import GRANTS, AclRequest, acl_request, is_public, not_supported, read_grants
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.encryption import AES256, check_customer_key, customer_key, requested
from redrive.services.s3.model.errors import not_implemented
from redrive.services.s3.model.lifecycle import LIFECYCLE, Subject, expiration_header
from redrive.services.s3.model.owners import new_owner
from redrive.services.s3.model.policies import blocks, has_acls
from redrive.services.s3.model.refusals import access_denied
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion

ENCRYPTION_MEMBERS = (
    "ServerSideEncryption", "SSECustomerAlgorithm", "SSECustomerKeyMD5", "SSEKMSKeyId", "BucketKeyEnabled",
)  # fmt: skip
LOCK_MEMBERS = (lock.MODE, lock.UNTIL, lock.HOLD)
CONTEXT = "SSEKMSEncryptionContext"
WRITE_MEMBERS = (*ENCRYPTION_MEMBERS, CONTEXT)
"""The members that answers to writes show."""
READ_MEMBERS = frozenset((*ENCRYPTION_MEMBERS, *LOCK_MEMBERS))
"""The members that GetObject and HeadObject show."""

_HOLDS = ("object_lock_event_hold", "object_lock_event_hold_duration_days", "object_lock_event_hold_duration_years")

DATA_KEY = "DataKey"
"""The member that has the encrypted data key of KMS, with the ARN in its encryption context."""


def on_write(tx: Transaction, caller: Caller, bucket: Bucket, params: Document) -> Document:
    """The members of an object, a copy or an upload that is about to be written. Errors: ServiceError."""
    for name in _HOLDS:
        if params.get(name) is not None:
            header = f"x-amz-{name.replace('_', '-')}"
            raise not_implemented(header, "redrive has no event holds; object lock has retention and legal hold")
    return {
        **_encrypted(tx, caller, bucket, params),
        **_locked(tx, caller, bucket, params),
        **_granted(tx, caller, bucket, params),
    }


def on_read(tx: Transaction, caller: Caller, bucket: Bucket, members: Document, params: Document) -> None:  # noqa: ARG001
    """Check that an object may be read, or that a part may be added: the customer's key has to be the same.

    Errors: ServiceError.
    """
    given = customer_key(
        None, params.get("sse_customer_algorithm"), params.get("sse_customer_key"), params.get("sse_customer_key_md5")
    )
    stored = str(members.get("SSECustomerKeyMD5", ""))
    if stored or given:
        check_customer_key(stored, given)


def on_body(tx: Transaction, caller: Caller, bucket: Bucket, members: Document) -> None:
    """Check that KMS decrypts the data key of an object for the caller, before a body is read or a part is added.

    Errors: KMS.DisabledException and others of KMS; AccessDenied.
    """
    if DATA_KEY in members:
        wrapped, arn = members[DATA_KEY]
        made = encrypting.DataKey(str(wrapped), str(members["SSEKMSKeyId"]), str(arn))
        encrypting.check_readable(tx, caller, bucket, made, str(members.get(CONTEXT, "")))


def on_delete(tx: Transaction, caller: Caller, bucket: Bucket, version: ObjectVersion, params: Document) -> None:
    """Check that a version may be deleted for good. Errors: AccessDenied; InvalidRequest."""
    is_bypassing = bool(params.get("bypass_governance_retention"))
    if is_bypassing and not lock.has_lock(bucket):
        raise lock.not_applicable()
    members: Document = version.document.get("members", {})
    if lock.is_kept(members, tx.now):
        raise lock.is_protected()
    if lock.needs_bypass(members, tx.now) and not (
        is_bypassing and may(tx, caller, bucket, "s3:BypassGovernanceRetention", key=version.key.decode())
    ):
        raise lock.is_protected()


def expiration_of(bucket: Bucket, version: ObjectVersion) -> str | None:
    """The header `x-amz-expiration` of a current version, or None."""
    if LIFECYCLE not in bucket.settings or version.is_marker:
        return None
    subject = Subject(version.key.decode(), version.size, version.document.get("tags", {}))
    return expiration_header(bucket, subject, version.modified_at)


def allowed_grants(caller: Caller, bucket: Bucket, owner: str, asked: AclRequest) -> list[Document]:
    """The grants that a request asks for, if the bucket takes them.

    Errors: AccessControlListNotSupported; AccessDenied (public, and blocked); those of `read_grants`.
    """
    grants = read_grants(asked, owner, bucket.account)
    if not has_acls(bucket) and not asked.changes_nothing and not _is_owners_alone(grants, bucket):
        raise not_supported()
    if blocks(bucket, "BlockPublicAcls") and is_public(grants):
        message = (
            f"User: {caller.principal_arn} is not authorized to perform this because public ACLs are prevented by the "
            "BlockPublicAcls setting in S3 Block Public Access."
        )
        raise access_denied(message)
    return grants


def _is_owners_alone(grants: list[Document], bucket: Bucket) -> bool:
    return grants == read_grants(AclRequest(), bucket.account, bucket.account)


def _granted(tx: Transaction, caller: Caller, bucket: Bucket, params: Document) -> Document:
    asked = acl_request(
        params.get("acl"), full=params.get("grant_full_control"), read=params.get("grant_read"),
        read_acp=params.get("grant_read_acp"), write_acp=params.get("grant_write_acp"),
    )  # fmt: skip
    if asked.is_empty:
        return {}
    authorize(tx, caller, bucket, "s3:PutObjectAcl", key=str(params["key"]), params=params)
    grants = allowed_grants(caller, bucket, new_owner(bucket, caller.account, params), asked)
    return {GRANTS: grants} if has_acls(bucket) and asked.canned != "private" else {}


def _encrypted(tx: Transaction, caller: Caller, bucket: Bucket, params: Document) -> Document:
    algorithm = params.get("server_side_encryption")
    digest = customer_key(
        bucket, params.get("sse_customer_algorithm"), params.get("sse_customer_key"),
        params.get("sse_customer_key_md5"),
    )  # fmt: skip
    if digest:
        return {"SSECustomerAlgorithm": AES256, "SSECustomerKeyMD5": digest}
    chosen = requested(
        bucket, algorithm, params.get("ssekms_key_id"), has_bucket_key=params.get("bucket_key_enabled"),
        context=params.get("ssekms_encryption_context", ""),
    )  # fmt: skip
    if not chosen.needs_kms:
        return {"ServerSideEncryption": chosen.algorithm}
    made = encrypting.encrypt(tx, caller, bucket, str(params["key"]), chosen)
    members: Document = {
        "ServerSideEncryption": chosen.algorithm, "SSEKMSKeyId": made.key_arn, DATA_KEY: [made.wrapped, made.subject],
    }  # fmt: skip
    if chosen.context:
        members[CONTEXT] = chosen.context
    return {**members, "BucketKeyEnabled": True} if chosen.has_bucket_key else members


def _locked(tx: Transaction, caller: Caller, bucket: Bucket, params: Document) -> Document:
    """The retention and the legal hold of what is about to be written. Errors: InvalidRequest; InvalidArgument."""
    asked = lock.requested(params.get("object_lock_mode"), params.get("object_lock_retain_until_date"), tx.now)
    hold = params.get("object_lock_legal_hold_status")
    if (asked is not None or hold is not None) and not lock.has_lock(bucket):
        raise lock.missing_configuration()
    members: Document = {}
    for needed, action in ((asked, "s3:PutObjectRetention"), (hold, "s3:PutObjectLegalHold")):
        if needed is not None:
            authorize(tx, caller, bucket, action, key=str(params["key"]), params=params)
    retention = asked or lock.default_retention(bucket, tx.now)
    if retention is not None:
        members |= {lock.MODE: retention.mode, lock.UNTIL: retention.until}
    return members if hold is None else {**members, lock.HOLD: hold}
