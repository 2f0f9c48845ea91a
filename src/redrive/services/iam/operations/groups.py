"""Groups themselves: created, found, listed, renamed, filled with users, deleted.

Every operation on a group begins with `group_for`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import limits
from redrive.services.iam.model.group import Group, group_arn, new_group_id
from redrive.services.iam.model.requests import no_such_entity, over_quota, page
from redrive.services.iam.model.role import home
from redrive.services.iam.model.user import User
from redrive.services.iam.operations.users import listed_user, store_user, user_for
from redrive.store.api import Transaction


def group_for(tx: Transaction, caller: Caller, group_name: str, action: str) -> Group:
    """The caller's group of that name, if the caller may do this to it. Letter case counts.

    Errors: NoSuchEntityException; AccessDeniedException.
    """
    group = tx.resources.get(Group, home(caller.account), group_name.lower())
    found = group is not None and group.group_name == group_name
    arn = group.arn if group is not None and found else group_arn(caller.account, group_name)
    tx.services.authorize(tx, caller, action, arn)
    if group is None or not found:
        raise no_such_entity(f"The group with name {group_name} cannot be found.")
    return group


def store_group(tx: Transaction, group: Group) -> None:
    """Keep a group, over what was known of it."""
    tx.resources.put(home(group.account), group)


@operation("CreateGroup")
def create_group(tx: Transaction, caller: Caller, *, group_name: str, path: str | None = None) -> Document:
    """Create a group, which has no users and allows nothing yet.

    Errors: EntityAlreadyExistsException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateGroup.html
    """
    group = Group(
        group_name=group_name, path=path or "/", id=new_group_id(tx.entropy), account=caller.account, created_at=tx.now
    )  # fmt: skip
    tx.services.authorize(tx, caller, "iam:CreateGroup", group.arn)
    _check_name_is_free(tx, group)
    if tx.resources.count(Group, home(caller.account)) >= limits.GROUPS_MAX:
        raise over_quota("GroupsPerAccount", limits.GROUPS_MAX)
    store_group(tx, group)
    return {"Group": _listed(group)}


@operation("GetGroup")
def get_group(
    tx: Transaction, caller: Caller, *, group_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """A group with its users, in order of their names.

    Errors: NoSuchEntityException; ValidationException (a marker that no list gave).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetGroup.html
    """
    group = group_for(tx, caller, group_name, "iam:GetGroup")
    users, more = page(_users_of(tx, group), lambda user: user.name, marker, max_items)
    return {"Group": _listed(group), "Users": [listed_user(user) for user in users], **more}


@operation("ListGroups")
def list_groups(
    tx: Transaction, caller: Caller, *,
    path_prefix: str | None = None, marker: str | None = None, max_items: int | None = None,
) -> Document:  # fmt: skip
    """The account's groups in order of their names.

    Errors: ValidationException (a marker that no list gave).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListGroups.html
    """
    tx.services.authorize(tx, caller, "iam:ListGroups", group_arn(caller.account, "", path_prefix or "/"))
    groups = tx.resources.list(Group, home(caller.account))
    found = [group for group in groups if group.path.startswith(path_prefix or "/")]
    items, more = page(found, lambda group: group.name, marker, max_items)
    return {"Groups": [_listed(group) for group in items], **more}


@operation("UpdateGroup")
def update_group(
    tx: Transaction, caller: Caller, *,
    group_name: str, new_path: str | None = None, new_group_name: str | None = None,
) -> Document:  # fmt: skip
    """Rename a group, or give it another path. Its id, its users and its policies stay.

    Errors: NoSuchEntityException; EntityAlreadyExistsException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UpdateGroup.html
    """
    group = group_for(tx, caller, group_name, "iam:UpdateGroup")
    changed = dataclasses.replace(group, group_name=new_group_name or group.group_name, path=new_path or group.path)
    # The caller needs the permission on the group under both names.
    tx.services.authorize(tx, caller, "iam:UpdateGroup", changed.arn)
    if changed.name != group.name:
        _check_name_is_free(tx, changed)
        for user in _users_of(tx, group):
            groups = tuple(changed.name if name == group.name else name for name in user.groups)
            store_user(tx, dataclasses.replace(user, groups=groups))
        tx.resources.delete(Group, home(group.account), group.name)
    store_group(tx, changed)
    return {}


@operation("DeleteGroup")
def delete_group(tx: Transaction, caller: Caller, *, group_name: str) -> Document:
    """Delete a group that has no users and no policies any more.

    Errors: NoSuchEntityException; DeleteConflictException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteGroup.html
    """
    group = group_for(tx, caller, group_name, "iam:DeleteGroup")
    for what, is_left in (
        ("remove users from group", _users_of(tx, group)), ("detach all policies", group.attached),
        ("delete policies", group.inline),
    ):  # fmt: skip
        if is_left:
            raise ServiceError("DeleteConflictException", f"Cannot delete entity, must {what} first.")
    tx.resources.delete(Group, home(group.account), group.name)
    return {}


@operation("AddUserToGroup")
def add_user_to_group(tx: Transaction, caller: Caller, *, group_name: str, user_name: str) -> Document:
    """Put a user into a group; one who is in it already stays.

    Errors: NoSuchEntityException (group or user); LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_AddUserToGroup.html
    """
    group = group_for(tx, caller, group_name, "iam:AddUserToGroup")
    user = _user(tx, caller, user_name)
    if group.name in user.groups:
        return {}
    if len(user.groups) >= limits.GROUPS_PER_USER_MAX:
        raise over_quota("GroupsPerUser", limits.GROUPS_PER_USER_MAX)
    store_user(tx, dataclasses.replace(user, groups=(*user.groups, group.name)))
    return {}


@operation("RemoveUserFromGroup")
def remove_user_from_group(tx: Transaction, caller: Caller, *, group_name: str, user_name: str) -> Document:
    """Take a user out of a group; one who is not in it is fine.

    Errors: NoSuchEntityException (group or user).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_RemoveUserFromGroup.html
    """
    group = group_for(tx, caller, group_name, "iam:RemoveUserFromGroup")
    user = _user(tx, caller, user_name)
    store_user(tx, dataclasses.replace(user, groups=tuple(name for name in user.groups if name != group.name)))
    return {}


@operation("ListGroupsForUser")
def list_groups_for_user(
    tx: Transaction, caller: Caller, *, user_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """The groups that a user is in, in order of their names.

    Errors: NoSuchEntityException; ValidationException (a marker that no list gave).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListGroupsForUser.html
    """
    user = user_for(tx, caller, user_name, "iam:ListGroupsForUser")
    found = [tx.resources.get(Group, home(user.account), name) for name in user.groups]
    items, more = page((group for group in found if group is not None), lambda group: group.name, marker, max_items)
    return {"Groups": [_listed(group) for group in items], **more}


def _user(tx: Transaction, caller: Caller, user_name: str) -> User:
    """The user of that name: the permission asked for is the group's. Errors: NoSuchEntityException."""
    user = tx.resources.get(User, home(caller.account), user_name.lower())
    if user is None or user.user_name != user_name:
        raise no_such_entity(f"The user with name {user_name} cannot be found.")
    return user


def _users_of(tx: Transaction, group: Group) -> Sequence[User]:
    return [user for user in tx.resources.list(User, home(group.account)) if group.name in user.groups]


def _check_name_is_free(tx: Transaction, group: Group) -> None:
    if tx.resources.get(Group, home(group.account), group.name) is not None:
        message = f"Group with name {group.group_name} already exists."
        raise ServiceError("EntityAlreadyExistsException", message)


def _listed(group: Group) -> Document:
    return {
        "Path": group.path,
        "GroupName": group.group_name,
        "GroupId": group.id,
        "Arn": group.arn,
        "CreateDate": group.created_at,
    }
