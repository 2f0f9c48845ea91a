"""The operations on field indexes. They are stored and shown; queries here read all events of their time anyway."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs.model.group import GroupClass, LogGroup, group_name_of, invalid_parameter, policy_arn
from redrive.services.logs.model.policies import (
    DEFAULT_INDEXES,
    FIELD_INDEX,
    AccountPolicy,
    IndexPolicy,
    indexed_fields,
)
from redrive.services.logs.operations.groups import existing_group
from redrive.store.api import Transaction


@operation("PutIndexPolicy")
def put_index_policy(
    tx: Transaction, caller: Caller, *, log_group_identifier: str, policy_document: str
) -> Document:  # fmt: skip
    """Set the field indexes of a group, in place of those of the account.

    Errors: ResourceNotFoundException; InvalidParameterException (the document, a group of another class than STANDARD).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutIndexPolicy.html
    """
    group = _group(tx, caller, "logs:PutIndexPolicy", log_group_identifier)
    if group.group_class is not GroupClass.STANDARD:
        raise invalid_parameter("Only log groups of the class STANDARD have field indexes.")
    indexed_fields(policy_document)
    policy = IndexPolicy(group.name, policy_document, tx.now)
    tx.resources.put(caller.scope, policy)
    return {"indexPolicy": policy.described(group.arn(caller.scope))}


@operation("DescribeIndexPolicies")
def describe_index_policies(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_identifiers: Sequence[str],
    next_token: str | None = None,  # noqa: ARG001 -- all fit into one answer.
) -> Document:
    """Show the field indexes of a group: its own, or those of the account.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeIndexPolicies.html
    """
    shown = []
    for identifier in log_group_identifiers:
        group = _group(tx, caller, "logs:DescribeIndexPolicies", identifier)
        own = tx.resources.get(IndexPolicy, caller.scope, group.name)
        if own is not None:
            shown.append(own.described(group.arn(caller.scope)))
            continue
        shown += [
            {
                "logGroupIdentifier": group.arn(caller.scope), "lastUpdateTime": policy.updated_at,
                "policyDocument": policy.document, "policyName": policy.policy_name, "source": "ACCOUNT",
            }
            for policy in _of_account(tx, caller, group)
        ]  # fmt: skip
    return {"indexPolicies": shown}


@operation("DescribeFieldIndexes")
def describe_field_indexes(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_identifiers: Sequence[str],
    index_categories: Sequence[str] | None = None,
    next_token: str | None = None,  # noqa: ARG001 -- all fit into one answer.
) -> Document:
    """List the indexed fields of groups: the default ones, and those of policies.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeFieldIndexes.html
    """
    shown: list[Document] = []
    for identifier in log_group_identifiers:
        group = _group(tx, caller, "logs:DescribeFieldIndexes", identifier)
        own = tx.resources.get(IndexPolicy, caller.scope, group.name)
        documents = [own.document] if own is not None else [one.document for one in _of_account(tx, caller, group)]
        custom = {name: kind for document in documents for name, kind in indexed_fields(document).items()}
        listed = [(name, "FIELD_INDEX", "DEFAULT") for name in DEFAULT_INDEXES if name not in custom]
        listed += [(name, kind, "CUSTOM") for name, kind in custom.items()]
        shown += [
            {
                "logGroupIdentifier": group.arn(caller.scope), "fieldIndexName": name, "type": kind,
                "indexCategory": category, "lastScanTime": tx.now,
            }
            for name, kind, category in listed
            if not index_categories or category in index_categories
        ]  # fmt: skip
    return {"fieldIndexes": shown}


@operation("DeleteIndexPolicy")
def delete_index_policy(tx: Transaction, caller: Caller, *, log_group_identifier: str) -> Document:
    """Delete the field indexes of a group; those of the account hold again.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteIndexPolicy.html
    """
    group = _group(tx, caller, "logs:DeleteIndexPolicy", log_group_identifier)
    if not tx.resources.delete(IndexPolicy, caller.scope, group.name):
        raise ServiceError("ResourceNotFoundException", "The specified log group has no index policy.")
    return {}


def _group(tx: Transaction, caller: Caller, action: str, identifier: str) -> LogGroup:
    name = group_name_of(caller.scope, None, identifier)
    tx.services.authorize(tx, caller, action, policy_arn(caller.scope, name))
    return existing_group(tx, caller, name)


def _of_account(tx: Transaction, caller: Caller, group: LogGroup) -> list[AccountPolicy]:
    found = tx.resources.list(AccountPolicy, caller.scope, prefix=f"{FIELD_INDEX}/")
    return [policy for policy in found if policy.selects(group.name)]
