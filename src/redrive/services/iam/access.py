"""(being written)"""

from __future__ import annotations

from redrive.core.scope import Caller, Scope
from redrive.store.api import Transaction


def assume_role(
    tx: Transaction, role_arn: str, *, service: str, session_name: str, region: str, request_id: str,
    source_arn: str | None = None,
) -> Caller:  # fmt: skip
    """(being written)"""
    return Caller(Scope(role_arn.split(":")[4], region), request_id, role_arn, session_name)


def authorize(tx: Transaction, caller: Caller, action: str, resource: str) -> None:
    """(being written)"""
