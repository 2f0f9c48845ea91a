"""Uploads archives of code, and long templates, to a server, which stores them like a bucket."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from redrive.cli.endpoint import is_missing
from redrive.cli.surface import Surface
from redrive.core.errors import UserError
from redrive.delivery.assets import BUCKET

PIECE_BYTES = 32 * 1024 * 1024
"""The limit of a server's request is 64 MB."""


def bring_to(endpoint_url: str) -> Callable[[bytes], str]:
    """A function that uploads an archive to this server, unless it is there; returns the digest. Errors: UserError."""
    surface = Surface(endpoint_url)

    def bring(content: bytes) -> str:
        key = hashlib.sha256(content).hexdigest()
        if not _is_there(surface, key):
            pieces = [content[start : start + PIECE_BYTES] for start in range(0, len(content), PIECE_BYTES)]
            for number, piece in enumerate(pieces, 1):
                surface.put_asset(bucket=BUCKET, key=key, content=piece, piece=number, pieces=len(pieces))
        return key

    return bring


def template_url(endpoint_url: str, body: str) -> str:
    """Upload a template that is too long for a request; returns its URL. Errors: UserError."""
    return f"https://s3.amazonaws.com/{BUCKET}/{bring_to(endpoint_url)(body.encode())}"


def _is_there(surface: Surface, key: str) -> bool:
    try:
        surface.get_asset(bucket=BUCKET, key=key)
    except UserError as error:
        if is_missing(error):
            return False
        raise
    return True
