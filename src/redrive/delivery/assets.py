"""Assets: files that a deployment has uploaded, under the bucket and key by which templates name them.

They stand in for S3, which is not served. Code of functions and layers, and templates, are found by bucket and key, or
by a URL of S3 that holds both. An asset stays when nothing uses it any more: a rollback may go back to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from redrive.core.scope import Scope
from redrive.store.api import Transaction

BUCKET = "redrive-assets"
"""The bucket of what redrive deploy packages itself; the keys are digests."""

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-bucket-intro.html
_PATH_STYLE = re.compile(r"s3[.-]([a-z0-9-]+\.)?amazonaws\.com(\.cn)?")
_HOST_STYLE = re.compile(r"(?P<bucket>[a-z0-9.-]+)\.s3[.-]([a-z0-9-]+\.)?amazonaws\.com(\.cn)?")


@dataclass(frozen=True, slots=True)
class Asset:
    """One uploaded file; its content is the blob of this digest."""

    KIND: ClassVar[str] = "cloudformation.asset"

    bucket: str
    key: str
    digest: str

    @property
    def name(self) -> str:
        return f"{self.bucket}/{self.key}"


def keep_asset(tx: Transaction, account: str, bucket: str, key: str, digest: str, content: bytes) -> None:
    """Keep a file under a bucket and a key, over what had that name."""
    tx.blobs.put(_blob(digest), content)
    tx.resources.put(_home(account), Asset(bucket, key, digest))


def asset_content(tx: Transaction, account: str, bucket: str, key: str) -> bytes | None:
    """The content of an uploaded file, or None."""
    asset = tx.resources.get(Asset, _home(account), f"{bucket}/{key}")
    return None if asset is None else tx.blobs.get(_blob(asset.digest))


def asset_at(tx: Transaction, account: str, url: str) -> bytes | None:
    """The content of the uploaded file that a URL of S3 means, in either of its two styles, or None."""
    parts = urlsplit(url)
    host, path = parts.hostname or "", unquote(parts.path).removeprefix("/")
    if _PATH_STYLE.fullmatch(host):
        bucket, _, key = path.partition("/")
        return asset_content(tx, account, bucket, key)
    matched = _HOST_STYLE.fullmatch(host)
    return None if matched is None else asset_content(tx, account, matched["bucket"], path)


def keep_piece(tx: Transaction, account: str, bucket: str, key: str, piece: int, content: bytes) -> None:
    """Keep one of the pieces in which a large file comes, from 1."""
    tx.blobs.put(_piece(account, bucket, key, piece), content)


def joined_pieces(tx: Transaction, account: str, bucket: str, key: str, count: int) -> bytes | None:
    """The file of which all pieces have come, and which are then forgotten; None if one is missing."""
    names = [_piece(account, bucket, key, piece) for piece in range(1, count + 1)]
    pieces = [tx.blobs.get(name) for name in names]
    if None in pieces:
        return None
    for name in names:
        tx.blobs.delete(name)
    return b"".join(piece for piece in pieces if piece is not None)


def _piece(account: str, bucket: str, key: str, piece: int) -> str:
    return f"piece-{account}/{bucket}/{key}/{piece}"


def _blob(digest: str) -> str:
    """The blob's name: one of its own, as functions forget the blobs of theirs."""
    return f"asset-{digest}"


def _home(account: str) -> Scope:
    """Where an account's assets are kept: names of buckets have no region."""
    return Scope(account, "global")
