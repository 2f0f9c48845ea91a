"""Bodies that are signed in chunks (`aws-chunked`): their form, and their signatures. `chunk_reader` reads them.

    10000;chunk-signature=ad80…⏎ 65,536 bytes ⏎        each signature covers the previous signature
    0;chunk-signature=b6c6…⏎                            the last chunk is empty
    x-amz-checksum-crc32c:wdBDMA==⏎                     trailers, which have a signature of their own
    x-amz-trailer-signature:d81f…⏎⏎

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html and
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

TRAILER_SIGNATURE = "x-amz-trailer-signature"
CHUNK_HEAD_BYTES_MAX = 256
TRAILERS_BYTES_MAX = 16 * 1024

_EMPTY_HASH = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class ChunkSigner:
    """The data that all signatures of a body share. `scope` is `date/region/service/aws4_request`.

    `seed` is the signature of the request's head, which the first chunk's signature covers.
    """

    key: bytes
    stamp: str
    scope: str
    seed: str

    def chunk(self, content: bytes, previous: str) -> str:
        """The signature of a chunk that follows the chunk with the signature `previous`."""
        return self.hashed_chunk(hashlib.sha256(content).hexdigest(), previous)

    def hashed_chunk(self, hashed: str, previous: str) -> str:
        """The signature of a chunk whose content has this SHA-256, in hexadecimal."""
        return self._sign("AWS4-HMAC-SHA256-PAYLOAD", previous, f"{_EMPTY_HASH}\n{hashed}")

    def trailer(self, content: bytes, previous: str) -> str:
        """The signature of trailers; each trailer is `name:value` and a line feed."""
        return self._sign("AWS4-HMAC-SHA256-TRAILER", previous, hashlib.sha256(content).hexdigest())

    def _sign(self, kind: str, previous: str, hashed: str) -> str:
        text = f"{kind}\n{self.stamp}\n{self.scope}\n{previous}\n{hashed}"
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()


class ChunkForm(NamedTuple):
    """How chunks are written: with signatures, and with trailers after the last chunk."""

    is_signed: bool
    has_trailer: bool


CHUNK_FORMS: Mapping[str, ChunkForm] = MappingProxyType(
    {
        "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD": ChunkForm(is_signed=True, has_trailer=False),
        "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER": ChunkForm(is_signed=True, has_trailer=True),
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD": ChunkForm(is_signed=True, has_trailer=False),
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER": ChunkForm(is_signed=True, has_trailer=True),
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER": ChunkForm(is_signed=False, has_trailer=True),
    }
)
"""The forms by the value of X-Amz-Content-Sha256 that announces them."""
