"""The operations on resource policies, by which AWS services may write to log groups."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import PolicyError, PolicyKind, parse_policy
from redrive.services.logs import limits
from redrive.services.logs.model.group import group_name_of, invalid_parameter
from redrive.services.logs.model.resource_policy import ResourcePolicy
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.services.logs.operations.groups import existing_group
from redrive.store.api import Transaction

_REVISION_DIGITS = 32


@operation("PutResourcePolicy")
def put_resource_policy(
    tx: Transaction, caller: Caller, *, policy_name: str | None = None, policy_document: str | None = None,
    resource_arn: str | None = None, expected_revision_id: str | None = None,
) -> Document:  # fmt: skip
    """Create or replace the policy of this name, or the policy of a log group.

    Errors: InvalidParameterException; LimitExceededException (10 policies of the account); ResourceNotFoundException
    (the group); OperationAbortedException (another revision).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutResourcePolicy.html
    """
    _authorize(tx, caller, "logs:PutResourcePolicy")
    if policy_document is None or (policy_name is None) == (resource_arn is None):
        raise invalid_parameter("Either policyName or resourceArn must be specified, and policyDocument.")
    try:
        parse_policy(policy_document, PolicyKind.RESOURCE)
    except PolicyError as error:
        raise invalid_parameter(f"Invalid Policy Document: {error}") from error
    if resource_arn is not None:
        existing_group(tx, caller, group_name_of(caller.scope, None, resource_arn))
    known = tx.resources.get(ResourcePolicy, caller.scope, resource_arn or policy_name or "")
    _check_revision(known, expected_revision_id)
    if known is None and resource_arn is None and tx.services.limits is Limits.STRICT:
        others = tx.resources.list(ResourcePolicy, caller.scope)
        if sum(not one.resource_arn for one in others) >= limits.RESOURCE_POLICIES_MAX:
            raise ServiceError("LimitExceededException", "Resource limit exceeded.")
    policy = ResourcePolicy(
        policy_name or "", policy_document, tx.now, resource_arn or "", tx.entropy.hex(_REVISION_DIGITS)
    )
    tx.resources.put(caller.scope, policy)
    return {"resourcePolicy": _shown(policy), "revisionId": policy.revision}


@operation("DescribeResourcePolicies")
def describe_resource_policies(
    tx: Transaction, caller: Caller, *, next_token: str | None = None, limit: int | None = None,
    resource_arn: str | None = None, policy_scope: str | None = None,
) -> Document:  # fmt: skip
    """List policies by name: those of the account, or the one of a log group.

    Errors: InvalidParameterException (an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeResourcePolicies.html
    """
    _authorize(tx, caller, "logs:DescribeResourcePolicies")
    size = limit or limits.DESCRIBED_MAX
    after = "" if next_token is None else str(read_list_token(next_token)[0])
    found = [
        policy
        for policy in tx.resources.list(ResourcePolicy, caller.scope, after=after)
        if resource_arn in (None, policy.resource_arn) and policy_scope in (None, policy.scope)
    ]
    page = found[:size]
    return {
        "resourcePolicies": [_shown(policy) for policy in page],
        "nextToken": list_token(page[-1].name) if len(found) > size else None,
    }


@operation("DeleteResourcePolicy")
def delete_resource_policy(
    tx: Transaction, caller: Caller, *, policy_name: str | None = None, resource_arn: str | None = None,
    expected_revision_id: str | None = None,
) -> Document:  # fmt: skip
    """Delete a policy.

    Errors: ResourceNotFoundException; InvalidParameterException; OperationAbortedException (another revision).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteResourcePolicy.html
    """
    _authorize(tx, caller, "logs:DeleteResourcePolicy")
    if (policy_name is None) == (resource_arn is None):
        raise invalid_parameter("Either policyName or resourceArn must be specified.")
    name = resource_arn or policy_name or ""
    known = tx.resources.get(ResourcePolicy, caller.scope, name)
    if known is None:
        raise ServiceError("ResourceNotFoundException", f"Policy with name [{name}] does not exist.")
    _check_revision(known, expected_revision_id)
    tx.resources.delete(ResourcePolicy, caller.scope, name)
    return {}


def _authorize(tx: Transaction, caller: Caller, action: str) -> None:
    tx.services.authorize(tx, caller, action, "*")


def _check_revision(known: ResourcePolicy | None, expected: str | None) -> None:
    if expected is not None and (known is None or known.revision != expected):
        raise ServiceError("OperationAbortedException", "The expected revision id does not match the policy's.")


def _shown(policy: ResourcePolicy) -> Document:
    shown: Document = {
        "policyDocument": policy.document, "lastUpdatedTime": policy.updated_at, "policyScope": policy.scope,
        "revisionId": policy.revision,
    }  # fmt: skip
    named = {"resourceArn": policy.resource_arn} if policy.resource_arn else {"policyName": policy.policy_name}
    return {**named, **shown}
