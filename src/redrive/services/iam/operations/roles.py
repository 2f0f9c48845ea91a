"""The operations on roles: create, find, list, change, tag, delete.

Every operation on a role begins with `role_for`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import limits
from redrive.services.iam.holders import check_boundary
from redrive.services.iam.model.documents import check_trust, encoded
from redrive.services.iam.model.instance_profile import InstanceProfile
from redrive.services.iam.model.requests import (
    invalid_input,
    no_such_entity,
    over_quota,
    page,
    tag_list,
    tagged,
    untagged,
)
from redrive.services.iam.model.role import Role, home, new_role_id, role_arn
from redrive.store.api import Transaction


def role_for(tx: Transaction, caller: Caller, role_name: str, action: str) -> Role:
    """Return the account's role with this name, if the caller may do `action` on it. The name is case-sensitive here.

    Errors: NoSuchEntityException; AccessDeniedException.
    """
    role = tx.resources.get(Role, home(caller.account), role_name.lower())
    found = role is not None and role.role_name == role_name
    arn = role.arn if role is not None and found else role_arn(caller.account, role_name)
    tx.services.authorize(tx, caller, action, arn)
    if role is None or not found:
        raise no_such_entity(f"The role with name {role_name} cannot be found.")
    return role


def store_role(tx: Transaction, role: Role) -> None:
    """Store a role, replacing the earlier row."""
    tx.resources.put(home(role.account), role)


@operation("CreateRole")
def create_role(
    tx: Transaction,
    caller: Caller,
    *,
    role_name: str,
    assume_role_policy_document: str,
    path: str | None = None,
    description: str | None = None,
    max_session_duration: int | None = None,
    max_signin_session_duration: int | None = None,
    permissions_boundary: str | None = None,
    tags: Sequence[Mapping[str, str]] | None = None,
) -> Document:
    """Create a role. Its trust policy names the principals that may assume it.

    Errors: EntityAlreadyExistsException; MalformedPolicyDocumentException; LimitExceededException;
    InvalidInputException (tags, boundary); NoSuchEntityException (boundary).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
    """
    where = home(caller.account)
    role = Role(
        role_name=role_name, path=path or "/", id=new_role_id(tx.entropy), account=caller.account, created_at=tx.now,
        trust=assume_role_policy_document, description=description, boundary=permissions_boundary,
        session_s_max=max_session_duration or limits.SESSION_S_DEFAULT, signin_s_max=max_signin_session_duration,
        tags=tagged({}, tags or (), "Role"),
    )  # fmt: skip
    tx.services.authorize(tx, caller, "iam:CreateRole", role.arn)
    check_trust(role.trust)
    if tx.resources.get(Role, where, role.name) is not None:
        raise ServiceError("EntityAlreadyExistsException", f"Role with name {role_name} already exists.")
    if permissions_boundary is not None:
        check_boundary(tx, caller, permissions_boundary)
    if tx.resources.count(Role, where) >= limits.ROLES_MAX:
        raise over_quota("RolesPerAccount", limits.ROLES_MAX)
    store_role(tx, role)
    return {"Role": _described(role)}


@operation("GetRole")
def get_role(tx: Transaction, caller: Caller, *, role_name: str) -> Document:
    """Return a role with its trust policy.

    Errors: NoSuchEntityException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRole.html
    """
    # The last use of a role is not recorded; AWS answers an empty object for a role that was never used.
    return {"Role": _described(role_for(tx, caller, role_name, "iam:GetRole")) | {"RoleLastUsed": {}}}


@operation("ListRoles")
def list_roles(
    tx: Transaction,
    caller: Caller,
    *,
    path_prefix: str | None = None,
    marker: str | None = None,
    max_items: int | None = None,
) -> Document:
    """List the account's roles, sorted by name, without their boundaries and tags.

    Errors: ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListRoles.html
    """
    tx.services.authorize(tx, caller, "iam:ListRoles", role_arn(caller.account, "", path_prefix or "/"))
    roles = tx.resources.list(Role, home(caller.account))
    found = [role for role in roles if role.path.startswith(path_prefix or "/")]
    items, more = page(found, lambda role: role.name, marker, max_items)
    return {"Roles": [listed_role(role) for role in items], **more}


@operation("UpdateRole")
def update_role(
    tx: Transaction,
    caller: Caller,
    *,
    role_name: str,
    description: str | None = None,
    max_session_duration: int | None = None,
    max_signin_session_duration: int | None = None,
    reset_max_signin_session_duration: bool | None = None,
) -> Document:
    """Change a role's description or the longest durations of its sessions; values that are not given do not change.

    Errors: NoSuchEntityException; InvalidInputException (a sign-in duration that is both given and reset).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UpdateRole.html
    """
    role = role_for(tx, caller, role_name, "iam:UpdateRole")
    if reset_max_signin_session_duration and max_signin_session_duration is not None:
        raise invalid_input("MaxSigninSessionDuration cannot be specified when ResetMaxSigninSessionDuration is true.")
    kept = None if reset_max_signin_session_duration else role.signin_s_max
    store_role(
        tx,
        dataclasses.replace(
            role,
            description=role.description if description is None else description,
            session_s_max=max_session_duration or role.session_s_max,
            signin_s_max=max_signin_session_duration or kept,
        ),
    )
    return {}


@operation("UpdateRoleDescription")
def update_role_description(tx: Transaction, caller: Caller, *, role_name: str, description: str) -> Document:
    """Change a role's description.

    Errors: NoSuchEntityException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UpdateRoleDescription.html
    """
    role = role_for(tx, caller, role_name, "iam:UpdateRoleDescription")
    changed = dataclasses.replace(role, description=description)
    store_role(tx, changed)
    return {"Role": _described(changed)}


@operation("UpdateAssumeRolePolicy")
def update_assume_role_policy(tx: Transaction, caller: Caller, *, role_name: str, policy_document: str) -> Document:
    """Replace a role's trust policy. Existing sessions continue.

    Errors: NoSuchEntityException; MalformedPolicyDocumentException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UpdateAssumeRolePolicy.html
    """
    role = role_for(tx, caller, role_name, "iam:UpdateAssumeRolePolicy")
    check_trust(policy_document)
    store_role(tx, dataclasses.replace(role, trust=policy_document))
    return {}


@operation("DeleteRole")
def delete_role(tx: Transaction, caller: Caller, *, role_name: str) -> Document:
    """Delete a role that has no policies any more, and is in no instance profile. Its sessions may do nothing then.

    Errors: NoSuchEntityException; DeleteConflictException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRole.html
    """
    role = role_for(tx, caller, role_name, "iam:DeleteRole")
    if role.attached:
        raise ServiceError("DeleteConflictException", "Cannot delete entity, must detach all policies first.")
    if role.inline:
        raise ServiceError("DeleteConflictException", "Cannot delete entity, must delete policies first.")
    if any(profile.role == role.name for profile in tx.resources.list(InstanceProfile, home(role.account))):
        message = "Cannot delete entity, must remove roles from instance profile first."
        raise ServiceError("DeleteConflictException", message)
    tx.resources.delete(Role, home(role.account), role.name)
    return {}


@operation("TagRole")
def tag_role(tx: Transaction, caller: Caller, *, role_name: str, tags: Sequence[Mapping[str, str]]) -> Document:
    """Add tags to a role. A tag with an existing key replaces the old tag.

    Errors: NoSuchEntityException; InvalidInputException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_TagRole.html
    """
    role = role_for(tx, caller, role_name, "iam:TagRole")
    store_role(tx, dataclasses.replace(role, tags=tagged(role.tags, tags, "Role")))
    return {}


@operation("UntagRole")
def untag_role(tx: Transaction, caller: Caller, *, role_name: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a role; a key that it does not have is not an error.

    Errors: NoSuchEntityException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UntagRole.html
    """
    role = role_for(tx, caller, role_name, "iam:UntagRole")
    store_role(tx, dataclasses.replace(role, tags=untagged(role.tags, tag_keys)))
    return {}


@operation("ListRoleTags")
def list_role_tags(
    tx: Transaction, caller: Caller, *, role_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """List a role's tags, sorted by key.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListRoleTags.html
    """
    role = role_for(tx, caller, role_name, "iam:ListRoleTags")
    keys, more = page(role.tags, str, marker, max_items)
    return {"Tags": tag_list({key: role.tags[key] for key in keys}), **more}


def listed_role(role: Role) -> Document:
    """A role as lists show it."""
    return {
        "Path": role.path,
        "RoleName": role.role_name,
        "RoleId": role.id,
        "Arn": role.arn,
        "CreateDate": role.created_at,
        "AssumeRolePolicyDocument": encoded(role.trust),
        "Description": role.description,
        "MaxSessionDuration": role.session_s_max,
        "MaxSigninSessionDuration": role.signin_s_max,
    }


def _described(role: Role) -> Document:
    """A role with all its members."""
    boundary = None
    if role.boundary is not None:
        boundary = {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": role.boundary}
    return listed_role(role) | {"PermissionsBoundary": boundary, "Tags": tag_list(role.tags) or None}
