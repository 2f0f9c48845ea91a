"""KMS's errors, and the pages of its lists.

Source: https://docs.aws.amazon.com/kms/latest/APIReference/CommonErrors.html and the pages of the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from redrive.core.documents import Document
from redrive.core.errors import ServiceError

T = TypeVar("T")


def invalid(message: str) -> ServiceError:
    """Build the error for a request that AWS refuses."""
    return ServiceError("ValidationException", message, http_status=400)


def not_found(message: str) -> ServiceError:
    """Build the error for a key, an alias or a grant that does not exist."""
    return ServiceError("NotFoundException", message)


def unsupported(message: str) -> ServiceError:
    """Build the error for what the key cannot do, and for what redrive does not serve."""
    return ServiceError("UnsupportedOperationException", message)


def invalid_ciphertext() -> ServiceError:
    """Build the error for a ciphertext that does not decrypt. AWS says nothing about the reason."""
    return ServiceError("InvalidCiphertextException", "")


def refuse_recipient(recipient: Document | None) -> None:
    """Refuse an attested enclave as the recipient. Errors: UnsupportedOperationException."""
    if recipient is not None:
        raise unsupported("redrive does not serve Nitro enclaves: leave the parameter Recipient out.")


def end_dry_run(dry_run: bool | None) -> None:
    """End a request that was only a trial. Errors: DryRunOperationException."""
    if dry_run:
        raise ServiceError(
            "DryRunOperationException", "The request would have succeeded, but the DryRun option is set."
        )


def page_of(found: Sequence[T], mark: Callable[[T], str], marker: str | None, count: int) -> tuple[list[T], Document]:
    """Return the page after a marker, and the rest of the answer; `found` is sorted by its marks."""
    left = [one for one in found if marker is None or mark(one) > marker]
    page = left[:count]
    if len(left) > count:
        return page, {"Truncated": True, "NextMarker": mark(page[-1])}
    return page, {"Truncated": False}
