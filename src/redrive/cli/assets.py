"""Archives of code on their way to a server, which keeps them by their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from redrive.cli.endpoint import ask_with_bytes, is_there

PIECE_BYTES = 32 * 1024 * 1024
"""A server takes requests of up to 64 MB."""


def bring_to(endpoint_url: str) -> Callable[[bytes], str]:
    """What brings an archive to this server, unless it is there; answers the archive's digest. Errors: UserError."""

    def bring(content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        path = f"assets/{digest}"
        if is_there(endpoint_url, path):
            return digest
        pieces = [content[start : start + PIECE_BYTES] for start in range(0, len(content), PIECE_BYTES)]
        for number, piece in enumerate(pieces, 1):
            ask_with_bytes(endpoint_url, f"{path}?piece={number}&pieces={len(pieces)}", piece)
        return digest

    return bring
