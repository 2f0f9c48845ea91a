"""The body of a request to S3: its digests, and the forms in which clients send it.

What a client declares of a body is checked by the operation, from the digests; this module checks only the hash that
the signature covers. The server's own reader of large bodies uses the same functions.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import replace

from redrive.core.errors import ServiceError
from redrive.delivery.bodies import Received
from redrive.delivery.checksums import ALGORITHMS, ALWAYS, whole_digest
from redrive.wire.message import HttpRequest
from redrive.wire.signatures.chunk_reader import read_chunks
from redrive.wire.signatures.chunks import CHUNK_FORMS, ChunkForm, ChunkSigner

HASH_HEADER = "x-amz-content-sha256"
_CHECKSUM_PREFIX = "x-amz-checksum-"
_NAMING = ("x-amz-sdk-checksum-algorithm", "x-amz-checksum-algorithm")
_TRAILER = "x-amz-trailer"
_DECODED_LENGTH = "x-amz-decoded-content-length"
_CODING = "content-encoding"
_LENGTH = re.compile(r"[0-9]{1,18}")
_HEX = re.compile(r"[0-9a-fA-F]{64}")


def algorithms_asked(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The algorithms that a request needs beside those of every body, such as `SHA256`."""
    names = {headers[name].upper() for name in _NAMING if name in headers}
    for header in headers:
        if header.startswith(_CHECKSUM_PREFIX):
            names.add(header.removeprefix(_CHECKSUM_PREFIX).upper())
    if _TRAILER in headers:
        trailers = (name.strip().lower() for name in headers[_TRAILER].split(","))
        names |= {name.removeprefix(_CHECKSUM_PREFIX).upper() for name in trailers if name.startswith(_CHECKSUM_PREFIX)}
    if _HEX.fullmatch(headers.get(HASH_HEADER, "")):
        names.add("SHA256")
    return tuple(name for name in ALGORITHMS if name in names and name not in ALWAYS)


def chunk_form(headers: Mapping[str, str]) -> ChunkForm | None:
    """How the body of a request is divided into chunks; None for a body that is not."""
    return CHUNK_FORMS.get(headers.get(HASH_HEADER, ""))


def decoded_length(headers: Mapping[str, str]) -> int | None:
    """The length of the content of a body in chunks, if the request says it."""
    text = headers.get(_DECODED_LENGTH, "")
    return int(text) if _LENGTH.fullmatch(text) else None


def without_chunks(headers: Mapping[str, str], size: int, trailers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request, as if its body had come without chunks and its trailers had come before.

    Only trailers that were announced count: the signature of the head covers the announcement.
    Errors: MalformedTrailerError (an announced trailer has not come).
    """
    named = [name.strip().lower() for name in headers.get(_TRAILER, "").split(",") if name.strip()]
    if any(name not in trailers for name in named):
        message = (
            "The request contained trailing data that was not well-formed or did not conform to our published schema."
        )
        raise ServiceError("MalformedTrailerError", message, http_status=400)
    changed = dict(headers) | {name: trailers[name] for name in named} | {"content-length": str(size)}
    codings = [one.strip() for one in headers.get(_CODING, "").split(",")]
    left = ",".join(one for one in codings if one and one.lower() != "aws-chunked")
    if left:
        changed[_CODING] = left
    else:
        changed.pop(_CODING, None)
    return changed


def unchunked(request: HttpRequest, signer: ChunkSigner | None) -> HttpRequest:
    """A request without chunks in its body, and with its trailers. A body that was received before was decoded then.

    Errors: SignatureDoesNotMatch, if there is a `signer`; IncompleteBody; MalformedTrailerError.
    """
    form = chunk_form(request.headers)
    if form is None:
        return request
    received = request.received
    if received is not None:
        return replace(request, headers=without_chunks(request.headers, received.size, received.trailers))
    length = decoded_length(request.headers)
    decoded = read_chunks(request.body, signer if form.is_signed else None, form=form, decoded_length=length)
    headers = without_chunks(request.headers, len(decoded.content), decoded.trailers)
    return replace(request, headers=headers, body=decoded.content)


def received_of(request: HttpRequest, headers: Mapping[str, str]) -> Received:
    """The body of a request. `headers` also have what a presigned URL has for them.

    A body that came at once has only the digest that is checked here: operations compute those that they need.
    Errors: XAmzContentSHA256Mismatch.
    """
    declared = headers.get(HASH_HEADER)
    received = request.received or Received(len(request.body), request.body)
    if declared is not None and _HEX.fullmatch(declared) is not None:
        return _with_hash(declared, received)
    return received


def _with_hash(declared: str, received: Received) -> Received:
    """The body with its hash, if the hash is the one that the signature covers. Errors: XAmzContentSHA256Mismatch."""
    actual = received.digests.get("SHA256")
    if actual is None and received.content is not None:
        actual = whole_digest("SHA256", received.content)
        received = Received(received.size, received.content, digests={"SHA256": actual}, trailers=received.trailers)
    if actual is not None and not hmac.compare_digest(declared.lower(), actual.hex()):
        raise ServiceError(
            "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.",
            http_status=400,
            members={"ClientComputedContentSHA256": declared, "S3ComputedContentSHA256": actual.hex()},
        )  # fmt: skip
    return received
