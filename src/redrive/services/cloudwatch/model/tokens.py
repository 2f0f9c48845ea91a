"""Tokens that say where the next page begins. They are opaque to callers."""

from __future__ import annotations

import base64
import hashlib

from redrive.core.documents import dump_json, load_json


def write_token(request: object, position: object) -> str:
    """Return a token for a position in the answer to this request."""
    return base64.urlsafe_b64encode(dump_json([_digest(request), position]).encode()).decode()


def read_token(token: str, request: object) -> object | None:
    """Return the position in a token; None if we did not issue the token for this request."""
    try:
        digest, position = load_json(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, TypeError):
        return None
    found: object = position
    return found if digest == _digest(request) else None


def _digest(request: object) -> str:
    return hashlib.sha256(dump_json(request).encode()).hexdigest()[:16]
