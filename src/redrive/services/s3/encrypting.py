"""Asks KMS whether the key of an object may be used, as S3 does for its callers.

    write  ──► GenerateDataKey of the key ──► the object keeps the encrypted data key, and shows the ARN of the key
    read   ──► Decrypt of that data key: the key's state, its policy, the caller's permissions

The answer of KMS decides; the bytes of bodies are stored as they came. A large body is on the disk before the
operation that says how it is encrypted begins, and AWS shows nothing of the encrypted bytes to anybody. With a bucket
key, AWS asks KMS once for many objects; here the decision is made for each, with the same encryption context.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.s3.model.bucket import Bucket, bucket_arn
from redrive.services.s3.model.encryption import Encryption, read_context
from redrive.services.s3.model.refusals import access_denied
from redrive.store.api import Transaction

_SERVICE = "s3.amazonaws.com"


@dataclass(frozen=True, slots=True)
class DataKey:
    """An encrypted data key in base64, the ARN of the key that encrypts it, and the ARN in its encryption context."""

    wrapped: str
    key_arn: str
    subject: str


def encrypt(tx: Transaction, caller: Caller, bucket: Bucket, key: str, chosen: Encryption) -> DataKey:
    """A data key for an object that is about to be written.

    Errors: KMS.NotFoundException; KMS.DisabledException; KMS.KMSInvalidStateException; AccessDenied.
    """
    # Key policies see the bucket's ARN where a bucket key is used.
    subject = bucket.arn if chosen.has_bucket_key else bucket_arn(f"{bucket.name}/{key}")
    params = {"KeyId": chosen.key_id, "KeySpec": "AES_256", "EncryptionContext": _context(subject, chosen.context)}
    made = _call(tx, caller, bucket, "GenerateDataKey", params)
    return DataKey(base64.b64encode(bytes(made["CiphertextBlob"])).decode(), str(made["KeyId"]), subject)


def check_readable(
    tx: Transaction, caller: Caller, bucket: Bucket, made: DataKey, context: str
) -> None:  # fmt: skip
    """Refuse a read whose data key KMS does not decrypt for the caller.

    `context` is what the writer added to the encryption context. Errors: as of `encrypt`.
    """
    params = {
        "CiphertextBlob": base64.b64decode(made.wrapped), "KeyId": made.key_arn,
        "EncryptionContext": _context(made.subject, context),
    }  # fmt: skip
    _call(tx, caller, bucket, "Decrypt", params)


def _context(subject: str, added: str) -> dict[str, str]:
    """The encryption context. The ARN is S3's to say, whatever was added."""
    return {**read_context(added), "aws:s3:arn": subject}


def _call(tx: Transaction, caller: Caller, bucket: Bucket, operation: str, params: Document) -> Document:
    """Errors: those of KMS, as S3 tells them."""
    if caller.is_anonymous:
        raise access_denied()
    scope = replace(caller.scope, region=bucket.region)
    try:
        return tx.services.call(tx, replace(caller, scope=scope, invoked_by=_SERVICE), "kms", operation, params)
    except ServiceError as error:
        if error.code in ("AccessDeniedException", "AccessDenied"):
            raise access_denied(error.message) from None
        raise ServiceError(f"KMS.{error.code.removeprefix('KMS.')}", error.message, http_status=400) from None
