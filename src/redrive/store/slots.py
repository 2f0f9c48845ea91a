"""In which order the hash keys of a table stand: by a digest, which spreads them evenly.

DynamoDB scans its keys in an order of this kind: "A" before "B", and in general by ascending digests of this salt and
the key. Migrations need it, too, so it stands apart from the table.
"""

from __future__ import annotations

import hashlib

SLOTS = 1 << 32
_SALT = hashlib.md5(b"Outliers", usedforsecurity=False)


def slot_of(hash_key: bytes) -> int:
    """The place of a hash key among all slots."""
    digest = _SALT.copy()
    digest.update(hash_key)
    return int.from_bytes(digest.digest()[:4], "big")
