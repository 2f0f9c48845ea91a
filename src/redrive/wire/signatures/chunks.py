"""Bodies that are signed in chunks (`aws-chunked`): read piece by piece; each chunk's signature is verified.

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
from enum import Enum, auto
from types import MappingProxyType
from typing import NamedTuple

from redrive.core.errors import ServiceError

TRAILER_SIGNATURE = "x-amz-trailer-signature"
CHUNK_HEAD_BYTES_MAX = 256
TRAILERS_BYTES_MAX = 16 * 1024

_HEAD = re.compile(rb"([0-9a-fA-F]{1,16})(?:;chunk-signature=([0-9a-zA-Z*]{1,144}))?")
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


class _Stage(Enum):
    """What the next byte of a body belongs to."""

    HEAD = auto()
    CONTENT = auto()
    LINE_END = auto()
    TRAILERS = auto()


class ChunkReader:
    """Reads a body in chunks piece by piece; a piece may end anywhere. Holds at most a head, or the trailers."""

    def __init__(self, form: ChunkForm, signer: ChunkSigner | None, decoded_length: int | None) -> None:
        """Without a `signer` signatures are read, but not verified. `decoded_length`: X-Amz-Decoded-Content-Length."""
        self._form = form
        self._signer = signer
        self._decoded_length = decoded_length
        self._previous = "" if signer is None else signer.seed
        self._stage = _Stage.HEAD
        self._pending = b""
        self._given = ""
        self._left = 0
        self._hash = hashlib.sha256()
        self.size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The content in the next piece of the body. Errors: SignatureDoesNotMatch; IncompleteBody."""
        data = self._pending + piece if self._pending else piece
        self._pending = b""
        found: list[bytes] = []
        at = 0
        while at < len(data):
            match self._stage:
                case _Stage.CONTENT:
                    content = data[at : at + self._left]
                    found.append(content)
                    at += len(content)
                    self._take(content)
                case _Stage.HEAD:
                    end = data.find(b"\r\n", at, at + CHUNK_HEAD_BYTES_MAX)
                    if end < 0 and len(data) - at < CHUNK_HEAD_BYTES_MAX:
                        break
                    self._open(data, at, end)
                    at = end + 2
                case _Stage.LINE_END:
                    if len(data) - at < 2:
                        break
                    if data[at : at + 2] != b"\r\n":
                        raise _incomplete("a chunk does not end where its size says")
                    at += 2
                    self._stage = _Stage.HEAD
                case _Stage.TRAILERS:
                    break
        self._pending = data[at:]
        if self._stage is _Stage.TRAILERS and len(self._pending) > TRAILERS_BYTES_MAX:
            raise _incomplete(f"its trailers are longer than {TRAILERS_BYTES_MAX} bytes")
        return found

    def finish(self) -> Mapping[str, str]:
        """The trailers, once the body has ended. Errors: as those of `feed`."""
        if self._stage is _Stage.CONTENT:
            raise _incomplete("a chunk is shorter than its size")
        if self._stage is not _Stage.TRAILERS:
            raise _incomplete("there is no last chunk")
        rest, has_trailer = self._pending, self._form.has_trailer
        trailers = _trailers(rest, self._signer, self._previous) if has_trailer else _nothing_in(rest)
        self._check_size(is_whole=True)
        return trailers

    def _open(self, data: bytes, at: int, end: int) -> None:
        head = None if end < 0 else _HEAD.fullmatch(data, at, end)
        if head is None or (head[2] is not None) != self._form.is_signed:
            raise _incomplete("a chunk has no head of the announced form")
        self._left, self._given = int(head[1], 16), (head[2] or b"").decode()
        self._hash = hashlib.sha256()
        if self._left:
            self._stage = _Stage.CONTENT
        else:
            self._verify()
            self._stage = _Stage.TRAILERS

    def _take(self, content: bytes) -> None:
        self.size += len(content)
        self._check_size(is_whole=False)
        self._left -= len(content)
        if self._signer is not None:
            self._hash.update(content)
        if not self._left:
            self._verify()
            self._stage = _Stage.LINE_END

    def _verify(self) -> None:
        if self._signer is not None and self._form.is_signed:
            expected = self._signer.hashed_chunk(self._hash.hexdigest(), self._previous)
            self._previous = _checked(expected, self._given)

    def _check_size(self, *, is_whole: bool) -> None:
        declared = self._decoded_length
        if declared is not None and (self.size > declared or (is_whole and self.size != declared)):
            raise _incomplete(f"it holds {self.size} bytes, and X-Amz-Decoded-Content-Length says {declared}")


def read_chunks(body: bytes, signer: ChunkSigner | None, *, form: ChunkForm, decoded_length: int | None) -> Decoded:
    """Read a whole body in chunks. Errors: SignatureDoesNotMatch; IncompleteBody (no chunks, or they end early)."""
    reader = ChunkReader(form, signer, decoded_length)
    content = b"".join(reader.feed(body))
    return Decoded(content, reader.finish())


def _nothing_in(rest: bytes) -> Mapping[str, str]:
    if rest not in (b"", b"\r\n"):
        raise _incomplete("something comes after the last chunk")
    return {}


def _trailers(rest: bytes, signer: ChunkSigner | None, previous: str) -> Mapping[str, str]:
    """The trailers after the last chunk; the last trailer is the signature of the others."""
    found: dict[str, str] = {}
    for line in rest.decode("latin-1").replace("\r\n", "\n").split("\n"):
        name, colon, value = line.partition(":")
        if line and not colon:
            raise _incomplete("a trailer has no value")
        if line:
            found[name.strip().lower()] = value.strip()
    given = found.pop(TRAILER_SIGNATURE, "")
    if signer is not None:
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
