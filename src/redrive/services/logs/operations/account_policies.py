"""The operations on policies of accounts: field indexes, transformers, subscriptions. Others are refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import passed_to
from redrive.services.logs import limits
from redrive.services.logs.model.filters import read_filter
from redrive.services.logs.model.group import group_arn, invalid_parameter
from redrive.services.logs.model.policies import (
    SUBSCRIPTION,
    TRANSFORMER,
    AccountPolicy,
    Selection,
    account_policy_key,
    indexed_fields,
    read_selection,
)
from redrive.services.logs.model.transformer import configured_transformer
from redrive.services.logs.operations.subscription_filters import checked_target, try_target
from redrive.services.logs.subscriptions import PRINCIPAL
from redrive.store.api import Transaction

_SUBSCRIBED = frozenset(("DestinationArn", "RoleArn", "FilterPattern", "Distribution"))


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
    """Create or replace a policy for all log groups of the account, or for those that are selected.

    Errors: InvalidParameterException (the document, the selection, a type that redrive does not serve);
    LimitExceededException (a second subscription, too many policies); AccessDeniedException (iam:PassRole).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutAccountPolicy.html
    """
    tx.services.authorize(tx, caller, "logs:PutAccountPolicy", "*")
    if dry_run or scope not in (None, "ALL"):
        raise invalid_parameter("redrive does not serve dryRun, and no other scope than ALL.")
    selection = read_selection(selection_criteria) if selection_criteria else None
    match policy_type:
        case "FIELD_INDEX_POLICY":
            indexed_fields(policy_document)
        case "TRANSFORMER_POLICY":
            _check_transformer(tx, caller, policy_name, policy_document, selection_criteria, selection)
        case "SUBSCRIPTION_FILTER_POLICY":
            _check_subscription(tx, caller, policy_name, policy_document, selection_criteria, selection)
        case _:
            message = (
                f"redrive does not serve account policies of the type {policy_type}. Set each log group on its own."
            )
            raise invalid_parameter(message)
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
    found = _of_type(tx, caller, policy_type)
    shown = [one.described(caller.scope) for one in found if policy_name in (None, one.policy_name)]
    return {"accountPolicies": shown}


@operation("DeleteAccountPolicy")
def delete_account_policy(
    tx: Transaction, caller: Caller, *, policy_name: str, policy_type: str, dry_run: bool | None = None
) -> Document:
    """Delete a policy. What a subscription has promised is still delivered.

    Errors: ResourceNotFoundException; InvalidParameterException (dryRun).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteAccountPolicy.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteAccountPolicy", "*")
    if dry_run:
        raise invalid_parameter("redrive does not serve dryRun.")
    if not tx.resources.delete(AccountPolicy, caller.scope, account_policy_key(policy_type, policy_name)):
        raise ServiceError("ResourceNotFoundException", f"Policy with name [{policy_name}] does not exist.")
    return {}


def _of_type(tx: Transaction, caller: Caller, policy_type: str) -> list[AccountPolicy]:
    return tx.resources.list(AccountPolicy, caller.scope, prefix=f"{policy_type}/")


def _others(tx: Transaction, caller: Caller, policy_type: str, name: str) -> list[AccountPolicy]:
    return [policy for policy in _of_type(tx, caller, policy_type) if policy.policy_name != name]


def _check_transformer(
    tx: Transaction, caller: Caller, name: str, document: str, criteria: str | None, selection: Selection | None
) -> None:
    """Check a policy with a transformer. Errors: InvalidParameterException; LimitExceededException."""
    tx.services.authorize(tx, caller, "logs:PutTransformer", group_arn(caller.scope, "*"))
    configured_transformer(document)
    if criteria and (selection is None or not selection.by_prefix or selection.is_negated):
        raise invalid_parameter('Transformers are selected by LogGroupNamePrefix: LogGroupNamePrefix IN ["/app"].')
    others = _others(tx, caller, TRANSFORMER, name)
    if len(others) >= limits.TRANSFORMER_POLICIES_MAX:
        raise ServiceError("LimitExceededException", "Resource limit exceeded.")
    for other in others:
        known = read_selection(other.selection)
        if selection is None or known is None or _overlap(selection, known):
            message = f"The log groups of this policy overlap with those of the transformer policy {other.policy_name}."
            raise invalid_parameter(message)


def _overlap(one: Selection, other: Selection) -> bool:
    return any(a.startswith(b) or b.startswith(a) for a in one.names for b in other.names)


def _check_subscription(
    tx: Transaction, caller: Caller, name: str, document: str, criteria: str | None, selection: Selection | None
) -> None:
    """Check a policy with a subscription, and try its destination.

    Errors: InvalidParameterException; AccessDeniedException; LimitExceededException.
    """
    source_arn = group_arn(caller.scope, "*")
    tx.services.authorize(tx, caller, "logs:PutSubscriptionFilter", source_arn)
    if criteria and (selection is None or selection.by_prefix or not selection.is_negated):
        raise invalid_parameter('Subscriptions leave groups out by LogGroupName NOT IN ["/app/watch"].')
    try:
        given = load_json(document)
    except ValueError as error:
        raise invalid_parameter(f"The policy document is no JSON: {error}") from error
    if not isinstance(given, dict) or "DestinationArn" not in given or not _SUBSCRIBED.issuperset(given):
        raise invalid_parameter(f"The policy document has DestinationArn, and {', '.join(sorted(_SUBSCRIBED))} only.")
    if not all(isinstance(value, str) for value in given.values()):
        raise invalid_parameter("The members of the policy document are texts.")
    if given.get("Distribution", "ByLogStream") not in ("ByLogStream", "Random"):
        raise invalid_parameter("Distribution is Random or ByLogStream.")
    read_filter(given.get("FilterPattern", ""))
    if _others(tx, caller, SUBSCRIPTION, name):
        raise ServiceError("LimitExceededException", "Resource limit exceeded.")
    target = checked_target(caller, given["DestinationArn"], given.get("RoleArn"))
    if "RoleArn" in given:
        tx.services.authorize(tx, caller, "iam:PassRole", given["RoleArn"], context=passed_to(PRINCIPAL, source_arn))
    try_target(tx, caller, target, given["DestinationArn"], given.get("RoleArn", ""), source_arn)
