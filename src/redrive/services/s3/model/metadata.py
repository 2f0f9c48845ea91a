"""System and user metadata of objects.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from email.errors import HeaderParseError
from email.header import decode_header

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3 import limits
from redrive.services.s3.model.errors import invalid_argument
from redrive.services.s3.model.params import storable
from redrive.services.s3.model.record import STANDARD

DEFAULT_CONTENT_TYPE = "binary/octet-stream"

_HEADERS: Mapping[str, str] = {
    "cache_control": "CacheControl", "content_disposition": "ContentDisposition", "content_encoding": "ContentEncoding",
    "content_language": "ContentLanguage", "content_type": "ContentType", "expires": "Expires",
    "website_redirect_location": "WebsiteRedirectLocation",
}  # fmt: skip
_OVERRIDES: Mapping[str, str] = {
    f"response_{name}": member for name, member in _HEADERS.items() if name != "website_redirect_location"
}

STORAGE_CLASSES = frozenset({
    STANDARD, "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE",
    "GLACIER_IR",
})  # fmt: skip
ARCHIVED = frozenset({"GLACIER", "DEEP_ARCHIVE"})
"""Objects of these classes cannot be read before they are restored."""


def system_headers(params: Document) -> dict[str, object]:
    """The system metadata that a request gives, by AWS's members."""
    given = {member: params[name] for name, member in _HEADERS.items() if name in params}
    encoding = given.get("ContentEncoding")
    if isinstance(encoding, str) and "aws-chunked" in encoding:
        # How the SDK sent the body is not how the body is encoded.
        kept = [one.strip() for one in encoding.split(",") if one.strip() != "aws-chunked"]
        given["ContentEncoding"] = ",".join(kept)
        if not kept:
            del given["ContentEncoding"]
    return given


def overriding_headers(params: Document) -> dict[str, object]:
    """The headers of an answer that the request wants in place of the object's. Errors: InvalidArgument."""
    given = {member: params[name] for name, member in _OVERRIDES.items() if name in params}
    for value in given.values():
        if isinstance(value, str) and any(ord(character) > 0xFF for character in value):
            raise invalid_argument("Header value cannot be represented using ISO-8859-1.")
    return given


def user_metadata(given: Mapping[str, str] | None) -> dict[str, str]:
    """The user's metadata as it is stored: names in lower case, values decoded.

    Errors: MetadataTooLarge; InvalidArgument.
    """
    if not given:
        return {}
    stored = {
        storable(name, "metadata").lower(): _decoded(storable(value, "metadata")) for name, value in given.items()
    }
    size = sum(len(name.encode()) + len(value.encode()) for name, value in stored.items())
    if size > limits.METADATA_BYTES_MAX:
        message = "Your metadata headers exceed the maximum allowed metadata size"
        members = {"Size": str(size), "MaxSizeAllowed": str(limits.METADATA_BYTES_MAX)}
        raise ServiceError("MetadataTooLarge", message, http_status=400, members=members)
    return stored


def shown_metadata(stored: Mapping[str, str]) -> dict[str, str]:
    """The user's metadata as answers have it: what is not plain ASCII is encoded."""
    return {name: _encoded(value) for name, value in stored.items()}


def checked_storage_class(given: str | None) -> str:
    """The storage class of a new object. Errors: InvalidStorageClass."""
    if given is None:
        return STANDARD
    if given not in STORAGE_CLASSES:
        message = "The storage class you specified is not valid"
        members = {"StorageClassRequested": given}
        raise ServiceError("InvalidStorageClass", message, http_status=400, members=members)
    return given


def _decoded(value: str) -> str:
    """Text of RFC 2047 (`=?UTF-8?B?YWJj?=`) as what it stands for; anything else as it is."""
    if "=?" not in value:
        return value
    try:
        pieces = decode_header(value)
        return "".join(
            piece.decode(charset or "ascii") if isinstance(piece, bytes) else piece for piece, charset in pieces
        )
    except (HeaderParseError, LookupError, UnicodeDecodeError, ValueError):
        return value


def _encoded(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    raw = value.encode()
    plain = sum(0x20 < byte < 0x7F for byte in raw)
    if plain * 2 < len(raw):
        return f"=?UTF-8?B?{base64.b64encode(raw).decode()}?="
    text = "".join(
        chr(byte) if 0x20 < byte < 0x7F and byte not in b"=?_" else "_" if byte == 0x20 else f"={byte:02X}"
        for byte in raw
    )
    return f"=?UTF-8?Q?{text}?="
