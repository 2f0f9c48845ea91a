"""Bodies that are signed in chunks (`aws-chunked`): parsed as a whole; each chunk's signature is verified.

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
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.errors import ServiceError

TRAILER_SIGNATURE = "x-amz-trailer-signature"
CHUNK_HEAD_BYTES_MAX = 256
TRAILERS_BYTES_MAX = 16 * 1024

_HEAD = re.compile(rb"([0-9a-fA-F]{1,16})(?:;chunk-signature=([0-9a-f]{64}))?")
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
        """The signature of a chunk, of whose content only the SHA-256 is known, in hexadecimal digits."""
        return self._sign("AWS4-HMAC-SHA256-PAYLOAD", previous, f"{_EMPTY_HASH}\n{hashed}")

    def trailer(self, content: bytes, previous: str) -> str:
        """The signature of trailers; each trailer is `name:value` and a line feed."""
        return self._sign("AWS4-HMAC-SHA256-TRAILER", previous, hashlib.sha256(content).hexdigest())

    def _sign(self, kind: str, previous: str, hashed: str) -> str:
        text = f"{kind}\n{self.stamp}\n{self.scope}\n{previous}\n{hashed}"
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Decoded:
    """The content of a body in chunks; names of trailers are in lower case."""

    content: bytes
    trailers: Mapping[str, str] = field(default_factory=dict)


def read_chunks(body: bytes, signer: ChunkSigner | None, *, has_trailer: bool, decoded_length: int | None) -> Decoded:
    """Read a body in chunks. `signer` None is for chunks without signatures (STREAMING-UNSIGNED-PAYLOAD-TRAILER).

    `decoded_length` is X-Amz-Decoded-Content-Length. `has_trailer`: the request announced trailers.
    Errors: SignatureDoesNotMatch; IncompleteBody (no chunks, or they end early).
    """
    pieces: list[bytes] = []
    previous = "" if signer is None else signer.seed
    at = 0
    while True:
        size, given, at = _head(body, at, is_signed=signer is not None)
        content = body[at : at + size]
        if len(content) != size:
            raise _incomplete("a chunk is shorter than its size")
        if signer is not None:
            previous = _checked(signer.chunk(content, previous), given)
        at += size
        if size == 0:
            break
        pieces.append(content)
        at = _line_end(body, at)
    trailers = _trailers(body, at, signer, previous) if has_trailer else _nothing_after(body, at)
    whole = b"".join(pieces)
    if decoded_length is not None and decoded_length != len(whole):
        raise _incomplete(f"it holds {len(whole)} bytes, and X-Amz-Decoded-Content-Length says {decoded_length}")
    return Decoded(whole, trailers)


def _head(body: bytes, at: int, *, is_signed: bool) -> tuple[int, str, int]:
    """The size and the signature of the chunk that begins here, and the start of its content."""
    end = body.find(b"\r\n", at, at + CHUNK_HEAD_BYTES_MAX)
    head = None if end < 0 else _HEAD.fullmatch(body, at, end)
    if head is None or (head[2] is not None) != is_signed:
        raise _incomplete("a chunk has no head of the announced form")
    return int(head[1], 16), (head[2] or b"").decode(), end + 2


def _line_end(body: bytes, at: int) -> int:
    if body[at : at + 2] != b"\r\n":
        raise _incomplete("a chunk does not end where its size says")
    return at + 2


def _nothing_after(body: bytes, at: int) -> Mapping[str, str]:
    if body[at:] not in (b"", b"\r\n"):
        raise _incomplete("something comes after the last chunk")
    return {}


def _trailers(body: bytes, at: int, signer: ChunkSigner | None, previous: str) -> Mapping[str, str]:
    """The trailers after the last chunk; the last trailer is the signature of the others."""
    rest = body[at:]
    if len(rest) > TRAILERS_BYTES_MAX:
        raise _incomplete(f"its trailers are longer than {TRAILERS_BYTES_MAX} bytes")
    found: dict[str, str] = {}
    for line in rest.decode("latin-1").replace("\r\n", "\n").split("\n"):
        name, colon, value = line.partition(":")
        if line and not colon:
            raise _incomplete("a trailer has no value")
        if line:
            found[name.strip().lower()] = value.strip()
    if signer is not None:
        given = found.pop(TRAILER_SIGNATURE, "")
        signed = "".join(f"{name}:{value}\n" for name, value in found.items())
        _checked(signer.trailer(signed.encode("latin-1"), previous), given)
    return found


def _checked(expected: str, given: str) -> str:
    if not hmac.compare_digest(expected.encode(), given.encode("latin-1", "replace")):
        raise ServiceError(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check your key and "
            "signing method.",
            http_status=403,
        )
    return expected


def _incomplete(what: str) -> ServiceError:
    message = f"The request body terminated unexpectedly: {what}."
    return ServiceError("IncompleteBody", message, http_status=400)
