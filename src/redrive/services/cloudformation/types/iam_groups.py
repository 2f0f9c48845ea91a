"""AWS::IAM::Group, AWS::IAM::UserToGroupAddition and AWS::IAM::InstanceProfile.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_IAM.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.iam import MISSING, set_policies, warn_of_policies
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType
from redrive.services.cloudformation.types.schema import JSON, TEXT, group, listing, replacing, required

# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
_NAME_LENGTH_MAX = 128


def _create_group(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("GroupName"), _NAME_LENGTH_MAX)
    created = place.call("iam", "CreateGroup", GroupName=name, Path=properties.get("Path"))["Group"]
    set_policies(place, "Group", name, {}, properties)
    return Existing(name, properties, {"Arn": created["Arn"]})


def _update_group(place: Place, existing: Existing, properties: Document) -> Existing:
    name, old = existing.physical_id, existing.properties
    if old.get("Path") != properties.get("Path"):
        place.call("iam", "UpdateGroup", GroupName=name, NewPath=properties.get("Path", "/"))
    set_policies(place, "Group", name, old, properties)
    arn = place.call("iam", "GetGroup", GroupName=name)["Group"]["Arn"]
    return Existing(name, properties, {"Arn": arn})


def _delete_group(place: Place, existing: Existing) -> None:
    set_policies(place, "Group", existing.physical_id, existing.properties, {})
    place.call("iam", "DeleteGroup", GroupName=existing.physical_id)


def _add_users(place: Place, properties: Document) -> Existing:
    name = place.name(None, _NAME_LENGTH_MAX)
    _move_users(place, {}, properties)
    return Existing(name, properties, {"Id": name})


def _update_users(place: Place, existing: Existing, properties: Document) -> Existing:
    _move_users(place, existing.properties, properties)
    return Existing(existing.physical_id, properties, existing.attributes)


def _remove_users(place: Place, existing: Existing) -> None:
    _move_users(place, existing.properties, {})


def _move_users(place: Place, old: Document, new: Document) -> None:
    before = {(old["GroupName"], user) for user in old.get("Users", ())}
    after = {(new["GroupName"], user) for user in new.get("Users", ())}
    for group_name, user in sorted(after - before):
        place.call("iam", "AddUserToGroup", GroupName=group_name, UserName=user)
    for group_name, user in sorted(before - after):
        place.call("iam", "RemoveUserFromGroup", GroupName=group_name, UserName=user)


def _create_profile(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("InstanceProfileName"), _NAME_LENGTH_MAX)
    created = place.call("iam", "CreateInstanceProfile", InstanceProfileName=name, Path=properties.get("Path"))
    _change_roles(place, name, {}, properties)
    return Existing(name, properties, {"Arn": created["InstanceProfile"]["Arn"]})


def _update_profile(place: Place, existing: Existing, properties: Document) -> Existing:
    _change_roles(place, existing.physical_id, existing.properties, properties)
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_profile(place: Place, existing: Existing) -> None:
    _change_roles(place, existing.physical_id, existing.properties, {})
    place.call("iam", "DeleteInstanceProfile", InstanceProfileName=existing.physical_id)


def _change_roles(place: Place, profile: str, old: Document, new: Document) -> None:
    before, after = old.get("Roles", []), new.get("Roles", [])
    for role in before:
        if role not in after:
            place.call("iam", "RemoveRoleFromInstanceProfile", InstanceProfileName=profile, RoleName=role)
    for role in after:
        if role not in before:
            place.call("iam", "AddRoleToInstanceProfile", InstanceProfileName=profile, RoleName=role)


GROUP = ResourceType(
    name="AWS::IAM::Group",
    properties={
        "GroupName": replacing(TEXT),
        "ManagedPolicyArns": listing(TEXT),
        "Path": TEXT,
        "Policies": listing(group(PolicyDocument=required(JSON), PolicyName=required(TEXT))),
    },
    create=_create_group,
    update=_update_group,
    delete=_delete_group,
    attributes=frozenset({"Arn"}),
    name_property="GroupName",
    missing=MISSING,
    warn=warn_of_policies,
)

USER_TO_GROUP_ADDITION = ResourceType(
    name="AWS::IAM::UserToGroupAddition",
    properties={"GroupName": required(TEXT), "Users": required(listing(TEXT))},
    create=_add_users,
    update=_update_users,
    delete=_remove_users,
    attributes=frozenset({"Id"}),
    missing=MISSING,
)

INSTANCE_PROFILE = ResourceType(
    name="AWS::IAM::InstanceProfile",
    properties={
        "InstanceProfileName": replacing(TEXT),
        "Path": replacing(TEXT),
        "Roles": required(listing(TEXT)),
    },
    create=_create_profile,
    update=_update_profile,
    delete=_delete_profile,
    attributes=frozenset({"Arn"}),
    name_property="InstanceProfileName",
    missing=MISSING,
)
