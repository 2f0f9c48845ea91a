"""How the bodies of objects come: plain, or as aws-chunked; digested by which algorithms."""

from __future__ import annotations

from redrive.gateway.uploads import Plan
from redrive.wire.message import HttpRequest
from redrive.wire.model.shapes import OperationModel
from redrive.wire.s3_body import algorithms_asked, chunk_form, decoded_length
from redrive.wire.signatures.chunk_reader import ChunkReader
from redrive.wire.signatures.chunks import ChunkSigner


def brings_bytes(operation: OperationModel) -> bool:
    """Whether the body of an operation's requests is bytes, as of PutObject and UploadPart, and no document."""
    shape = operation.input
    return shape is not None and shape.payload is not None and shape.members[shape.payload].is_streaming


def plan_of(head: HttpRequest, signer: ChunkSigner | None = None) -> Plan:
    """How to receive the body of an object. `signer` checks the signatures of chunks; None checks none."""
    headers = head.headers
    form = chunk_form(headers)
    if form is None:
        return Plan(_number(headers.get("content-length")), algorithms_asked(headers))
    size = decoded_length(headers)
    chunks = ChunkReader(
        signer if form.is_signed else None, is_signed=form.is_signed, has_trailer=form.has_trailer, decoded_length=size
    )
    return Plan(size, algorithms_asked(headers), chunks)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
