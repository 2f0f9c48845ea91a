"""The operations on policies of accounts. Those of field indexes are stored; all others are refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs.model.group import invalid_parameter
from redrive.services.logs.model.policies import FIELD_INDEX, AccountPolicy, account_policy_key, indexed_fields
from redrive.store.api import Transaction


@operation("PutAccountPolicy")
def put_account_policy(
    tx: Transaction,
    caller: Caller,
    *,
    policy_name: str,
    policy_document: str,
    policy_type: str,
    scope: str | None = None,
    selection_criteria: str | None = None,
    dry_run: bool | None = None,
) -> Document:
    """Create or replace a policy of field indexes for all log groups of the account.

    Errors: InvalidParameterException (the document, a type that redrive does not serve).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutAccountPolicy.html
    """
    tx.services.authorize(tx, caller, "logs:PutAccountPolicy", "*")
    if policy_type != FIELD_INDEX:
        message = f"redrive does not serve account policies of the type {policy_type}. Set each log group on its own."
        raise invalid_parameter(message)
    if dry_run or scope not in (None, "ALL"):
        raise invalid_parameter("redrive does not serve dryRun, and no other scope than ALL.")
    indexed_fields(policy_document)
    policy = AccountPolicy(policy_name, policy_type, policy_document, tx.now, selection_criteria or "")
    tx.resources.put(caller.scope, policy)
    return {"accountPolicy": policy.described(caller.scope)}


@operation("DescribeAccountPolicies")
def describe_account_policies(
    tx: Transaction,
    caller: Caller,
    *,
    policy_type: str,
    policy_name: str | None = None,
    account_identifiers: Sequence[str] | None = None,
    next_token: str | None = None,  # noqa: ARG001 -- all fit into one answer.
) -> Document:
    """List the policies of a type. There are no linked accounts here.

    Errors: InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeAccountPolicies.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeAccountPolicies", "*")
    if account_identifiers and caller.account not in account_identifiers:
        return {"accountPolicies": []}
    found = tx.resources.list(AccountPolicy, caller.scope, prefix=f"{policy_type}/")
    shown = [one.described(caller.scope) for one in found if policy_name in (None, one.policy_name)]
    return {"accountPolicies": shown}


@operation("DeleteAccountPolicy")
def delete_account_policy(
    tx: Transaction, caller: Caller, *, policy_name: str, policy_type: str, dry_run: bool | None = None
) -> Document:
    """Delete a policy.

    Errors: ResourceNotFoundException; InvalidParameterException (dryRun).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteAccountPolicy.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteAccountPolicy", "*")
    if dry_run:
        raise invalid_parameter("redrive does not serve dryRun.")
    if not tx.resources.delete(AccountPolicy, caller.scope, account_policy_key(policy_type, policy_name)):
        raise ServiceError("ResourceNotFoundException", f"Policy with name [{policy_name}] does not exist.")
    return {}
