"""The resource policies of tables and streams: every request on a table asks for the table's policy."""

from __future__ import annotations

from redrive.core.entropy import new_uuid
from redrive.core.scope import Scope
from redrive.languages.iam import PolicyError, PolicyKind, parse_policy
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.settings import Insights, Recovery, TablePolicy
from redrive.services.dynamodb.model.table import Table, invalid
from redrive.store.api import Transaction


def policy_of(tx: Transaction, scope: Scope, name: str) -> str:
    """Return the text of the policy of a table, or of a stream (`orders/stream/2026-…`); empty if it has none."""
    policy = tx.resources.get(TablePolicy, scope, name)
    return "" if policy is None else policy.document


def check_policy(policy: str) -> None:
    """Refuse a text that is no resource policy for DynamoDB. Errors: ValidationException."""
    if len(policy.encode("utf-8", "surrogatepass")) > limits.POLICY_BYTES_MAX:
        raise invalid(f"Resource policy size exceeds the maximum of {limits.POLICY_BYTES_MAX} bytes")
    try:
        parsed = parse_policy(policy, PolicyKind.RESOURCE)
    except PolicyError as error:
        raise invalid(f"Invalid policy document: {error}") from None
    for statement in parsed.statements:
        for action in statement.actions.patterns:
            if action != "*" and not action.lower().startswith("dynamodb:"):
                raise invalid(f"Invalid policy document: the action {action} is not one of DynamoDB")


def attach_policy(tx: Transaction, table: Table, policy: str) -> None:
    """Attach a policy to a new table. Errors: ValidationException."""
    check_policy(policy)
    tx.resources.put(table.scope, TablePolicy(table.name, policy, new_uuid(tx.entropy)))


def forget_settings(tx: Transaction, table: Table) -> None:
    """Delete what is stored beside a table that is deleted."""
    tx.resources.delete(Recovery, table.scope, table.name)
    tx.resources.delete(Insights, table.scope, table.name)
    tx.resources.delete(TablePolicy, table.scope, table.name)
    for insights in tx.resources.list(Insights, table.scope, prefix=f"{table.name}/"):
        tx.resources.delete(Insights, table.scope, insights.name)
    for policy in tx.resources.list(TablePolicy, table.scope, prefix=f"{table.name}/"):
        tx.resources.delete(TablePolicy, table.scope, policy.name)
