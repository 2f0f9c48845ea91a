"""The operations on users: create, find, list, rename, tag, delete.

Every operation on a user begins with `user_for`.
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
from redrive.services.iam.model.requests import no_such_entity, over_quota, page, tag_list, tagged, untagged
from redrive.services.iam.model.role import home
from redrive.services.iam.model.user import KEYS, AccessKey, User, new_user_id, user_arn
from redrive.store.api import Transaction


def user_for(tx: Transaction, caller: Caller, user_name: str | None, action: str) -> User:
    """Return the user with this name, or the calling user, if the caller may do `action` on them.

    The name is case-sensitive here.

    Errors: NoSuchEntityException; AccessDeniedException; ValidationException (no name, and the caller is not a user).
    """
    user_name = user_name or _calling_user(caller)
    user = tx.resources.get(User, home(caller.account), user_name.lower())
    found = user is not None and user.user_name == user_name
    arn = user.arn if user is not None and found else user_arn(caller.account, user_name)
    tx.services.authorize(tx, caller, action, arn)
    if user is None or not found:
        raise no_such_entity(f"The user with name {user_name} cannot be found.")
    return user


def store_user(tx: Transaction, user: User) -> None:
    """Store a user, replacing the earlier row."""
    tx.resources.put(home(user.account), user)


@operation("CreateUser")
def create_user(
    tx: Transaction,
    caller: Caller,
    *,
    user_name: str,
    path: str | None = None,
    permissions_boundary: str | None = None,
    tags: Sequence[Mapping[str, str]] | None = None,
) -> Document:
    """Create a user, without permissions.

    Errors: EntityAlreadyExistsException; LimitExceededException; InvalidInputException (tags, boundary);
    NoSuchEntityException (boundary).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateUser.html
    """
    where = home(caller.account)
    user = User(
        user_name=user_name, path=path or "/", id=new_user_id(tx.entropy), account=caller.account, created_at=tx.now,
        boundary=permissions_boundary, tags=tagged({}, tags or (), "User"),
    )  # fmt: skip
    tx.services.authorize(tx, caller, "iam:CreateUser", user.arn)
    _check_name_is_free(tx, user)
    if permissions_boundary is not None:
        check_boundary(tx, caller, permissions_boundary)
    if tx.resources.count(User, where) >= limits.USERS_MAX:
        raise over_quota("UsersPerAccount", limits.USERS_MAX)
    store_user(tx, user)
    return {"User": _described(user)}


@operation("GetUser")
def get_user(tx: Transaction, caller: Caller, *, user_name: str | None = None) -> Document:
    """Return a user; without a name, the calling user.

    Errors: NoSuchEntityException; ValidationException (no name, and the caller is not a user).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetUser.html
    """
    return {"User": _described(user_for(tx, caller, user_name, "iam:GetUser"))}


@operation("ListUsers")
def list_users(
    tx: Transaction,
    caller: Caller,
    *,
    path_prefix: str | None = None,
    marker: str | None = None,
    max_items: int | None = None,
) -> Document:
    """List the account's users, sorted by name, without their boundaries and tags.

    Errors: ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListUsers.html
    """
    tx.services.authorize(tx, caller, "iam:ListUsers", user_arn(caller.account, "", path_prefix or "/"))
    users = tx.resources.list(User, home(caller.account))
    found = [user for user in users if user.path.startswith(path_prefix or "/")]
    items, more = page(found, lambda user: user.name, marker, max_items)
    return {"Users": [listed_user(user) for user in items], **more}


@operation("UpdateUser")
def update_user(
    tx: Transaction,
    caller: Caller,
    *,
    user_name: str,
    new_path: str | None = None,
    new_user_name: str | None = None,
) -> Document:
    """Change a user's name or path. The id, the access keys and the policies do not change.

    Errors: NoSuchEntityException; EntityAlreadyExistsException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UpdateUser.html
    """
    user = user_for(tx, caller, user_name, "iam:UpdateUser")
    changed = dataclasses.replace(user, user_name=new_user_name or user.user_name, path=new_path or user.path)
    # The caller needs this permission under the old name and the new name.
    tx.services.authorize(tx, caller, "iam:UpdateUser", changed.arn)
    if changed.name != user.name:
        _check_name_is_free(tx, changed)
        tx.resources.delete(User, home(user.account), user.name)
    store_user(tx, changed)
    for key_id in user.access_keys:
        key = tx.resources.get(AccessKey, KEYS, key_id)
        assert key is not None, "a user's list of keys is true"
        tx.resources.put(KEYS, dataclasses.replace(key, user_name=changed.user_name))
    return {}


@operation("DeleteUser")
def delete_user(tx: Transaction, caller: Caller, *, user_name: str) -> Document:
    """Delete a user who has no keys and no policies any more, and is in no group.

    Errors: NoSuchEntityException; DeleteConflictException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteUser.html
    """
    user = user_for(tx, caller, user_name, "iam:DeleteUser")
    for what, is_left in (
        ("delete access keys", user.access_keys), ("remove users from group", user.groups),
        ("detach all policies", user.attached), ("delete policies", user.inline),
    ):  # fmt: skip
        if is_left:
            raise ServiceError("DeleteConflictException", f"Cannot delete entity, must {what} first.")
    tx.resources.delete(User, home(user.account), user.name)
    return {}


@operation("TagUser")
def tag_user(tx: Transaction, caller: Caller, *, user_name: str, tags: Sequence[Mapping[str, str]]) -> Document:
    """Add tags to a user. A tag with an existing key replaces the old tag.

    Errors: NoSuchEntityException; InvalidInputException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_TagUser.html
    """
    user = user_for(tx, caller, user_name, "iam:TagUser")
    store_user(tx, dataclasses.replace(user, tags=tagged(user.tags, tags, "User")))
    return {}


@operation("UntagUser")
def untag_user(tx: Transaction, caller: Caller, *, user_name: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a user; a key that they do not have is not an error.

    Errors: NoSuchEntityException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UntagUser.html
    """
    user = user_for(tx, caller, user_name, "iam:UntagUser")
    store_user(tx, dataclasses.replace(user, tags=untagged(user.tags, tag_keys)))
    return {}


@operation("ListUserTags")
def list_user_tags(
    tx: Transaction, caller: Caller, *, user_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """List a user's tags, sorted by key.

    Errors: NoSuchEntityException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListUserTags.html
    """
    user = user_for(tx, caller, user_name, "iam:ListUserTags")
    keys, more = page(user.tags, str, marker, max_items)
    return {"Tags": tag_list({key: user.tags[key] for key in keys}), **more}


def _calling_user(caller: Caller) -> str:
    if caller.user_arn is None:
        raise ServiceError("ValidationException", "Must specify userName when calling with non-User credentials")
    return caller.user_arn.rsplit("/", 1)[-1]


def _check_name_is_free(tx: Transaction, user: User) -> None:
    if tx.resources.get(User, home(user.account), user.name) is not None:
        message = f"User with name {user.user_name} already exists."
        raise ServiceError("EntityAlreadyExistsException", message)


def listed_user(user: User) -> Document:
    """A user as lists show them."""
    return {
        "Path": user.path,
        "UserName": user.user_name,
        "UserId": user.id,
        "Arn": user.arn,
        "CreateDate": user.created_at,
    }


def _described(user: User) -> Document:
    bounded = {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": user.boundary}
    return listed_user(user) | {
        "PermissionsBoundary": None if user.boundary is None else bounded,
        "Tags": tag_list(user.tags) or None,
    }
