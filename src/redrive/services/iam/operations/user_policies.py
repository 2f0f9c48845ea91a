"""The operations on a user's permissions: inline policies, attached managed policies, and the permissions boundary."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import limits
from redrive.services.iam.holders import HeldPolicies, delete_boundary, put_boundary
from redrive.services.iam.operations.users import store_user, user_for
from redrive.store.api import Transaction

_HELD = HeldPolicies(
    "User", user_for, store_user, attached_max=limits.POLICIES_PER_USER_MAX,
    inline_characters_max=limits.USER_INLINE_POLICIES_CHARACTERS_MAX,
)  # fmt: skip


@operation("PutUserPolicy")
def put_user_policy(
    tx: Transaction, caller: Caller, *, user_name: str, policy_name: str, policy_document: str
) -> Document:
    """Put an inline policy into a user, replacing the one with the same name.

    Errors: NoSuchEntityException; MalformedPolicyDocumentException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutUserPolicy.html
    """
    return _HELD.put_inline(tx, caller, user_name, policy_name, policy_document)


@operation("GetUserPolicy")
def get_user_policy(tx: Transaction, caller: Caller, *, user_name: str, policy_name: str) -> Document:
    """Return an inline policy of a user.

    Errors: NoSuchEntityException (user or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetUserPolicy.html
    """
    return _HELD.get_inline(tx, caller, user_name, policy_name)


@operation("ListUserPolicies")
def list_user_policies(
    tx: Transaction, caller: Caller, *, user_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """List the names of a user's inline policies.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListUserPolicies.html
    """
    return _HELD.list_inline(tx, caller, user_name, marker, max_items)


@operation("DeleteUserPolicy")
def delete_user_policy(tx: Transaction, caller: Caller, *, user_name: str, policy_name: str) -> Document:
    """Delete an inline policy of a user.

    Errors: NoSuchEntityException (user or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteUserPolicy.html
    """
    return _HELD.delete_inline(tx, caller, user_name, policy_name)


@operation("AttachUserPolicy")
def attach_user_policy(tx: Transaction, caller: Caller, *, user_name: str, policy_arn: str) -> Document:
    """Attach a managed policy to a user; a second attach has no effect.

    Errors: NoSuchEntityException (user or policy); InvalidInputException (not an ARN); LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_AttachUserPolicy.html
    """
    return _HELD.attach(tx, caller, user_name, policy_arn)


@operation("DetachUserPolicy")
def detach_user_policy(tx: Transaction, caller: Caller, *, user_name: str, policy_arn: str) -> Document:
    """Detach a managed policy from a user.

    Errors: NoSuchEntityException (no such user, or the policy is not attached to them); InvalidInputException (not an
    ARN).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DetachUserPolicy.html
    """
    return _HELD.detach(tx, caller, user_name, policy_arn)


@operation("ListAttachedUserPolicies")
def list_attached_user_policies(
    tx: Transaction, caller: Caller, *,
    user_name: str, path_prefix: str | None = None, marker: str | None = None, max_items: int | None = None,
) -> Document:  # fmt: skip
    """The managed policies that are attached to a user, in order of their names.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListAttachedUserPolicies.html
    """
    return _HELD.list_attached(tx, caller, user_name, path_prefix, marker, max_items)


@operation("PutUserPermissionsBoundary")
def put_user_permissions_boundary(
    tx: Transaction, caller: Caller, *, user_name: str, permissions_boundary: str
) -> Document:
    """Set a managed policy as the user's permissions boundary, which limits all their other policies.

    Errors: NoSuchEntityException (user or policy); InvalidInputException (not the ARN of a policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutUserPermissionsBoundary.html
    """
    return put_boundary(_HELD, tx, caller, user_name, permissions_boundary)


@operation("DeleteUserPermissionsBoundary")
def delete_user_permissions_boundary(tx: Transaction, caller: Caller, *, user_name: str) -> Document:
    """Remove a user's permissions boundary.

    Errors: NoSuchEntityException (no such user, or they have no boundary).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteUserPermissionsBoundary.html
    """
    return delete_boundary(_HELD, tx, caller, user_name)
