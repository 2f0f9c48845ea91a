"""Whether anybody can sign requests: checked before the start of a server that requires signatures."""

from __future__ import annotations

from redrive.services.iam.model.user import AccessKey
from redrive.store.api import Transaction


def is_any_key_active(tx: Transaction) -> bool:
    """Whether a user of any account has an active access key."""
    return any(key.is_active for _, key in tx.resources.everywhere(AccessKey))
