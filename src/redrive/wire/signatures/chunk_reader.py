"""Bodies in chunks (`aws-chunked`), read piece by piece. `chunks` tells what they look like.

A piece may end anywhere, within a chunk's head too. Content is handed on as soon as it has come; the signature of its
chunk is checked at the chunk's end. So nobody may use the content before `finish` has returned.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from redrive.core.errors import ServiceError
from redrive.wire.signatures.chunks import (
    CHUNK_HEAD_BYTES_MAX,
    TRAILER_SIGNATURE,
    TRAILERS_BYTES_MAX,
    ChunkForm,
    ChunkSigner,
)

_HEAD = re.compile(rb"([0-9a-fA-F]{1,16})(?:;chunk-signature=([0-9a-zA-Z*]{1,144}))?")
"""A signature of 64 digits, or one of the multi-region form, which is longer and which nobody verifies."""


class _Stage(Enum):
    HEAD = "head"
    CONTENT = "content"
    LINE_END = "line end"
    TRAILERS = "trailers"


class ChunkReader:
    """One body. Errors of `feed` and `finish`: SignatureDoesNotMatch; IncompleteBody (wrong form, or it ends early)."""

    def __init__(
        self, signer: ChunkSigner | None, *, is_signed: bool, has_trailer: bool, decoded_length: int | None
    ) -> None:  # fmt: skip
        """`signer` None checks no signatures. `is_signed`: chunks have signatures. `decoded_length`: as announced."""
        self._signer = signer
        self._is_signed = is_signed
        self._has_trailer = has_trailer
        self._decoded_length = decoded_length
        self._stage = _Stage.HEAD
        self._text = bytearray()
        self._left = 0
        self._size = 0
        self._given = ""
        self._previous = "" if signer is None else signer.seed
        self._hash = hashlib.sha256()
        self.trailers: dict[str, str] = {}

    def feed(self, piece: bytes) -> Iterator[bytes | memoryview]:
        """The content in the next piece of the body. Take all of it before the next call."""
        rest = memoryview(piece)
        while rest:
            if self._stage is _Stage.CONTENT:
                content, rest = rest[: self._left], rest[self._left :]
                self._take(content)
                yield content
            elif self._stage is _Stage.TRAILERS:
                self._text += rest
                self._check_length(TRAILERS_BYTES_MAX)
                return
            else:
                rest = self._read_line(rest)

    def finish(self) -> None:
        """Say that the body has ended. The trailers are known then, their names in lower case."""
        if self._stage is not _Stage.TRAILERS:
            raise _incomplete("it ends before its last chunk")
        if self._has_trailer:
            self._read_trailers()
        elif bytes(self._text) not in (b"", b"\r\n"):
            raise _incomplete("something comes after the last chunk")
        if self._decoded_length is not None and self._size != self._decoded_length:
            raise _incomplete(
                f"it holds {self._size} bytes, and X-Amz-Decoded-Content-Length says {self._decoded_length}"
            )

    def _take(self, content: memoryview) -> None:
        self._left -= len(content)
        self._size += len(content)
        if self._decoded_length is not None and self._size > self._decoded_length:
            raise _incomplete(f"it holds more bytes than X-Amz-Decoded-Content-Length says: {self._decoded_length}")
        if self._signer is not None:
            self._hash.update(content)
        if not self._left:
            self._check_chunk()
            self._stage = _Stage.LINE_END

    def _read_line(self, rest: memoryview) -> memoryview:
        """Read up to the end of a line: a chunk's head, or the empty line after its content."""
        limit = 2 if self._stage is _Stage.LINE_END else CHUNK_HEAD_BYTES_MAX
        taken = min(len(rest), limit)
        before = len(self._text)
        self._text += rest[:taken]
        end = self._text.find(b"\r\n", max(0, before - 1))
        if end < 0:
            self._check_length(limit - 1)
            return rest[taken:]
        line = bytes(self._text[:end])
        self._text.clear()
        if self._stage is _Stage.LINE_END:
            if line:
                raise _incomplete("a chunk does not end where its size says")
            self._stage = _Stage.HEAD
        else:
            self._begin_chunk(line)
        return rest[end + 2 - before :]

    def _begin_chunk(self, line: bytes) -> None:
        head = _HEAD.fullmatch(line)
        if head is None or (head[2] is not None) != self._is_signed:
            raise _incomplete("a chunk has no head of the announced form")
        self._left, self._given = int(head[1], 16), (head[2] or b"").decode()
        self._hash = hashlib.sha256()
        if self._left:
            self._stage = _Stage.CONTENT
        else:
            self._check_chunk()
            self._stage = _Stage.TRAILERS

    def _check_chunk(self) -> None:
        if self._signer is not None:
            self._previous = _checked(self._signer.hashed_chunk(self._hash.hexdigest(), self._previous), self._given)

    def _check_length(self, most: int) -> None:
        if len(self._text) > most:
            raise _incomplete("a line of its framing is longer than it may be")

    def _read_trailers(self) -> None:
        for line in self._text.decode("latin-1").replace("\r\n", "\n").split("\n"):
            name, colon, value = line.partition(":")
            if line and not colon:
                raise _incomplete("a trailer has no value")
            if line:
                self.trailers[name.strip().lower()] = value.strip()
        given = self.trailers.pop(TRAILER_SIGNATURE, "")
        if self._signer is not None:
            signed = "".join(f"{name}:{value}\n" for name, value in self.trailers.items())
            _checked(self._signer.trailer(signed.encode("latin-1"), self._previous), given)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The content of a body in chunks; names of trailers are in lower case."""

    content: bytes
    trailers: Mapping[str, str] = field(default_factory=dict)


def read_chunks(body: bytes, signer: ChunkSigner | None, *, form: ChunkForm, decoded_length: int | None) -> Decoded:
    """Read a whole body in chunks. Errors: SignatureDoesNotMatch; IncompleteBody (no chunks, or they end early)."""
    reader = ChunkReader(
        signer, is_signed=form.is_signed, has_trailer=form.has_trailer, decoded_length=decoded_length
    )  # fmt: skip
    content = b"".join(reader.feed(body))
    reader.finish()
    return Decoded(content, reader.trailers)


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
    return ServiceError("IncompleteBody", f"The request body terminated unexpectedly: {what}.", http_status=400)
