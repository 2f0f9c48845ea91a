"""Instance profiles: stored and told. No machine is here that could be given one.

Every operation on a profile begins with `_profile_for`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import limits
from redrive.services.iam.model.instance_profile import InstanceProfile, new_profile_id, profile_arn
from redrive.services.iam.model.requests import no_such_entity, over_quota, page, tag_list, tagged, untagged
from redrive.services.iam.model.role import Role, home
from redrive.services.iam.operations.roles import listed_role, role_for
from redrive.store.api import Transaction


def _profile_for(tx: Transaction, caller: Caller, profile_name: str, action: str) -> InstanceProfile:
    """The caller's profile of that name, if the caller may do this to it. Letter case counts.

    Errors: NoSuchEntityException; AccessDeniedException.
    """
    profile = tx.resources.get(InstanceProfile, home(caller.account), profile_name.lower())
    found = profile is not None and profile.profile_name == profile_name
    arn = profile.arn if profile is not None and found else profile_arn(caller.account, profile_name)
    tx.services.authorize(tx, caller, action, arn)
    if profile is None or not found:
        raise no_such_entity(f"Instance Profile {profile_name} cannot be found.")
    return profile


@operation("CreateInstanceProfile")
def create_instance_profile(
    tx: Transaction, caller: Caller, *,
    instance_profile_name: str, path: str | None = None, tags: Sequence[Mapping[str, str]] | None = None,
) -> Document:  # fmt: skip
    """Create an instance profile without a role.

    Errors: EntityAlreadyExistsException; LimitExceededException; InvalidInputException (tags).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateInstanceProfile.html
    """
    where = home(caller.account)
    profile = InstanceProfile(
        profile_name=instance_profile_name, path=path or "/", id=new_profile_id(tx.entropy), account=caller.account,
        created_at=tx.now, tags=tagged({}, tags or (), "InstanceProfile"),
    )  # fmt: skip
    tx.services.authorize(tx, caller, "iam:CreateInstanceProfile", profile.arn)
    if tx.resources.get(InstanceProfile, where, profile.name) is not None:
        message = f"Instance Profile {instance_profile_name} already exists."
        raise ServiceError("EntityAlreadyExistsException", message)
    if tx.resources.count(InstanceProfile, where) >= limits.INSTANCE_PROFILES_MAX:
        raise over_quota("InstanceProfilesPerAccount", limits.INSTANCE_PROFILES_MAX)
    tx.resources.put(where, profile)
    return {"InstanceProfile": _described(tx, profile)}


@operation("GetInstanceProfile")
def get_instance_profile(tx: Transaction, caller: Caller, *, instance_profile_name: str) -> Document:
    """An instance profile with its role.

    Errors: NoSuchEntityException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetInstanceProfile.html
    """
    profile = _profile_for(tx, caller, instance_profile_name, "iam:GetInstanceProfile")
    return {"InstanceProfile": _described(tx, profile)}


@operation("ListInstanceProfiles")
def list_instance_profiles(
    tx: Transaction, caller: Caller, *,
    path_prefix: str | None = None, marker: str | None = None, max_items: int | None = None,
) -> Document:  # fmt: skip
    """The account's instance profiles in order of their names, without their tags.

    Errors: ValidationException (a marker that no list gave).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListInstanceProfiles.html
    """
    arn = profile_arn(caller.account, "", path_prefix or "/")
    tx.services.authorize(tx, caller, "iam:ListInstanceProfiles", arn)
    profiles = tx.resources.list(InstanceProfile, home(caller.account))
    found = [profile for profile in profiles if profile.path.startswith(path_prefix or "/")]
    items, more = page(found, lambda profile: profile.name, marker, max_items)
    return {"InstanceProfiles": [_listed(tx, profile) for profile in items], **more}


@operation("ListInstanceProfilesForRole")
def list_instance_profiles_for_role(
    tx: Transaction, caller: Caller, *, role_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """The instance profiles that have the role. Tools ask before they delete a role.

    Errors: NoSuchEntityException; ValidationException (a marker that no list gave).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListInstanceProfilesForRole.html
    """
    role = role_for(tx, caller, role_name, "iam:ListInstanceProfilesForRole")
    profiles = tx.resources.list(InstanceProfile, home(role.account))
    found = [profile for profile in profiles if profile.role == role.name]
    items, more = page(found, lambda profile: profile.name, marker, max_items)
    return {"InstanceProfiles": [_listed(tx, profile) for profile in items], **more}


@operation("AddRoleToInstanceProfile")
def add_role_to_instance_profile(
    tx: Transaction, caller: Caller, *, instance_profile_name: str, role_name: str
) -> Document:
    """Give an instance profile its role, which the caller must be allowed to pass.

    Errors: NoSuchEntityException (profile or role); AccessDeniedException; LimitExceededException (it has one already).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_AddRoleToInstanceProfile.html
    """
    profile = _profile_for(tx, caller, instance_profile_name, "iam:AddRoleToInstanceProfile")
    role = tx.resources.get(Role, home(caller.account), role_name.lower())
    if role is None or role.role_name != role_name:
        raise no_such_entity(f"The role with name {role_name} cannot be found.")
    context = {"iam:PassedToService": ("ec2.amazonaws.com",)}
    tx.services.authorize(tx, caller, "iam:PassRole", role.arn, context=context)
    if profile.role:
        raise over_quota("InstanceSessionsPerInstanceProfile", 1)
    tx.resources.put(home(profile.account), dataclasses.replace(profile, role=role.name))
    return {}


@operation("RemoveRoleFromInstanceProfile")
def remove_role_from_instance_profile(
    tx: Transaction, caller: Caller, *, instance_profile_name: str, role_name: str
) -> Document:
    """Take its role away from an instance profile.

    Errors: NoSuchEntityException (profile, or the role is not in it).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_RemoveRoleFromInstanceProfile.html
    """
    profile = _profile_for(tx, caller, instance_profile_name, "iam:RemoveRoleFromInstanceProfile")
    role = tx.resources.get(Role, home(profile.account), profile.role) if profile.role else None
    if role is None or role.role_name != role_name:
        raise no_such_entity(f"Role {role_name} cannot be found.")
    tx.resources.put(home(profile.account), dataclasses.replace(profile, role=""))
    return {}


@operation("DeleteInstanceProfile")
def delete_instance_profile(tx: Transaction, caller: Caller, *, instance_profile_name: str) -> Document:
    """Delete an instance profile that has no role any more.

    Errors: NoSuchEntityException; DeleteConflictException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteInstanceProfile.html
    """
    profile = _profile_for(tx, caller, instance_profile_name, "iam:DeleteInstanceProfile")
    if profile.role:
        message = "Cannot delete entity, must remove roles from instance profile first."
        raise ServiceError("DeleteConflictException", message)
    tx.resources.delete(InstanceProfile, home(profile.account), profile.name)
    return {}


@operation("TagInstanceProfile")
def tag_instance_profile(
    tx: Transaction, caller: Caller, *, instance_profile_name: str, tags: Sequence[Mapping[str, str]]
) -> Document:
    """Give an instance profile tags, over those with the same keys.

    Errors: NoSuchEntityException; InvalidInputException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_TagInstanceProfile.html
    """
    profile = _profile_for(tx, caller, instance_profile_name, "iam:TagInstanceProfile")
    changed = dataclasses.replace(profile, tags=tagged(profile.tags, tags, "InstanceProfile"))
    tx.resources.put(home(profile.account), changed)
    return {}


@operation("UntagInstanceProfile")
def untag_instance_profile(
    tx: Transaction, caller: Caller, *, instance_profile_name: str, tag_keys: Sequence[str]
) -> Document:
    """Take tags away from an instance profile; keys that it does not have are fine.

    Errors: NoSuchEntityException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UntagInstanceProfile.html
    """
    profile = _profile_for(tx, caller, instance_profile_name, "iam:UntagInstanceProfile")
    tx.resources.put(home(profile.account), dataclasses.replace(profile, tags=untagged(profile.tags, tag_keys)))
    return {}


@operation("ListInstanceProfileTags")
def list_instance_profile_tags(
    tx: Transaction, caller: Caller, *,
    instance_profile_name: str, marker: str | None = None, max_items: int | None = None,
) -> Document:  # fmt: skip
    """The tags of an instance profile in order of their keys.

    Errors: NoSuchEntityException; ValidationException (a marker that no list gave).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListInstanceProfileTags.html
    """
    profile = _profile_for(tx, caller, instance_profile_name, "iam:ListInstanceProfileTags")
    keys, more = page(profile.tags, str, marker, max_items)
    return {"Tags": tag_list({key: profile.tags[key] for key in keys}), **more}


def _listed(tx: Transaction, profile: InstanceProfile) -> Document:
    """A profile as lists show it."""
    role = tx.resources.get(Role, home(profile.account), profile.role) if profile.role else None
    return {
        "Path": profile.path,
        "InstanceProfileName": profile.profile_name,
        "InstanceProfileId": profile.id,
        "Arn": profile.arn,
        "CreateDate": profile.created_at,
        "Roles": [] if role is None else [listed_role(role)],
    }


def _described(tx: Transaction, profile: InstanceProfile) -> Document:
    return _listed(tx, profile) | {"Tags": tag_list(profile.tags)}
