"""How the bodies of objects come: plain, as aws-chunked, or in a form; digested by which algorithms."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.gateway.http.limits import BODY_BYTES_MAX
from redrive.gateway.identity import Identity
from redrive.gateway.uploads import OBJECT_BYTES_MAX, FormPlan, Plan
from redrive.wire.message import HttpRequest
from redrive.wire.model.shapes import OperationModel
from redrive.wire.s3_body import algorithms_asked, chunk_form, decoded_length
from redrive.wire.s3_form import form_of, form_reader, is_form, is_form_type, object_headers
from redrive.wire.s3_form_reader import FormReader
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


def brings_form(head: HttpRequest) -> bool:
    """Whether a request may bring a form with a file."""
    return is_form(head) and is_form_type(head.headers)


def form_plan(head: HttpRequest, bucket: str, identity: Identity, request_id: str) -> Plan:
    """How to receive the file of a form: its signature and its policy are judged before anything is written.

    Where signatures are required, strangers do not fill the disk: they may bring what fits into memory.
    """

    def admit(reader: FormReader) -> tuple[Sequence[str], int]:
        form = form_of(reader, bucket)
        signer = identity.identify_form(form, head, request_id)
        is_stranger = identity.requires_signatures and signer.caller.is_anonymous
        return algorithms_asked(object_headers(form.fields)), BODY_BYTES_MAX if is_stranger else OBJECT_BYTES_MAX

    return Plan(None, form=FormPlan(form_reader(head.headers), admit))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
