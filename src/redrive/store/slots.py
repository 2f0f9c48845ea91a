"""The order of a table's hash keys: by a digest, which spreads them evenly.

DynamoDB scans keys in such an order: "A" before "B", and in general by ascending digests of this salt and the key. It
is a module of its own because migrations need it, too.
"""

from __future__ import annotations

import hashlib

SLOTS = 1 << 32
_SALT = hashlib.md5(b"Outliers", usedforsecurity=False)


def slot_of(hash_key: bytes) -> int:
    """The slot of a hash key, from 0 to SLOTS - 1."""
    digest = _SALT.copy()
    digest.update(hash_key)
    return int.from_bytes(digest.digest()[:4], "big")
