"""Which bodies are those of objects, and how they come: plain, or as aws-chunked; digested by which algorithms."""

from __future__ import annotations

import re
from urllib.parse import unquote

from redrive.gateway.uploads import Plan
from redrive.wire.message import HttpRequest
from redrive.wire.s3_body import algorithms_asked, chunk_form, decoded_length
from redrive.wire.signatures.chunks import ChunkReader, ChunkSigner

_SUB_RESOURCE = re.compile(
    r"(?:^|&)(?:acl|annotation|encryption|legal-hold|renameObject|retention|tagging|torrent)(?:[=&]|$)"
)


def is_object_body(head: HttpRequest) -> bool:
    """Whether a request brings an object, or a part of one, to S3: PUT of a key, without a sub-resource."""
    if head.method != "PUT" or "/" not in head.path.lstrip("/"):
        return False
    signed = head.headers.get("authorization", "") + unquote(head.query)
    return "/s3/aws4_request" in signed and not _SUB_RESOURCE.search(head.query)


def plan_of(head: HttpRequest, signer: ChunkSigner | None = None) -> Plan:
    """How to receive the body of an object. `signer` checks the signatures of chunks; None checks none."""
    headers = head.headers
    form = chunk_form(headers)
    if form is None:
        return Plan(_number(headers.get("content-length")), algorithms_asked(headers))
    size = decoded_length(headers)
    return Plan(size, algorithms_asked(headers), ChunkReader(form, signer if form.is_signed else None, size))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
