"""The operations on managed policies: create, find, list, tag, delete, and list their users.

Every operation on a policy begins with `policy_for`; operations that change a policy begin with `own_policy_for`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import access, limits
from redrive.services.iam.access import Holder
from redrive.services.iam.model.documents import check_managed
from redrive.services.iam.model.group import Group
from redrive.services.iam.model.requests import (
    invalid_input,
    no_such_entity,
    over_quota,
    page,
    tag_list,
    tagged,
    untagged,
)
from redrive.services.iam.model.role import (
    ManagedPolicy,
    PolicyVersion,
    Role,
    aws_policies,
    home,
    new_policy_id,
    policy_arn,
)
from redrive.services.iam.model.user import User
from redrive.store.api import Transaction


def policy_for(tx: Transaction, caller: Caller, arn: str, action: str) -> ManagedPolicy:
    """Return the managed policy with this ARN, of the caller's account or of AWS, if the caller may do `action` on it.

    Errors: NoSuchEntityException; InvalidInputException (not an ARN); AccessDeniedException.
    """
    if not arn.startswith("arn:"):
        raise invalid_input(f"ARN {arn} is not valid.")
    tx.services.authorize(tx, caller, action, arn)
    policy = access.find_policy(tx, arn)
    if policy is None or not (policy.is_aws or policy.account == caller.account):
        raise no_such_entity(f"Policy {arn} was not found.")
    return policy


def own_policy_for(tx: Transaction, caller: Caller, arn: str, action: str) -> ManagedPolicy:
    """Like `policy_for`, for a change: nobody may change AWS's own policies. Errors: as `policy_for`."""
    policy = policy_for(tx, caller, arn, action)
    if policy.is_aws:
        message = f"User: {caller.principal_arn} is not authorized to perform: {action} on resource: {arn}"
        raise ServiceError("AccessDeniedException", message)
    return policy


def store_policy(tx: Transaction, policy: ManagedPolicy) -> None:
    """Store a policy, replacing the earlier row."""
    tx.resources.put(home(policy.account), policy)


@operation("CreatePolicy")
def create_policy(
    tx: Transaction,
    caller: Caller,
    *,
    policy_name: str,
    policy_document: str,
    path: str | None = None,
    description: str | None = None,
    tags: Sequence[Mapping[str, str]] | None = None,
) -> Document:
    """Create a managed policy with this document as version v1.

    Errors: EntityAlreadyExistsException; MalformedPolicyDocumentException; LimitExceededException;
    InvalidInputException (tags).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreatePolicy.html
    """
    where = home(caller.account)
    policy = ManagedPolicy(
        policy_name=policy_name, path=path or "/", id=new_policy_id(tx.entropy), account=caller.account,
        versions=(PolicyVersion(1, policy_document, tx.now),), default_number=1, latest_number=1,
        description=description, created_at=tx.now, updated_at=tx.now, tags=tagged({}, tags or (), "Policy"),
    )  # fmt: skip
    tx.services.authorize(tx, caller, "iam:CreatePolicy", policy.arn)
    check_managed(policy_document)
    if tx.resources.get(ManagedPolicy, where, policy.name) is not None:
        raise ServiceError(
            "EntityAlreadyExistsException",
            f"A policy called {policy_name} already exists. Duplicate names are not allowed.",
        )
    if tx.resources.count(ManagedPolicy, where) >= limits.CUSTOMER_POLICIES_MAX:
        raise over_quota("PoliciesPerAccount", limits.CUSTOMER_POLICIES_MAX)
    store_policy(tx, policy)
    return {"Policy": _listed(policy, _Usage.of(())) | {"Tags": tag_list(policy.tags) or None}}


@operation("GetPolicy")
def get_policy(tx: Transaction, caller: Caller, *, policy_arn: str) -> Document:
    """Return a managed policy, without its document.

    Errors: NoSuchEntityException; InvalidInputException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetPolicy.html
    """
    policy = policy_for(tx, caller, policy_arn, "iam:GetPolicy")
    described = _listed(policy, _usage(tx, caller))
    return {"Policy": described | {"Description": policy.description, "Tags": tag_list(policy.tags)}}


@operation("ListPolicies")
def list_policies(
    tx: Transaction,
    caller: Caller,
    *,
    scope: str | None = None,
    only_attached: bool | None = None,
    path_prefix: str | None = None,
    policy_usage_filter: str | None = None,
    marker: str | None = None,
    max_items: int | None = None,
) -> Document:
    """List managed policies sorted by name: the account's (`Local`), AWS's (`AWS`), or both.

    Errors: ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListPolicies.html
    """
    tx.services.authorize(tx, caller, "iam:ListPolicies", policy_arn(caller.account, "", path_prefix or "/"))
    found: list[ManagedPolicy] = []
    if scope != "AWS":
        found += tx.resources.list(ManagedPolicy, home(caller.account))
    if scope != "Local":
        found += aws_policies().values()
    usage = _usage(tx, caller)
    counted = {"PermissionsPolicy": usage.attached, "PermissionsBoundary": usage.bounding}
    if policy_usage_filter is not None:
        found = [policy for policy in found if counted[policy_usage_filter][policy.arn]]
    elif only_attached:
        found = [policy for policy in found if usage.attached[policy.arn]]
    found = [policy for policy in found if policy.path.startswith(path_prefix or "/")]
    # One of AWS's policies can have the same name as one of the account's; the ARN distinguishes them.
    items, more = page(found, lambda policy: f"{policy.name} {policy.arn}", marker, max_items)
    return {"Policies": [_listed(policy, usage) for policy in items], **more}


@operation("DeletePolicy")
def delete_policy(tx: Transaction, caller: Caller, *, policy_arn: str) -> Document:
    """Delete a managed policy that nothing uses and that has only its default version.

    Errors: NoSuchEntityException; InvalidInputException; DeleteConflictException; AccessDeniedException (AWS's own).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeletePolicy.html
    """
    policy = own_policy_for(tx, caller, policy_arn, "iam:DeletePolicy")
    usage = _usage(tx, caller)
    if usage.attached[policy.arn] or usage.bounding[policy.arn]:
        raise ServiceError("DeleteConflictException", "Cannot delete a policy attached to entities.")
    if len(policy.versions) > 1:
        raise ServiceError(
            "DeleteConflictException",
            "This policy has more than one version. Before you delete a policy, you must delete the policy's versions."
            " The default version is deleted with the policy.",
        )
    tx.resources.delete(ManagedPolicy, home(policy.account), policy.name)
    return {}


@operation("ListEntitiesForPolicy")
def list_entities_for_policy(
    tx: Transaction,
    caller: Caller,
    *,
    policy_arn: str,
    entity_filter: str | None = None,
    path_prefix: str | None = None,
    policy_usage_filter: str | None = None,
    marker: str | None = None,
    max_items: int | None = None,
) -> Document:
    """The roles, users and groups that a managed policy is attached to or bounds.

    Errors: NoSuchEntityException; InvalidInputException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListEntitiesForPolicy.html
    """
    policy = policy_for(tx, caller, policy_arn, "iam:ListEntitiesForPolicy")
    where = home(caller.account)
    holders: list[Holder | Group] = []
    if entity_filter in (None, "Role"):
        holders += tx.resources.list(Role, where)
    if entity_filter in (None, "User"):
        holders += tx.resources.list(User, where)
    if entity_filter in (None, "Group"):
        holders += tx.resources.list(Group, where)
    found = [
        holder
        for holder in holders
        if holder.path.startswith(path_prefix or "/")
        and (
            (policy.arn in holder.attached and policy_usage_filter != "PermissionsBoundary")
            or (policy.arn == _boundary_of(holder) and policy_usage_filter != "PermissionsPolicy")
        )
    ]
    items, more = page(found, lambda holder: f"{holder.KIND} {holder.name}", marker, max_items)
    roles = [{"RoleName": one.role_name, "RoleId": one.id} for one in items if isinstance(one, Role)]
    users = [{"UserName": one.user_name, "UserId": one.id} for one in items if isinstance(one, User)]
    groups = [{"GroupName": one.group_name, "GroupId": one.id} for one in items if isinstance(one, Group)]
    return {"PolicyGroups": groups, "PolicyUsers": users, "PolicyRoles": roles, **more}


@operation("TagPolicy")
def tag_policy(tx: Transaction, caller: Caller, *, policy_arn: str, tags: Sequence[Mapping[str, str]]) -> Document:
    """Add tags to a managed policy. A tag with an existing key replaces the old tag.

    Errors: NoSuchEntityException; InvalidInputException; LimitExceededException; AccessDeniedException (AWS's own).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_TagPolicy.html
    """
    policy = own_policy_for(tx, caller, policy_arn, "iam:TagPolicy")
    store_policy(tx, dataclasses.replace(policy, tags=tagged(policy.tags, tags, "Policy")))
    return {}


@operation("UntagPolicy")
def untag_policy(tx: Transaction, caller: Caller, *, policy_arn: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a managed policy; a key that it does not have is not an error.

    Errors: NoSuchEntityException; InvalidInputException; AccessDeniedException (AWS's own).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UntagPolicy.html
    """
    policy = own_policy_for(tx, caller, policy_arn, "iam:UntagPolicy")
    store_policy(tx, dataclasses.replace(policy, tags=untagged(policy.tags, tag_keys)))
    return {}


@operation("ListPolicyTags")
def list_policy_tags(
    tx: Transaction, caller: Caller, *, policy_arn: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """List a managed policy's tags, sorted by key.

    Errors: NoSuchEntityException; InvalidInputException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListPolicyTags.html
    """
    policy = policy_for(tx, caller, policy_arn, "iam:ListPolicyTags")
    keys, more = page(policy.tags, str, marker, max_items)
    return {"Tags": tag_list({key: policy.tags[key] for key in keys}), **more}


@dataclasses.dataclass(frozen=True, slots=True)
class _Usage:
    """How many roles, users and groups of an account have each policy attached, and as their boundary."""

    attached: Counter[str]
    bounding: Counter[str]

    @classmethod
    def of(cls, holders: Iterable[Holder | Group]) -> _Usage:
        attached, bounding = Counter[str](), Counter[str]()
        for holder in holders:
            attached.update(holder.attached)
            boundary = _boundary_of(holder)
            bounding.update([] if boundary is None else [boundary])
        return cls(attached, bounding)


def _usage(tx: Transaction, caller: Caller) -> _Usage:
    where = home(caller.account)
    return _Usage.of(
        [*tx.resources.list(Role, where), *tx.resources.list(User, where), *tx.resources.list(Group, where)]
    )


def _boundary_of(holder: Holder | Group) -> str | None:
    return None if isinstance(holder, Group) else holder.boundary


def _listed(policy: ManagedPolicy, usage: _Usage) -> Document:
    """A policy as lists show it."""
    return {
        "PolicyName": policy.policy_name,
        "PolicyId": policy.id,
        "Arn": policy.arn,
        "Path": policy.path,
        "DefaultVersionId": f"v{policy.default_number}",
        "AttachmentCount": usage.attached[policy.arn],
        "PermissionsBoundaryUsageCount": usage.bounding[policy.arn],
        "IsAttachable": True,
        "CreateDate": policy.created_at,
        "UpdateDate": policy.updated_at,
    }
