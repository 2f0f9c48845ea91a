"""What a request declares of a document in its body: Content-MD5 and checksums, checked where the document is read.

The digests that objects are declared with are checked by the operations, which also store them.
Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping

from redrive.core.errors import ServiceError
from redrive.delivery.checksums import ALGORITHMS, digest_of

_MD5 = "content-md5"
_PREFIX = "x-amz-checksum-"
_SIZES = {"CRC32": 4, "CRC32C": 4, "CRC64NVME": 8, "SHA1": 20, "SHA256": 32, "SHA512": 64, "MD5": 16}


def check_declared(headers: Mapping[str, str], body: bytes, *, is_needed: bool) -> None:
    """Refuse a document that is not the declared one, or, if a digest `is_needed`, one without.

    Errors: InvalidDigest; BadDigest; InvalidRequest.
    """
    names = [name for name in ALGORITHMS if f"{_PREFIX}{name.lower()}" in headers]
    if _MD5 in headers:
        _check_md5(headers[_MD5], body)
    elif is_needed and not names:
        message = "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"
        raise ServiceError("InvalidRequest", message, http_status=400)
    if len(names) > 1:
        message = "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
        raise ServiceError("InvalidRequest", message, http_status=400)
    for name in names:
        _check_sum(name, headers[f"{_PREFIX}{name.lower()}"], body)


def _check_md5(declared: str, body: bytes) -> None:
    given = _decoded(declared)
    if given is None or len(given) != _SIZES["MD5"]:
        raise ServiceError(
            "InvalidDigest", "The Content-MD5 you specified was invalid.", http_status=400,
            members={"Content-MD5": declared},
        )  # fmt: skip
    actual = hashlib.md5(body, usedforsecurity=False).digest()
    if actual != given:
        raise ServiceError(
            "BadDigest", "The Content-MD5 you specified did not match what we received.", http_status=400,
            members={"ExpectedDigest": given.hex(), "CalculatedDigest": base64.b64encode(actual).decode()},
        )  # fmt: skip


def _check_sum(algorithm: str, declared: str, body: bytes) -> None:
    given = _decoded(declared)
    if given is None or len(given) != _SIZES[algorithm]:
        message = f"Value for {_PREFIX}{algorithm.lower()} header is invalid."
        raise ServiceError("InvalidRequest", message, http_status=400)
    digest = digest_of(algorithm)
    digest.update(body)
    if digest.digest() != given:
        message = f"The {algorithm} you specified did not match the calculated checksum."
        raise ServiceError("BadDigest", message, http_status=400)


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # No base64, or no ASCII.
        return None
