"""AWS::IAM::User and AWS::IAM::AccessKey.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_IAM.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.iam import MISSING, set_boundary_and_tags, set_policies, warn_of_policies
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType
from redrive.services.cloudformation.types.schema import (
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    UNAVAILABLE,
    group,
    listing,
    replacing,
    required,
)

# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
_USER_NAME_LENGTH_MAX = 64


def _create_user(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("UserName"), _USER_NAME_LENGTH_MAX)
    created = place.call(
        "iam", "CreateUser", UserName=name, Path=properties.get("Path"), Tags=properties.get("Tags"),
        PermissionsBoundary=properties.get("PermissionsBoundary"),
    )["User"]  # fmt: skip
    set_policies(place, "User", name, {}, properties)
    _change_groups(place, name, {}, properties)
    return Existing(name, properties, {"Arn": created["Arn"]})


def _update_user(place: Place, existing: Existing, properties: Document) -> Existing:
    name, old = existing.physical_id, existing.properties
    if old.get("Path") != properties.get("Path"):
        place.call("iam", "UpdateUser", UserName=name, NewPath=properties.get("Path", "/"))
    set_policies(place, "User", name, old, properties)
    _change_groups(place, name, old, properties)
    set_boundary_and_tags(place, "User", name, old, properties)
    arn = place.call("iam", "GetUser", UserName=name)["User"]["Arn"]
    return Existing(name, properties, {"Arn": arn})


def _delete_user(place: Place, existing: Existing) -> None:
    set_policies(place, "User", existing.physical_id, existing.properties, {})
    _change_groups(place, existing.physical_id, existing.properties, {})
    place.call("iam", "DeleteUser", UserName=existing.physical_id)


def _change_groups(place: Place, user: str, old: Document, new: Document) -> None:
    before, after = old.get("Groups", []), new.get("Groups", [])
    for name in before:
        if name not in after:
            place.call("iam", "RemoveUserFromGroup", GroupName=name, UserName=user)
    for name in after:
        if name not in before:
            place.call("iam", "AddUserToGroup", GroupName=name, UserName=user)


def _create_key(place: Place, properties: Document) -> Existing:
    key = place.call("iam", "CreateAccessKey", UserName=properties["UserName"])["AccessKey"]
    existing = Existing(key["AccessKeyId"], properties, {"SecretAccessKey": key["SecretAccessKey"]})
    return existing if properties.get("Status", "Active") == "Active" else _update_key(place, existing, properties)


def _update_key(place: Place, existing: Existing, properties: Document) -> Existing:
    place.call(
        "iam", "UpdateAccessKey", UserName=properties["UserName"], AccessKeyId=existing.physical_id,
        Status=properties.get("Status", "Active"),
    )  # fmt: skip
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_key(place: Place, existing: Existing) -> None:
    place.call("iam", "DeleteAccessKey", UserName=existing.properties["UserName"], AccessKeyId=existing.physical_id)


USER = ResourceType(
    name="AWS::IAM::User",
    properties={
        "Groups": listing(TEXT),
        "LoginProfile": UNAVAILABLE,
        "ManagedPolicyArns": listing(TEXT),
        "Path": TEXT,
        "PermissionsBoundary": TEXT,
        "Policies": listing(group(PolicyDocument=required(JSON), PolicyName=required(TEXT))),
        "Tags": TAGS,
        "UserName": replacing(TEXT),
    },
    create=_create_user,
    update=_update_user,
    delete=_delete_user,
    attributes=frozenset({"Arn"}),
    name_property="UserName",
    has_tags=True,
    missing=MISSING,
    warn=warn_of_policies,
)

ACCESS_KEY = ResourceType(
    name="AWS::IAM::AccessKey",
    properties={"Serial": replacing(INTEGER), "Status": TEXT, "UserName": replacing(required(TEXT))},
    create=_create_key,
    update=_update_key,
    delete=_delete_key,
    attributes=frozenset({"SecretAccessKey"}),
    missing=MISSING,
)
