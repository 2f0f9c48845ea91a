"""Keys of objects: their bytes, their limit, and the events' sequencers.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
"""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.services.s3 import limits


def key_bytes(key: str) -> bytes:
    """The bytes by which a key is stored and ordered."""
    return key.encode("utf-8", "surrogatepass")


def key_text(key: bytes) -> str:
    """The key with these bytes."""
    return key.decode("utf-8", "surrogatepass")


def new_key(key: str) -> bytes:
    """The bytes of a key that is written. Errors: KeyTooLongError."""
    encoded = key_bytes(key)
    if len(encoded) > limits.KEY_BYTES_MAX:
        members = {"Size": str(len(encoded)), "MaxSizeAllowed": str(limits.KEY_BYTES_MAX)}
        raise ServiceError("KeyTooLongError", "Your key is too long", http_status=400, members=members)
    return encoded


def sequencer_of(number: int) -> str:
    """The sequencer of an event: 16 hexadecimal digits that grow for each key, and so can be compared as texts."""
    return f"{number:016X}"
