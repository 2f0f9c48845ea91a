"""The digests of bodies. The library is imported when the first body is digested: importing takes a while.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

ALWAYS = ("MD5", "CRC32", "CRC32C", "CRC64NVME")
"""The algorithms that every body is digested with: S3 needs some itself, and parts may be asked for others."""

_CRC_BYTES: Mapping[str, int] = {"CRC32": 4, "CRC32C": 4, "CRC64NVME": 8}
_HASHES: Mapping[str, str] = {"MD5": "md5", "SHA1": "sha1", "SHA256": "sha256", "SHA512": "sha512"}

ALGORITHMS = (*_CRC_BYTES, "SHA1", "SHA256", "SHA512", "MD5")


class Digest(Protocol):
    """A digest that grows."""

    def update(self, piece: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


@functools.cache
def _crc(algorithm: str) -> Callable[[bytes, int], int]:
    """The function that goes on with a cyclic redundancy check."""
    from awscrt import checksums  # noqa: PLC0415 - 40 ms, which only those pay who have bodies.

    functions: Mapping[str, Callable[[bytes, int], int]] = {
        "CRC32": checksums.crc32, "CRC32C": checksums.crc32c, "CRC64NVME": checksums.crc64nvme,
    }  # fmt: skip
    return functions[algorithm]


class _Crc:
    """A cyclic redundancy check; its digest is big-endian, as AWS writes it."""

    def __init__(self, algorithm: str) -> None:
        self._update = _crc(algorithm)
        self._size = _CRC_BYTES[algorithm]
        self._value = 0

    def update(self, piece: bytes, /) -> None:
        self._value = self._update(piece, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._size, "big")


def digest_of(algorithm: str) -> Digest:
    """An empty digest. Errors: KeyError (no such algorithm)."""
    if algorithm in _CRC_BYTES:
        return _Crc(algorithm)
    return hashlib.new(_HASHES[algorithm], usedforsecurity=False)


class Digests:
    """Several digests of one body, of which the pieces come one after another."""

    def __init__(self, others: Iterable[str] = ()) -> None:
        self._digests = {name: digest_of(name) for name in (*ALWAYS, *others)}

    def update(self, piece: bytes) -> None:
        """Take the next piece."""
        for digest in self._digests.values():
            digest.update(piece)

    @property
    def values(self) -> Mapping[str, bytes]:
        """The digests of all pieces so far."""
        return {name: digest.digest() for name, digest in self._digests.items()}


def digests_of(content: bytes, others: Iterable[str] = ()) -> Mapping[str, bytes]:
    """The digests of a whole body, as of one that came piece by piece."""
    digests = Digests(others)
    digests.update(content)
    return digests.values


def whole_digest(algorithm: str, content: bytes) -> bytes:
    """The digest of a whole body. Errors: KeyError (no such algorithm)."""
    if algorithm == "MD5":
        return hashlib.md5(content, usedforsecurity=False).digest()
    digest = digest_of(algorithm)
    digest.update(content)
    return digest.digest()


def combined(algorithm: str, digests: Iterable[tuple[bytes, int]]) -> bytes:
    """The digest of a body of which the digest and the size of each piece are known. Errors: KeyError (no CRC)."""
    from awscrt import checksums  # noqa: PLC0415 - see above.

    combine = {
        "CRC32": checksums.combine_crc32, "CRC32C": checksums.combine_crc32c,
        "CRC64NVME": checksums.combine_crc64nvme,
    }[algorithm]  # fmt: skip
    value = 0
    for digest, size in digests:
        value = combine(value, int.from_bytes(digest, "big"), size)
    return value.to_bytes(_CRC_BYTES[algorithm], "big")
