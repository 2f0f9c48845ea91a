"""Version ids: opaque texts of 32 characters, which only this store can have made.

An id is the number of its version, hidden, with a code that depends on the store's secret. So an id that was never
given is told apart from the id of a version that was deleted.
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
_OTHERS = b"._"
_NUMBER_MAX = 2**63 - 1


def encode_version_id(number: int, secret: bytes) -> str:
    """The id of the version with this number."""
    code = _digest(secret, b"version", number.to_bytes(_NUMBER_BYTES, "big"))[:_CODE_BYTES]
    hidden = number ^ int.from_bytes(_digest(secret, b"hide", code)[:_NUMBER_BYTES], "big")
    return base64.b64encode(code + hidden.to_bytes(_NUMBER_BYTES, "big"), _OTHERS).decode()


def decode_version_id(version_id: str, secret: bytes) -> int | None:
    """The number of the version with this id; None if this store has never given the id."""
    if len(version_id) != _LENGTH:
        return None
    try:
        content = base64.b64decode(version_id.encode("ascii"), _OTHERS, validate=True)
    except ValueError:
        return None
    code = content[:_CODE_BYTES]
    number = int.from_bytes(content[_CODE_BYTES:], "big")
    number ^= int.from_bytes(_digest(secret, b"hide", code)[:_NUMBER_BYTES], "big")
    if not 0 < number <= _NUMBER_MAX:
        return None
    return number if hmac.compare_digest(encode_version_id(number, secret), version_id) else None


def _digest(secret: bytes, purpose: bytes, content: bytes) -> bytes:
    return hmac.digest(secret, b"s3-" + purpose + b":" + content, hashlib.sha256)
