"""Whether anybody could sign, asked before a server that requires signatures is started."""

from __future__ import annotations

from redrive.services.iam.model.user import AccessKey
from redrive.store.api import Transaction


def is_any_key_active(tx: Transaction) -> bool:
    """Whether a user of any account has an access key that is good."""
    return any(key.is_active for _, key in tx.resources.everywhere(AccessKey))
