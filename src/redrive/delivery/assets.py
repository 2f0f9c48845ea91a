"""Assets: files that `redrive deploy` uploads, stored under the bucket and key that its templates refer to.

Their bucket is not in S3: who reads objects by bucket and key (`delivery/objects.py`) looks here first. An unused
asset is kept, because a rollback may need it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.scope import Scope
from redrive.store.api import Transaction

BUCKET = "redrive-assets"
"""The bucket of the files that `redrive deploy` packages itself. The keys are digests."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One uploaded file. Its content is the blob with this digest."""

    KIND: ClassVar[str] = "cloudformation.asset"

    bucket: str
    key: str
    digest: str

    @property
    def name(self) -> str:
        return f"{self.bucket}/{self.key}"


def keep_asset(tx: Transaction, account: str, bucket: str, key: str, digest: str, content: bytes) -> None:
    """Store a file under a bucket and a key. Replaces the file that had this bucket and key."""
    tx.blobs.put(_blob(digest), content)
    tx.resources.put(_home(account), Asset(bucket, key, digest))


def asset_content(tx: Transaction, account: str, bucket: str, key: str) -> bytes | None:
    """The content of an uploaded file, or None if there is no such file."""
    asset = tx.resources.get(Asset, _home(account), f"{bucket}/{key}")
    return None if asset is None else tx.blobs.get(_blob(asset.digest))


def keep_piece(tx: Transaction, account: str, bucket: str, key: str, piece: int, content: bytes) -> None:
    """Store one piece of a large file. Pieces are numbered from 1."""
    tx.blobs.put(_piece(account, bucket, key, piece), content)


def joined_pieces(tx: Transaction, account: str, bucket: str, key: str, count: int) -> bytes | None:
    """Join the pieces of a file and delete the pieces. Returns None, and deletes nothing, if a piece is missing."""
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
    """The blob's name. The prefix keeps assets apart from the blobs of functions, which functions delete."""
    return f"asset-{digest}"


def _home(account: str) -> Scope:
    """The scope that holds an account's assets. Bucket names belong to no region."""
    return Scope(account, "global")
