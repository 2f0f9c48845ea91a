"""Ids of versions and of uploads: opaque texts, which only this store can have made.

An id is a number, hidden, with a code that depends on the store's secret. So an id that was never given is told apart
from the id of a version that was deleted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

NULL = "null"
"""The version id of what was written while the bucket had no versioning, or while versioning was suspended."""

_NUMBER_BYTES = 8
_CODE_BYTES = 16
_LENGTH = 32
_UPLOAD_LENGTH = 128
_VERSION, _UPLOAD = b"version", b"upload"
_OTHERS = b"._"
_NUMBER_MAX = 2**63 - 1


def encode_version_id(number: int, secret: bytes) -> str:
    """The id of the version with this number: 32 characters."""
    return _encoded(_VERSION, number, secret)


def decode_version_id(version_id: str, secret: bytes) -> int | None:
    """The number of the version with this id; None if this store has never given the id."""
    return _decoded(_VERSION, version_id, secret)


def encode_upload_id(number: int, secret: bytes) -> str:
    """The id of the upload with this number: 128 characters."""
    encoded = _encoded(_UPLOAD, number, secret)
    rest = [_digest(secret, b"rest", encoded.encode() + bytes([place])) for place in range(3)]
    return (encoded + base64.b64encode(b"".join(rest), _OTHERS).decode())[:_UPLOAD_LENGTH]


def decode_upload_id(upload_id: str, secret: bytes) -> int | None:
    """The number of the upload with this id; None if this store has never given the id."""
    number = _decoded(_UPLOAD, upload_id[:_LENGTH], secret)
    return number if number is not None and encode_upload_id(number, secret) == upload_id else None


def _encoded(purpose: bytes, number: int, secret: bytes) -> str:
    code = _digest(secret, purpose, number.to_bytes(_NUMBER_BYTES, "big"))[:_CODE_BYTES]
    hidden = number ^ int.from_bytes(_digest(secret, b"hide", code)[:_NUMBER_BYTES], "big")
    return base64.b64encode(code + hidden.to_bytes(_NUMBER_BYTES, "big"), _OTHERS).decode()


def _decoded(purpose: bytes, text: str, secret: bytes) -> int | None:
    if len(text) != _LENGTH:
        return None
    try:
        content = base64.b64decode(text.encode("ascii"), _OTHERS, validate=True)
    except ValueError:
        return None
    code = content[:_CODE_BYTES]
    number = int.from_bytes(content[_CODE_BYTES:], "big")
    number ^= int.from_bytes(_digest(secret, b"hide", code)[:_NUMBER_BYTES], "big")
    if not 0 < number <= _NUMBER_MAX:
        return None
    return number if hmac.compare_digest(_encoded(purpose, number, secret), text) else None


def _digest(secret: bytes, purpose: bytes, content: bytes) -> bytes:
    return hmac.digest(secret, b"s3-" + purpose + b":" + content, hashlib.sha256)
