"""The operations on object lock: a bucket's configuration, the retention and the legal hold of versions."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of, may
from redrive.services.s3.changing import change_members, set_setting
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.condition_keys import retention_keys
from redrive.services.s3.model.errors import malformed_xml
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.model.lock import (
    COMPLIANCE,
    HOLD,
    HOLDS,
    LOCK,
    MODE,
    MODES,
    UNTIL,
    Retention,
    check_configuration,
    check_until,
    has_lock,
    is_loosened,
    is_protected,
    missing_configuration,
    retention_of,
)
from redrive.services.s3.model.record import record_of
from redrive.services.s3.model.refusals import not_set
from redrive.services.s3.reading import read_version
from redrive.store.api import Transaction

_NOT_SET = "NoSuchObjectLockConfiguration"
_NOT_SET_MESSAGE = "The specified object does not have a ObjectLock configuration"


@operation("PutObjectLockConfiguration")
def put_object_lock_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, object_lock_configuration: Document | None = None,
    request_payer: str | None = None, token: str | None = None, content_md5: str | None = None,  # noqa: ARG001
    checksum_algorithm: str | None = None, expected_bucket_owner: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Give a bucket object lock for good, and the retention that new versions have by default.

    Errors: NoSuchBucket; AccessDenied; MalformedXML; InvalidArgument; InvalidBucketState (no versioning).
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObjectLockConfiguration.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketObjectLockConfiguration", expected_owner=expected_bucket_owner)
    configuration = check_configuration(object_lock_configuration)
    if found.versioning != "Enabled":
        message = "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration"
        raise ServiceError("InvalidBucketState", message, http_status=409)
    set_setting(tx, found, LOCK, configuration)
    return {}


@operation("GetObjectLockConfiguration")
def get_object_lock_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return the object lock of a bucket.

    Errors: NoSuchBucket; AccessDenied; ObjectLockConfigurationNotFoundError.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectLockConfiguration.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketObjectLockConfiguration", expected_owner=expected_bucket_owner)
    if LOCK not in found.settings:
        message = "Object Lock configuration does not exist for this bucket"
        raise not_set("ObjectLockConfigurationNotFoundError", message, bucket)
    return {"ObjectLockConfiguration": found.settings[LOCK]}


@operation("PutObjectRetention")
def put_object_retention(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, retention: Document | None = None,
    request_payer: str | None = None, version_id: str | None = None,  # noqa: ARG001
    bypass_governance_retention: bool | None = None, content_md5: str | None = None,  # noqa: ARG001
    checksum_algorithm: str | None = None, expected_bucket_owner: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Keep a version until an instant. A longer time may be given by everybody who may do this, a shorter one by few.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; AccessDenied; InvalidRequest; InvalidArgument; MalformedXML;
    MethodNotAllowed (a delete marker).
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObjectRetention.html
    """
    wanted = _wanted(retention)
    context = {} if wanted is None else retention_keys(wanted.mode, wanted.until, tx.now)
    found = bucket_of(
        tx, caller, bucket, "s3:PutObjectRetention", key=key, expected_owner=expected_bucket_owner, context=context,
        params={} if version_id is None else {"version_id": version_id},
    )  # fmt: skip
    _require_lock(found)
    if wanted is not None:
        check_until(wanted.until, tx.now)
    tx.objects.reserve(found.bucket_id, key_bytes(key))
    version = read_version(tx, caller, found, key, version_id, method="PUT")
    members = record_of(version.document).members
    if is_loosened(members, wanted, tx.now):
        is_compliance = members[MODE] == COMPLIANCE
        if is_compliance or not (bypass_governance_retention and may_bypass(tx, caller, found, key)):
            raise is_protected()
    others = {name: value for name, value in members.items() if name not in (MODE, UNTIL)}
    change_members(tx, found, version, others if wanted is None else {**others, MODE: wanted.mode, UNTIL: wanted.until})
    return {}


@operation("GetObjectRetention")
def get_object_retention(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, version_id: str | None = None,
    request_payer: str | None = None, expected_bucket_owner: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Return how long a version is kept.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; AccessDenied; InvalidRequest; NoSuchObjectLockConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectRetention.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetObjectRetention", key=key, expected_owner=expected_bucket_owner)
    _require_lock(found)
    version = read_version(tx, caller, found, key, version_id, method="GET")
    present = retention_of(record_of(version.document).members)
    if present is None:
        raise not_set(_NOT_SET, _NOT_SET_MESSAGE, bucket)
    return {"Retention": {"Mode": present.mode, "RetainUntilDate": present.until}}


@operation("PutObjectLegalHold")
def put_object_legal_hold(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, legal_hold: Document | None = None,
    request_payer: str | None = None, version_id: str | None = None, content_md5: str | None = None,  # noqa: ARG001
    checksum_algorithm: str | None = None, expected_bucket_owner: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Keep a version until the hold is lifted, or lift it.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; AccessDenied; InvalidRequest; MalformedXML; MethodNotAllowed.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObjectLegalHold.html
    """
    status = (legal_hold or {}).get("Status")
    if status not in HOLDS:
        raise malformed_xml()
    found = bucket_of(
        tx, caller, bucket, "s3:PutObjectLegalHold", key=key, expected_owner=expected_bucket_owner,
        params={"object_lock_legal_hold_status": status},
    )  # fmt: skip
    _require_lock(found)
    tx.objects.reserve(found.bucket_id, key_bytes(key))
    version = read_version(tx, caller, found, key, version_id, method="PUT")
    change_members(tx, found, version, {**record_of(version.document).members, HOLD: status})
    return {}


@operation("GetObjectLegalHold")
def get_object_legal_hold(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, version_id: str | None = None,
    request_payer: str | None = None, expected_bucket_owner: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Say whether a version is held.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; AccessDenied; InvalidRequest; NoSuchObjectLockConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectLegalHold.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetObjectLegalHold", key=key, expected_owner=expected_bucket_owner)
    _require_lock(found)
    version = read_version(tx, caller, found, key, version_id, method="GET")
    status = record_of(version.document).members.get(HOLD)
    if status is None:
        raise not_set(_NOT_SET, _NOT_SET_MESSAGE, bucket)
    return {"LegalHold": {"Status": status}}


def may_bypass(tx: Transaction, caller: Caller, bucket: Bucket, key: str) -> bool:
    """Whether the caller may shorten what GOVERNANCE keeps."""
    return may(tx, caller, bucket, "s3:BypassGovernanceRetention", key=key)


def _require_lock(bucket: Bucket) -> None:
    if not has_lock(bucket):
        raise missing_configuration()


def _wanted(retention: Document | None) -> Retention | None:
    """The retention of a document; None for an empty one, which takes the retention away. Errors: MalformedXML."""
    given = retention or {}
    mode, until = given.get("Mode"), given.get("RetainUntilDate")
    if mode is None and until is None:
        return None
    if mode not in MODES or until is None:
        raise malformed_xml()
    return Retention(mode, int(until))
