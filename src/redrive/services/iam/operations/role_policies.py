"""The operations on a role's permissions: inline policies, attached managed policies, and the permissions boundary."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import limits
from redrive.services.iam.holders import HeldPolicies, delete_boundary, put_boundary
from redrive.services.iam.operations.roles import role_for, store_role
from redrive.store.api import Transaction

_HELD = HeldPolicies(
    "Role", role_for, store_role, attached_max=limits.POLICIES_PER_ROLE_MAX,
    inline_characters_max=limits.INLINE_POLICIES_CHARACTERS_MAX,
)  # fmt: skip


@operation("PutRolePolicy")
def put_role_policy(
    tx: Transaction, caller: Caller, *, role_name: str, policy_name: str, policy_document: str
) -> Document:
    """Put an inline policy into a role, replacing the one with the same name.

    Errors: NoSuchEntityException; MalformedPolicyDocumentException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePolicy.html
    """
    return _HELD.put_inline(tx, caller, role_name, policy_name, policy_document)


@operation("GetRolePolicy")
def get_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_name: str) -> Document:
    """Return an inline policy of a role.

    Errors: NoSuchEntityException (role or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRolePolicy.html
    """
    return _HELD.get_inline(tx, caller, role_name, policy_name)


@operation("ListRolePolicies")
def list_role_policies(
    tx: Transaction, caller: Caller, *, role_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """List the names of a role's inline policies.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListRolePolicies.html
    """
    return _HELD.list_inline(tx, caller, role_name, marker, max_items)


@operation("DeleteRolePolicy")
def delete_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_name: str) -> Document:
    """Delete an inline policy of a role.

    Errors: NoSuchEntityException (role or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRolePolicy.html
    """
    return _HELD.delete_inline(tx, caller, role_name, policy_name)


@operation("AttachRolePolicy")
def attach_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_arn: str) -> Document:
    """Attach a managed policy to a role; a second attach has no effect.

    Errors: NoSuchEntityException (role or policy); InvalidInputException (not an ARN); LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_AttachRolePolicy.html
    """
    return _HELD.attach(tx, caller, role_name, policy_arn)


@operation("DetachRolePolicy")
def detach_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_arn: str) -> Document:
    """Detach a managed policy from a role.

    Errors: NoSuchEntityException (no such role, or the policy is not attached to it); InvalidInputException (not an
    ARN).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DetachRolePolicy.html
    """
    return _HELD.detach(tx, caller, role_name, policy_arn)


@operation("ListAttachedRolePolicies")
def list_attached_role_policies(
    tx: Transaction, caller: Caller, *,
    role_name: str, path_prefix: str | None = None, marker: str | None = None, max_items: int | None = None,
) -> Document:  # fmt: skip
    """The managed policies that are attached to a role, in order of their names.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListAttachedRolePolicies.html
    """
    return _HELD.list_attached(tx, caller, role_name, path_prefix, marker, max_items)


@operation("PutRolePermissionsBoundary")
def put_role_permissions_boundary(
    tx: Transaction, caller: Caller, *, role_name: str, permissions_boundary: str
) -> Document:
    """Set a managed policy as the role's permissions boundary, which limits all its other policies.

    Errors: NoSuchEntityException (role or policy); InvalidInputException (not the ARN of a policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePermissionsBoundary.html
    """
    return put_boundary(_HELD, tx, caller, role_name, permissions_boundary)


@operation("DeleteRolePermissionsBoundary")
def delete_role_permissions_boundary(tx: Transaction, caller: Caller, *, role_name: str) -> Document:
    """Remove a role's permissions boundary.

    Errors: NoSuchEntityException (no such role, or it has no boundary).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRolePermissionsBoundary.html
    """
    return delete_boundary(_HELD, tx, caller, role_name)
