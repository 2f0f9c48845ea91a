"""Files that deployments upload. They replace S3, which redrive does not serve."""

from __future__ import annotations

import hashlib

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.assets import asset_content, joined_pieces, keep_asset, keep_piece
from redrive.delivery.surface import MISSING, own_operation, refusal, scope_asked
from redrive.store.api import Transaction

ASSET_BYTES_MAX = 250 * 1024 * 1024
"""The largest size of code: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"""


@own_operation("PutAsset")
def put_asset(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, content: bytes = b"", account: str | None = None,
    piece: int = 1, pieces: int = 1,
) -> Document:  # fmt: skip
    """Store a file under a bucket and a key, replacing an earlier one.

    A large file arrives in pieces, the last one last.

    Errors: AccessDeniedException; ValidationException (a piece is missing or beyond the last one; the file is too
    large).
    """
    home = scope_asked(caller, account, None).account
    answer: Document = {"bucket": bucket, "key": key, "sha256": None, "size_bytes": None}
    whole: bytes | None = content
    if piece > pieces:
        raise refusal(f"There is no piece {piece} of {pieces}.", "Number the pieces from 1.")
    if pieces > 1:
        keep_piece(tx, home, bucket, key, piece, content)
        if piece < pieces:
            return answer
        whole = joined_pieces(tx, home, bucket, key, pieces)
    if whole is None:
        raise refusal("A piece of the file is missing.", "Send all pieces, the last one last.")
    if len(whole) > ASSET_BYTES_MAX:
        raise refusal(f"The file has {len(whole)} bytes; it may have {ASSET_BYTES_MAX}.", "Send less.")
    digest = hashlib.sha256(whole).hexdigest()
    keep_asset(tx, home, bucket, key, digest, whole)
    return answer | {"sha256": digest, "size_bytes": len(whole)}


@own_operation("GetAsset")
def get_asset(tx: Transaction, caller: Caller, *, bucket: str, key: str, account: str | None = None) -> Document:
    """Return a file's description, if the file exists. Errors: AccessDeniedException; ResourceNotFoundException."""
    content = asset_content(tx, scope_asked(caller, account, None).account, bucket, key)
    if content is None:
        raise refusal(f"There is no file {key[:100]} in {bucket[:100]}.", "Send it by PUT.", MISSING)
    return {"bucket": bucket, "key": key, "sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
