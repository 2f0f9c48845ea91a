"""The operations on a user's permissions: inline policies, attached managed policies, and the permissions boundary."""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import access, limits
from redrive.services.iam.model.documents import check_inline, encoded
from redrive.services.iam.model.requests import invalid_input, no_such_entity, over_quota, page
from redrive.services.iam.operations.roles import check_boundary
from redrive.services.iam.operations.users import store_user, user_for
from redrive.services.iam.warnings import tell_of_unknown
from redrive.store.api import Transaction


@operation("PutUserPolicy")
def put_user_policy(
    tx: Transaction, caller: Caller, *, user_name: str, policy_name: str, policy_document: str
) -> Document:
    """Put an inline policy into a user, replacing the one with the same name.

    Errors: NoSuchEntityException; MalformedPolicyDocumentException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutUserPolicy.html
    """
    user = user_for(tx, caller, user_name, "iam:PutUserPolicy")
    inline = {**user.inline, policy_name: policy_document}
    check_inline(
        policy_document, inline, owner=f"user {user_name}", characters_max=limits.USER_INLINE_POLICIES_CHARACTERS_MAX
    )
    store_user(tx, dataclasses.replace(user, inline=inline))
    return {}


@operation("GetUserPolicy")
def get_user_policy(tx: Transaction, caller: Caller, *, user_name: str, policy_name: str) -> Document:
    """Return an inline policy of a user.

    Errors: NoSuchEntityException (user or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetUserPolicy.html
    """
    user = user_for(tx, caller, user_name, "iam:GetUserPolicy")
    document = user.inline.get(policy_name)
    if document is None:
        raise no_such_entity(f"The user policy with name {policy_name} cannot be found.")
    return {"UserName": user_name, "PolicyName": policy_name, "PolicyDocument": encoded(document)}


@operation("ListUserPolicies")
def list_user_policies(
    tx: Transaction, caller: Caller, *, user_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """List the names of a user's inline policies.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListUserPolicies.html
    """
    user = user_for(tx, caller, user_name, "iam:ListUserPolicies")
    names, more = page(user.inline, str, marker, max_items)
    return {"PolicyNames": names, **more}


@operation("DeleteUserPolicy")
def delete_user_policy(tx: Transaction, caller: Caller, *, user_name: str, policy_name: str) -> Document:
    """Delete an inline policy of a user.

    Errors: NoSuchEntityException (user or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteUserPolicy.html
    """
    user = user_for(tx, caller, user_name, "iam:DeleteUserPolicy")
    if policy_name not in user.inline:
        raise no_such_entity(f"The user policy with name {policy_name} cannot be found.")
    inline = {name: document for name, document in user.inline.items() if name != policy_name}
    store_user(tx, dataclasses.replace(user, inline=inline))
    return {}


@operation("AttachUserPolicy")
def attach_user_policy(tx: Transaction, caller: Caller, *, user_name: str, policy_arn: str) -> Document:
    """Attach a managed policy to a user; a second attach has no effect.

    Errors: NoSuchEntityException (user or policy); InvalidInputException (not an ARN); LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_AttachUserPolicy.html
    """
    user = user_for(tx, caller, user_name, "iam:AttachUserPolicy")
    if not policy_arn.startswith("arn:"):
        raise invalid_input(f"ARN {policy_arn} is not valid.")
    policy = access.find_policy(tx, policy_arn)
    if policy is None or not (policy.is_aws or policy.account == caller.account):
        raise no_such_entity(f"Policy {policy_arn} does not exist or is not attachable.")
    if policy_arn in user.attached:
        return {}
    if len(user.attached) >= limits.POLICIES_PER_USER_MAX:
        raise over_quota("PoliciesPerUser", limits.POLICIES_PER_USER_MAX)
    store_user(tx, dataclasses.replace(user, attached=(*user.attached, policy_arn)))
    tell_of_unknown(tx, user.arn, policy_arn)
    return {}


@operation("DetachUserPolicy")
def detach_user_policy(tx: Transaction, caller: Caller, *, user_name: str, policy_arn: str) -> Document:
    """Detach a managed policy from a user.

    Errors: NoSuchEntityException (no such user, or the policy is not attached to them); InvalidInputException (not an
    ARN).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DetachUserPolicy.html
    """
    user = user_for(tx, caller, user_name, "iam:DetachUserPolicy")
    if not policy_arn.startswith("arn:"):
        raise invalid_input(f"ARN {policy_arn} is not valid.")
    if policy_arn not in user.attached:
        raise no_such_entity(f"Policy {policy_arn} was not found.")
    store_user(tx, dataclasses.replace(user, attached=tuple(arn for arn in user.attached if arn != policy_arn)))
    return {}


@operation("ListAttachedUserPolicies")
def list_attached_user_policies(
    tx: Transaction,
    caller: Caller,
    *,
    user_name: str,
    path_prefix: str | None = None,
    marker: str | None = None,
    max_items: int | None = None,
) -> Document:
    """List the managed policies that are attached to a user, sorted by name.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListAttachedUserPolicies.html
    """
    user = user_for(tx, caller, user_name, "iam:ListAttachedUserPolicies")
    policies = [policy for arn in user.attached if (policy := access.find_policy(tx, arn)) is not None]
    found = [policy for policy in policies if policy.path.startswith(path_prefix or "/")]
    # One of AWS's policies can have the same name as one of the account's; the ARN distinguishes them.
    items, more = page(found, lambda policy: f"{policy.name} {policy.arn}", marker, max_items)
    attached = [{"PolicyName": policy.policy_name, "PolicyArn": policy.arn} for policy in items]
    return {"AttachedPolicies": attached, **more}


@operation("PutUserPermissionsBoundary")
def put_user_permissions_boundary(
    tx: Transaction, caller: Caller, *, user_name: str, permissions_boundary: str
) -> Document:
    """Set a managed policy as the user's permissions boundary, which limits all their other policies.

    Errors: NoSuchEntityException (user or policy); InvalidInputException (not the ARN of a policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutUserPermissionsBoundary.html
    """
    user = user_for(tx, caller, user_name, "iam:PutUserPermissionsBoundary")
    check_boundary(tx, caller, permissions_boundary)
    store_user(tx, dataclasses.replace(user, boundary=permissions_boundary))
    return {}


@operation("DeleteUserPermissionsBoundary")
def delete_user_permissions_boundary(tx: Transaction, caller: Caller, *, user_name: str) -> Document:
    """Remove a user's permissions boundary.

    Errors: NoSuchEntityException (no such user, or they have no boundary).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteUserPermissionsBoundary.html
    """
    user = user_for(tx, caller, user_name, "iam:DeleteUserPermissionsBoundary")
    if user.boundary is None:
        raise no_such_entity(f"The user with name {user_name} has no permissions boundary.")
    store_user(tx, dataclasses.replace(user, boundary=None))
    return {}
