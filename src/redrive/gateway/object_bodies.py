"""Which bodies are those of objects, and how they come: plain, or as aws-chunked; digested by which algorithms."""

from __future__ import annotations

import re
from urllib.parse import unquote

from redrive.delivery.checksums import ALGORITHMS, ALWAYS
from redrive.gateway.uploads import Plan
from redrive.wire.message import HttpRequest
from redrive.wire.signatures.chunk_reader import ChunkReader
from redrive.wire.signatures.chunks import ChunkSigner

_CHECKSUM, _CHUNKED, _STREAMING = "x-amz-checksum-", "aws-chunked", "STREAMING-"
_SIGNED = ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD")
_NAMING = ("x-amz-sdk-checksum-algorithm", "x-amz-checksum-algorithm")
_SUB_RESOURCE = re.compile(
    r"(?:^|&)(?:acl|annotation|encryption|legal-hold|renameObject|retention|tagging|torrent)(?:[=&]|$)"
)
_HEX_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def is_object_body(head: HttpRequest) -> bool:
    """Whether a request brings an object, or a part of one, to S3: PUT of a key, without a sub-resource."""
    if head.method != "PUT" or "/" not in head.path.lstrip("/"):
        return False
    signed = head.headers.get("authorization", "") + unquote(head.query)
    return "/s3/aws4_request" in signed and not _SUB_RESOURCE.search(head.query)


def plan_of(head: HttpRequest, signer: ChunkSigner | None = None) -> Plan:
    """How to receive the body of an object. `signer` checks the signatures of chunks; None checks none."""
    headers = head.headers
    declared = headers.get("x-amz-content-sha256", "")
    is_chunked = declared.startswith(_STREAMING) or _CHUNKED in headers.get("content-encoding", "")
    if not is_chunked:
        return Plan(_number(headers.get("content-length")), _algorithms(head))
    size = _number(headers.get("x-amz-decoded-content-length"))
    chunks = ChunkReader(
        signer, is_signed=declared.startswith(_SIGNED), has_trailer=declared.endswith("-TRAILER"), decoded_length=size
    )
    return Plan(size, _algorithms(head), chunks)


def _algorithms(head: HttpRequest) -> tuple[str, ...]:
    """The algorithms that the request names, beyond those that every body is digested with."""
    headers = head.headers
    named = {name.removeprefix(_CHECKSUM) for name in headers if name.startswith(_CHECKSUM)}
    named |= {headers.get(name, "") for name in _NAMING}
    named |= {name.strip().removeprefix(_CHECKSUM) for name in headers.get("x-amz-trailer", "").split(",")}
    if _HEX_SHA256.fullmatch(headers.get("x-amz-content-sha256", "")):
        named.add("SHA256")
    return tuple(sorted({name.upper() for name in named} & set(ALGORITHMS) - set(ALWAYS)))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
