"""Assets: archives of code that deployments have brought, kept by their digest where AWS's tools would use S3.

A template names one as it would an object in S3, with the bucket below and the digest as key. An asset stays when no
function uses it any more: a rollback may go back to it, and so may the next deployment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.lambda_.model import invalid_parameter
from redrive.services.lambda_.model_code import check_archive, check_unzipped, code_digest, zip_content
from redrive.store.api import Transaction

BUCKET = "redrive-assets"

# Their names are digests, which mean the same wherever they are used.
_EVERYWHERE = Scope("assets", "assets")


@dataclass(frozen=True, slots=True)
class Asset:
    """An archive that was brought; its content is a blob of the same digest."""

    KIND: ClassVar[str] = "lambda.asset"

    digest: str
    size_bytes: int

    @property
    def name(self) -> str:
        return self.digest


def find_asset(tx: Transaction, digest: str) -> Asset | None:
    """The asset of that digest, or None."""
    return tx.resources.get(Asset, _EVERYWHERE, digest)


def keep_asset(tx: Transaction, content: bytes) -> Asset:
    """Keep an archive; one that is there already stays."""
    asset = Asset(code_digest(content), len(content))
    tx.blobs.put(asset.digest, content)
    tx.resources.put(_EVERYWHERE, asset)
    return asset


def brought_code(tx: Transaction, code: Document, operation: str) -> bytes:
    """The archive that a `Code` document holds or names, if functions can be made of it.

    Errors: InvalidParameterValueException; RequestEntityTooLargeException (over 50 MB in the request itself).
    """
    if code.get("S3Bucket") != BUCKET:
        content = zip_content(code)
        check_archive(content, operation)
        return content
    content = _content(tx, code.get("S3Key") or "")
    check_unzipped(content)
    return content


def _content(tx: Transaction, digest: str) -> bytes:
    """The archive that a template names by its digest. Errors: InvalidParameterValueException."""
    content = tx.blobs.get(digest) if find_asset(tx, digest) is not None else None
    if content is None:
        raise invalid_parameter(
            "Error occurred while GetObject. S3 Error Code: NoSuchKey. S3 Error Message: The specified key does not "
            "exist."
        )
    return content
