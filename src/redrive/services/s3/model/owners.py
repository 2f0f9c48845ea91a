"""Owners of objects, as S3's answers name them."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import canonical_user


def owner_of(account: str) -> Document:
    """The account that owns an object, by its canonical user id. S3 shows no names of owners any more."""
    return {"ID": canonical_user(account)}
