"""Bodies that a client has compressed.

SDKs do so for the operations whose model says `requestcompression`, such as PutMetricData, from 10 KiB on.
"""

from __future__ import annotations

import zlib

from redrive.wire.json_body import serialization_error
from redrive.wire.message import HttpRequest

INFLATED_BYTES_MAX = 64 * 1024 * 1024
"""As much as a body may have that comes as it is."""

_GZIP_ONLY = zlib.MAX_WBITS | 16


def plain_body(request: HttpRequest) -> bytes:
    """The body of a request as its codec reads it. Errors: SerializationException (no gzip, or too much inside)."""
    if request.headers.get("content-encoding", "").lower() != "gzip":
        return request.body
    inflate = zlib.decompressobj(_GZIP_ONLY)
    try:
        body = inflate.decompress(request.body, INFLATED_BYTES_MAX)
    except zlib.error:
        raise serialization_error("Unable to decompress the request body.") from None
    if not inflate.eof:
        raise serialization_error(f"The request body is cut off, or has more than {INFLATED_BYTES_MAX} bytes inside.")
    return body
