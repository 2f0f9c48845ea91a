"""The operations on a role's permissions: inline policies, attached managed policies, and the permissions boundary."""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import access, limits
from redrive.services.iam.model.documents import check_inline, encoded
from redrive.services.iam.model.requests import invalid_input, no_such_entity, over_quota, page
from redrive.services.iam.operations.roles import check_boundary, role_for, store_role
from redrive.services.iam.warnings import tell_of_unknown
from redrive.store.api import Transaction


@operation("PutRolePolicy")
def put_role_policy(
    tx: Transaction, caller: Caller, *, role_name: str, policy_name: str, policy_document: str
) -> Document:
    """Put an inline policy into a role, replacing the one with the same name.

    Errors: NoSuchEntityException; MalformedPolicyDocumentException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePolicy.html
    """
    role = role_for(tx, caller, role_name, "iam:PutRolePolicy")
    inline = {**role.inline, policy_name: policy_document}
    check_inline(
        policy_document, inline, owner=f"role {role_name}", characters_max=limits.INLINE_POLICIES_CHARACTERS_MAX
    )
    store_role(tx, dataclasses.replace(role, inline=inline))
    return {}


@operation("GetRolePolicy")
def get_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_name: str) -> Document:
    """Return an inline policy of a role.

    Errors: NoSuchEntityException (role or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRolePolicy.html
    """
    role = role_for(tx, caller, role_name, "iam:GetRolePolicy")
    document = role.inline.get(policy_name)
    if document is None:
        raise no_such_entity(f"The role policy with name {policy_name} cannot be found.")
    return {"RoleName": role_name, "PolicyName": policy_name, "PolicyDocument": encoded(document)}


@operation("ListRolePolicies")
def list_role_policies(
    tx: Transaction, caller: Caller, *, role_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """List the names of a role's inline policies.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListRolePolicies.html
    """
    role = role_for(tx, caller, role_name, "iam:ListRolePolicies")
    names, more = page(role.inline, str, marker, max_items)
    return {"PolicyNames": names, **more}


@operation("DeleteRolePolicy")
def delete_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_name: str) -> Document:
    """Delete an inline policy of a role.

    Errors: NoSuchEntityException (role or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRolePolicy.html
    """
    role = role_for(tx, caller, role_name, "iam:DeleteRolePolicy")
    if policy_name not in role.inline:
        raise no_such_entity(f"The role policy with name {policy_name} cannot be found.")
    inline = {name: document for name, document in role.inline.items() if name != policy_name}
    store_role(tx, dataclasses.replace(role, inline=inline))
    return {}


@operation("AttachRolePolicy")
def attach_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_arn: str) -> Document:
    """Attach a managed policy to a role; a second attach has no effect.

    Errors: NoSuchEntityException (role or policy); InvalidInputException (not an ARN); LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_AttachRolePolicy.html
    """
    role = role_for(tx, caller, role_name, "iam:AttachRolePolicy")
    if not policy_arn.startswith("arn:"):
        raise invalid_input(f"ARN {policy_arn} is not valid.")
    policy = access.find_policy(tx, policy_arn)
    if policy is None or not (policy.is_aws or policy.account == caller.account):
        raise no_such_entity(f"Policy {policy_arn} does not exist or is not attachable.")
    if policy_arn in role.attached:
        return {}
    if len(role.attached) >= limits.POLICIES_PER_ROLE_MAX:
        raise over_quota("PoliciesPerRole", limits.POLICIES_PER_ROLE_MAX)
    store_role(tx, dataclasses.replace(role, attached=(*role.attached, policy_arn)))
    tell_of_unknown(tx, role.arn, policy_arn)
    return {}


@operation("DetachRolePolicy")
def detach_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_arn: str) -> Document:
    """Detach a managed policy from a role.

    Errors: NoSuchEntityException (no such role, or the policy is not attached to it); InvalidInputException (not an
    ARN).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DetachRolePolicy.html
    """
    role = role_for(tx, caller, role_name, "iam:DetachRolePolicy")
    if not policy_arn.startswith("arn:"):
        raise invalid_input(f"ARN {policy_arn} is not valid.")
    if policy_arn not in role.attached:
        raise no_such_entity(f"Policy {policy_arn} was not found.")
    store_role(tx, dataclasses.replace(role, attached=tuple(arn for arn in role.attached if arn != policy_arn)))
    return {}


@operation("ListAttachedRolePolicies")
def list_attached_role_policies(
    tx: Transaction,
    caller: Caller,
    *,
    role_name: str,
    path_prefix: str | None = None,
    marker: str | None = None,
    max_items: int | None = None,
) -> Document:
    """List the managed policies that are attached to a role, sorted by name.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListAttachedRolePolicies.html
    """
    role = role_for(tx, caller, role_name, "iam:ListAttachedRolePolicies")
    policies = [policy for arn in role.attached if (policy := access.find_policy(tx, arn)) is not None]
    found = [policy for policy in policies if policy.path.startswith(path_prefix or "/")]
    # One of AWS's policies can have the same name as one of the account's; the ARN distinguishes them.
    items, more = page(found, lambda policy: f"{policy.name} {policy.arn}", marker, max_items)
    attached = [{"PolicyName": policy.policy_name, "PolicyArn": policy.arn} for policy in items]
    return {"AttachedPolicies": attached, **more}


@operation("PutRolePermissionsBoundary")
def put_role_permissions_boundary(
    tx: Transaction, caller: Caller, *, role_name: str, permissions_boundary: str
) -> Document:
    """Set a managed policy as the role's permissions boundary, which limits all its other policies.

    Errors: NoSuchEntityException (role or policy); InvalidInputException (not the ARN of a policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePermissionsBoundary.html
    """
    role = role_for(tx, caller, role_name, "iam:PutRolePermissionsBoundary")
    check_boundary(tx, caller, permissions_boundary)
    store_role(tx, dataclasses.replace(role, boundary=permissions_boundary))
    return {}


@operation("DeleteRolePermissionsBoundary")
def delete_role_permissions_boundary(tx: Transaction, caller: Caller, *, role_name: str) -> Document:
    """Remove a role's permissions boundary.

    Errors: NoSuchEntityException (no such role, or it has no boundary).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRolePermissionsBoundary.html
    """
    role = role_for(tx, caller, role_name, "iam:DeleteRolePermissionsBoundary")
    if role.boundary is None:
        raise no_such_entity(f"The role with name {role_name} has no permissions boundary.")
    store_role(tx, dataclasses.replace(role, boundary=None))
    return {}
