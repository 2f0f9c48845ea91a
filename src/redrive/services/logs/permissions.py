"""What the resource policies of an account allow to AWS services."""

from __future__ import annotations

from redrive.core.scope import Caller
from redrive.services.logs.model.resource_policy import ResourcePolicy, merged
from redrive.store.api import Transaction


def service_policy(tx: Transaction, caller: Caller) -> str:
    """The policies that decide for a caller that is an AWS service; empty for all other callers."""
    if not caller.service:
        return ""
    policies = tx.resources.everywhere(ResourcePolicy)
    return merged([policy for scope, policy in policies if scope == caller.scope])
