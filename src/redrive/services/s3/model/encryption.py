"""Encryption: what a bucket encrypts with by default, and what a request says.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-encryption.html and
https://docs.aws.amazon.com/AmazonS3/latest/userguide/ServerSideEncryptionCustomerKeys.html
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.errors import invalid_argument, invalid_request, malformed_xml

ENCRYPTION = "ServerSideEncryptionConfiguration"
AES256 = "AES256"
KMS_ALGORITHMS = ("aws:kms", "aws:kms:dsse")
DEFAULT_KEY = "alias/aws/s3"
CUSTOMER_KEY_BYTES = 32

FIRST: Document = {
    "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": AES256}, "BucketKeyEnabled": False}]
}
"""What a bucket has that was never told anything."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """How a version of an object is encrypted. `key_id` is the ARN of a key of KMS; `customer_key` a digest of SSE-C's.

    The digest is that by which S3 knows a customer's key, base64 of its MD5. `context` is what a request adds to the
    encryption context, as its header says it.
    """

    algorithm: str = AES256
    key_id: str = ""
    has_bucket_key: bool = False
    customer_key: str = ""
    context: str = ""

    @property
    def needs_kms(self) -> bool:
        return self.algorithm in KMS_ALGORITHMS and not self.customer_key


def check_configuration(configuration: Document) -> Document:
    """The encryption that a bucket is to have by default. Errors: MalformedXML; InvalidArgument; InvalidRequest."""
    rules = configuration.get("Rules") or []
    if len(rules) != 1:
        raise malformed_xml()
    (rule,) = rules
    by_default = rule.get("ApplyServerSideEncryptionByDefault")
    if by_default is None:
        by_default = FIRST["Rules"][0]["ApplyServerSideEncryptionByDefault"]
    algorithm, key_id = by_default.get("SSEAlgorithm"), by_default.get("KMSMasterKeyID")
    if algorithm != AES256 and algorithm not in KMS_ALGORITHMS:
        raise malformed_xml()
    if key_id is not None and algorithm == AES256:
        message = "a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or aws:kms:dsse"
        raise invalid_argument(message, "ApplyServerSideEncryptionByDefault", algorithm)
    shown = {"SSEAlgorithm": algorithm, **({} if key_id is None else {"KMSMasterKeyID": key_id})}
    made: Document = {
        "ApplyServerSideEncryptionByDefault": shown, "BucketKeyEnabled": bool(rule.get("BucketKeyEnabled")),
    }  # fmt: skip
    blocked = (rule.get("BlockedEncryptionTypes") or {}).get("EncryptionType")
    if blocked is not None:
        if any(one not in ("NONE", "SSE-C") for one in blocked) or not blocked:
            raise malformed_xml()
        made["BlockedEncryptionTypes"] = {"EncryptionType": list(blocked)}
    return {"Rules": [made]}


def configuration_of(bucket: Bucket) -> Document:
    """The encryption that a bucket has by default."""
    return bucket.settings.get(ENCRYPTION, FIRST)


def has_default(bucket: Bucket) -> bool:
    """Whether somebody has said how a bucket encrypts: then a copy of an object to itself changes something."""
    return ENCRYPTION in bucket.settings


def requested(
    bucket: Bucket, algorithm: str | None, key_id: str | None, *, has_bucket_key: bool | None, context: str = ""
) -> Encryption:
    """How an object is encrypted that a request writes: as the request says, or as its bucket says.

    The key's name is as somebody has written it; KMS says which key that is. Errors: InvalidArgument.
    """
    read_context(context)
    if algorithm is None and (key_id is not None or context):
        message = (
            "Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : "
            "aws:kms or aws:kms:dsse"
        )
        raise invalid_argument(message, "x-amz-server-side-encryption", "")
    if algorithm is not None and algorithm != AES256 and algorithm not in KMS_ALGORITHMS:
        message = "The encryption method specified is not supported"
        raise invalid_argument(message, "x-amz-server-side-encryption", algorithm)
    if algorithm == AES256 and (key_id is not None or context):
        message = (
            "Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : "
            "aws:kms or aws:kms:dsse"
        )
        raise invalid_argument(message, "x-amz-server-side-encryption", algorithm)
    if algorithm == AES256 or (algorithm is None and not has_default(bucket)):
        return Encryption()
    (rule,) = configuration_of(bucket)["Rules"]
    by_default: Document = rule["ApplyServerSideEncryptionByDefault"]
    chosen = str(algorithm or by_default["SSEAlgorithm"])
    if chosen == AES256:
        return Encryption()
    default_key = by_default.get("KMSMasterKeyID") if by_default["SSEAlgorithm"] in KMS_ALGORITHMS else None
    bucket_key = bool(rule.get("BucketKeyEnabled")) if has_bucket_key is None else has_bucket_key
    return Encryption(chosen, str(key_id or default_key or DEFAULT_KEY), has_bucket_key=bucket_key, context=context)


def read_context(header: str) -> dict[str, str]:
    """What the header adds to the encryption context of KMS: base64 of a JSON object of texts. Errors: InvalidArgument.

    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
    """
    if not header:
        return {}
    try:
        context = json.loads(base64.b64decode(header, validate=True))
    except ValueError:
        context = None
    if not isinstance(context, dict) or not all(isinstance(value, str) for value in context.values()):
        message = (
            "The header 'x-amz-server-side-encryption-context' shall be Base64-encoded UTF-8 string holding JSON which "
            "represents a string-string map"
        )
        raise invalid_argument(message, "x-amz-server-side-encryption-context", header)
    return context


def customer_key(bucket: Bucket | None, algorithm: str | None, key: str | None, md5: str | None) -> str:
    """The digest of the key that a request brings (SSE-C), checked; empty if the request brings none.

    `bucket` is the one that is written to, None for reads.
    Errors: InvalidArgument; InvalidEncryptionAlgorithmError; AccessDenied (the bucket blocks SSE-C).
    """
    if algorithm is None and key is None and md5 is None:
        return ""
    if algorithm is None or key is None or md5 is None:
        raise _incomplete(algorithm, key)
    if algorithm != AES256:
        message = "The Encryption request you specified is not valid. Supported value: AES256."
        members = {"ArgumentName": "x-amz-server-side-encryption", "ArgumentValue": algorithm}
        raise ServiceError("InvalidEncryptionAlgorithmError", message, http_status=400, members=members)
    raw = _decoded(key)
    name = "x-amz-server-side-encryption-customer-key"
    if raw is None or len(raw) != CUSTOMER_KEY_BYTES:
        raise invalid_argument("The secret key was invalid for the specified algorithm.", name, "null")
    digest = base64.b64encode(hashlib.md5(raw, usedforsecurity=False).digest()).decode()
    if digest != md5:
        message = "The calculated MD5 hash of the key did not match the hash that was provided."
        raise invalid_argument(message, name, "null")
    if bucket is not None and _blocks_customer_keys(bucket):
        message = (
            "Server Side Encryption with Customer provided keys is blocked by this bucket's encryption configuration."
        )
        raise ServiceError("AccessDenied", message, http_status=403)
    return digest


def check_customer_key(stored: str, given: str) -> None:
    """Refuse a read without the key that an object was written with. Errors: InvalidRequest; AccessDenied."""
    if stored == given:
        return
    if not given:
        message = (
            "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to "
            "retrieve the object."
        )
        raise invalid_request(message)
    if not stored:
        raise invalid_request("The encryption parameters are not applicable to this object.")
    message = (
        "Requests specifying Server Side Encryption with Customer provided keys must provide the correct secret key."
    )
    raise ServiceError("AccessDenied", message, http_status=403)


def _incomplete(algorithm: str | None, key: str | None) -> ServiceError:
    required = "Requests specifying Server Side Encryption with Customer provided keys must provide"
    name = "x-amz-server-side-encryption"
    if algorithm is None:
        return invalid_argument(f"{required} a valid encryption algorithm.", name, "null")
    if key is None:
        return invalid_argument(f"{required} an appropriate secret key.", name, "null")
    return invalid_argument(f"{required} the client calculated MD5 of the secret key.", name, "null")


def _blocks_customer_keys(bucket: Bucket) -> bool:
    (rule,) = configuration_of(bucket)["Rules"]
    return "SSE-C" in (rule.get("BlockedEncryptionTypes") or {}).get("EncryptionType", ())


def _decoded(key: str) -> bytes | None:
    try:
        return base64.b64decode(key, validate=True)
    except (ValueError, binascii.Error):
        return None
