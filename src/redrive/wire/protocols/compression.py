"""Compressed request bodies, and compressed answers.

SDKs compress requests of 10 KiB or more for operations whose model has `requestcompression`, such as PutMetricData.
DynamoDB decodes gzip, also with several members, and deflate; it compresses large answers for clients that accept gzip.
"""

from __future__ import annotations

import gzip
import zlib

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.protocols.json_body import serialization_error

INFLATED_BYTES_MAX = 64 * 1024 * 1024
"""The same limit as for a body without compression."""

PLAIN_ANSWER_BYTES_MAX = 4_096
"""Larger answers are compressed; recorded from DynamoDB."""

GZIP_MEMBERS_MAX = 1_000

_GZIP_ONLY = zlib.MAX_WBITS | 16
_CHECKSUM = "x-amz-crc32"

# Beside the two that compress: none at all, and what AWS's older SDKs write for none.
_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "identity", "amz-1.0", "aws-chunked"})


def plain_body(request: HttpRequest, bytes_max: int = INFLATED_BYTES_MAX) -> bytes:
    """The decompressed body of a request. Errors: SerializationException (damaged, or too large when decompressed)."""
    match request.headers.get("content-encoding", "").lower():
        case "gzip" | "x-gzip":
            return _gunzip(request.body, bytes_max)
        case "deflate":
            return _inflate(request.body, bytes_max)
        case _:
            return request.body


def bounded_body(request: HttpRequest, bytes_max: int) -> bytes:
    """The body of a request to a service that takes so many bytes, compressed or not, and refuses unknown encodings.

    Errors: RequestEntityTooLargeException; UnsupportedMediaTypeException; SerializationException (broken, or too much
    inside).
    """
    if len(request.body) > bytes_max:
        message = f"Request size exceeds the limit of {bytes_max} bytes."
        raise ServiceError("RequestEntityTooLargeException", message, http_status=413)
    coding = request.headers.get("content-encoding", "").lower()
    if coding and coding not in _CODINGS:
        message = f"The Content-Encoding {coding} is not supported."
        raise ServiceError("UnsupportedMediaTypeException", message, http_status=415)
    return plain_body(request, bytes_max)


def accepts_gzip(request: HttpRequest) -> bool:
    """Whether a client lists gzip in Accept-Encoding, and not with q=0."""
    for each in request.headers.get("accept-encoding", "").lower().split(","):
        coding, _, weight = each.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0") not in ("q=", "q=0.")
    return False


def compressed(response: HttpResponse) -> HttpResponse:
    """An answer in gzip if it is large; its checksum then covers the compressed bytes."""
    if len(response.body) <= PLAIN_ANSWER_BYTES_MAX:
        return response
    body = gzip.compress(response.body, compresslevel=1, mtime=0)
    kept = tuple((name, str(zlib.crc32(body)) if name == _CHECKSUM else value) for name, value in response.headers)
    return HttpResponse(response.status, (*kept, ("Content-Encoding", "gzip")), body)


def _gunzip(body: bytes, bytes_max: int) -> bytes:
    """All members of a gzip file, one after the other. Errors: SerializationException."""
    parts: list[bytes] = []
    left, room = body, bytes_max
    for _ in range(GZIP_MEMBERS_MAX):
        if room <= 0:
            break
        inflate = zlib.decompressobj(_GZIP_ONLY)
        part = _read(inflate, left, room)
        parts.append(part)
        left, room = inflate.unused_data, room - len(part)
        if not left:
            return b"".join(parts)
    raise serialization_error(f"The request body has more than {bytes_max} bytes or too many members inside.")


def _inflate(body: bytes, bytes_max: int) -> bytes:
    """Decompress HTTP's deflate: in zlib's format, or raw, as some clients send it. Errors: SerializationException."""
    has_header = len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and int.from_bytes(body[:2], "big") % 31 == 0
    return _read(zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS), body, bytes_max)


def _read(inflate: zlib._Decompress, body: bytes, room: int) -> bytes:
    try:
        found = inflate.decompress(body, room)
    except zlib.error:
        raise serialization_error("Unable to decompress the request body.") from None
    if not inflate.eof:
        raise serialization_error(f"The request body is cut off, or has more than {room} bytes inside.")
    return found
