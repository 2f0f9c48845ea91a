"""The checksums that requests declare, and how they are checked.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3.model.errors import invalid_request, not_implemented
from redrive.services.s3.model.record import COMPOSITE, FULL_OBJECT, Checksum

DEFAULT_ALGORITHM = "CRC64NVME"
"""The algorithm of an object whose request names none, and so the one that S3 computes itself."""

_BYTES: Mapping[str, int] = {
    "CRC32": 4, "CRC32C": 4, "CRC64NVME": 8, "SHA1": 20, "SHA256": 32, "SHA512": 64, "MD5": 16,
}  # fmt: skip
_KEYWORDS: Mapping[str, str] = {
    "checksum_crc32": "CRC32", "checksum_crc32_c": "CRC32C", "checksum_crc64_nvme": "CRC64NVME",
    "checksum_sha1": "SHA1", "checksum_sha256": "SHA256", "checksum_sha512": "SHA512", "checksum_md5": "MD5",
}  # fmt: skip
_UNSERVED: Mapping[str, str] = {
    "checksum_xxhash64": "xxhash64", "checksum_xxhash3": "xxhash3", "checksum_xxhash128": "xxhash128",
}  # fmt: skip
_UNSERVED_NAMES = ("XXHASH64", "XXHASH3", "XXHASH128")

LINEAR = ("CRC32", "CRC32C", "CRC64NVME")
"""The algorithms whose values of parts can be combined into the value of the whole."""
_COMPOSITE_ONLY = ("SHA1", "SHA256", "SHA512", "MD5")
_FULL_ONLY = ("CRC64NVME",)

DigestOf = Callable[[str], bytes]
"""The digest of the request's body by an algorithm."""


def declared_checksum(params: Document) -> Checksum | None:
    """The checksum that a request declares for its body. Errors: InvalidRequest; NotImplemented."""
    for keyword, name in _UNSERVED.items():
        if keyword in params:
            raise not_implemented(f"x-amz-checksum-{name}", f"redrive does not compute {name}; use CRC64NVME")
    given = [(algorithm, str(params[keyword])) for keyword, algorithm in _KEYWORDS.items() if keyword in params]
    if not given:
        return None
    if len(given) > 1:
        message = "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
        raise invalid_request(message)
    algorithm, value = given[0]
    return Checksum(algorithm, value)


def checked(checksum: Checksum) -> Checksum:
    """The same checksum, if its value has the form of its algorithm. Errors: InvalidRequest."""
    try:
        raw = base64.b64decode(checksum.value, validate=True)
    except ValueError:
        raw = b""
    if len(raw) != _BYTES[checksum.algorithm]:
        header = f"x-amz-checksum-{checksum.algorithm.lower()}"
        raise invalid_request(f"Value for {header} header is invalid.")
    return checksum


def body_checksum(params: Document, digest_of: DigestOf) -> Checksum:
    """The checksum to store with a body: the declared one if it is right, or CRC64NVME.

    Errors: InvalidRequest; BadDigest; InvalidDigest.
    """
    check_md5(params, digest_of)
    declared = declared_checksum(params)
    if declared is None:
        return computed(DEFAULT_ALGORITHM, digest_of)
    checked(declared)
    made = computed(declared.algorithm, digest_of)
    if made.value != declared.value:
        raise bad_checksum(declared.algorithm)
    return made


def computed(algorithm: str, digest_of: DigestOf) -> Checksum:
    """The checksum of a body."""
    return Checksum(algorithm, base64.b64encode(digest_of(algorithm)).decode())


def bad_checksum(algorithm: str) -> ServiceError:
    """The error for a checksum that is not that of what came."""
    message = f"The {algorithm} you specified did not match the calculated checksum."
    return ServiceError("BadDigest", message, http_status=400)


def check_md5(params: Document, digest_of: DigestOf) -> None:
    """Check the header Content-MD5, if there is one. Errors: InvalidDigest; BadDigest."""
    given = params.get("content_md5")
    if given is None:
        return
    try:
        expected = base64.b64decode(given, validate=True)
    except ValueError:
        expected = b""
    if len(expected) != _BYTES["MD5"]:
        message = "The Content-MD5 you specified was invalid."
        raise ServiceError("InvalidDigest", message, http_status=400, members={"Content-MD5": given})
    actual = digest_of("MD5")
    if actual != expected:
        message = "The Content-MD5 you specified did not match what we received."
        members = {"ExpectedDigest": expected.hex(), "CalculatedDigest": base64.b64encode(actual).decode()}
        raise ServiceError("BadDigest", message, http_status=400, members=members)


def checked_algorithm(algorithm: str) -> str:
    """An algorithm that a request names. Errors: InvalidRequest; NotImplemented."""
    if algorithm in _UNSERVED_NAMES:
        raise not_implemented("x-amz-checksum-algorithm", f"redrive does not compute {algorithm}; use CRC64NVME")
    if algorithm not in _BYTES:
        message = (
            "Checksum algorithm provided is unsupported. Please try again with any of the valid types: "
            "[CRC32, CRC32C, CRC64NVME, SHA1, SHA256]"
        )
        raise invalid_request(message)
    return algorithm


def upload_checksum(algorithm: str | None, kind: str | None) -> tuple[str, str]:
    """The algorithm of a multipart upload, and how it counts; both are empty if the request names neither.

    Errors: InvalidRequest.
    """
    if algorithm is None:
        if kind is not None:
            message = "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
            raise invalid_request(message)
        return "", ""
    checked_algorithm(algorithm)
    if kind is None:
        return algorithm, FULL_OBJECT if algorithm in _FULL_ONLY else COMPOSITE
    impossible = _COMPOSITE_ONLY if kind == FULL_OBJECT else _FULL_ONLY
    if kind not in {FULL_OBJECT, COMPOSITE}:
        raise invalid_request("Value for x-amz-checksum-type header is invalid.")
    if algorithm in impossible:
        name = algorithm.lower()
        message = f"The {kind} checksum type cannot be used with the {name} checksum algorithm."
        raise invalid_request(message)
    return algorithm, kind
