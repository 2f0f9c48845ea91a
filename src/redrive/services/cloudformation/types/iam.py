"""AWS::IAM::Role, AWS::IAM::Policy and AWS::IAM::ManagedPolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_IAM.html
"""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.documents import Document
from redrive.languages.iam import is_unknown, warning_of
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    changed_keys,
    read,
    tag_changes,
)
from redrive.services.cloudformation.types.schema import (
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    as_text,
    group,
    listing,
    replacing,
    required,
)

# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
_ROLE_NAME_LENGTH_MAX = 64
_POLICY_NAME_LENGTH_MAX = 128
_VERSIONS_MAX = 5
_SESSION_S_DEFAULT = 3_600
MISSING = frozenset({"NoSuchEntityException", "NoSuchEntity"})


def _inline(properties: Document) -> dict[str, str]:
    """Return the inline policies of a role by name, as text."""
    return {policy["PolicyName"]: as_text(policy["PolicyDocument"]) for policy in properties.get("Policies", ())}


def _create_role(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("RoleName"), _ROLE_NAME_LENGTH_MAX)
    created = place.call(
        "iam", "CreateRole", RoleName=name, Path=properties.get("Path"), Description=properties.get("Description"),
        AssumeRolePolicyDocument=as_text(properties["AssumeRolePolicyDocument"]),
        MaxSessionDuration=properties.get("MaxSessionDuration"), Tags=properties.get("Tags"),
        PermissionsBoundary=properties.get("PermissionsBoundary"),
    )["Role"]  # fmt: skip
    set_policies(place, "Role", name, {}, properties)
    return Existing(name, properties, {"Arn": created["Arn"], "RoleId": created["RoleId"]})


def _update_role(place: Place, existing: Existing, properties: Document) -> Existing:
    name, old = existing.physical_id, existing.properties
    changed = changed_keys(old, properties)
    if "AssumeRolePolicyDocument" in changed:
        trust = as_text(properties["AssumeRolePolicyDocument"])
        place.call("iam", "UpdateAssumeRolePolicy", RoleName=name, PolicyDocument=trust)
    if changed & {"Description", "MaxSessionDuration"}:
        place.call(
            "iam", "UpdateRole", RoleName=name, Description=properties.get("Description", ""),
            MaxSessionDuration=properties.get("MaxSessionDuration", _SESSION_S_DEFAULT),
        )  # fmt: skip
    set_policies(place, "Role", name, old, properties)
    set_boundary_and_tags(place, "Role", name, old, properties)
    return Existing(name, properties, existing.attributes)


def set_policies(place: Place, kind: str, holder: str, old: Document, new: Document) -> None:
    """Bring the policies of a `Role`, `User` or `Group`, inline and attached, from one set of properties to another."""
    named = {f"{kind}Name": holder}
    before, after = _inline(old), _inline(new)
    for name in before.keys() - after.keys():
        place.call("iam", f"Delete{kind}Policy", PolicyName=name, **named)
    for name, document in after.items():
        if before.get(name) != document:
            place.call("iam", f"Put{kind}Policy", PolicyName=name, PolicyDocument=document, **named)
    attached, wanted = old.get("ManagedPolicyArns", []), new.get("ManagedPolicyArns", [])
    for arn in attached:
        if arn not in wanted:
            place.call("iam", f"Detach{kind}Policy", PolicyArn=arn, **named)
    for arn in wanted:
        if arn not in attached:
            place.call("iam", f"Attach{kind}Policy", PolicyArn=arn, **named)


def warn_of_policies(properties: Document) -> str:
    """Return the warnings about managed policies of a role or user that allow nothing here."""
    arns = [*properties.get("ManagedPolicyArns", ()), properties.get("PermissionsBoundary", "")]
    return " ".join(warning_of(arn) for arn in arns if is_unknown(arn))


def set_boundary_and_tags(place: Place, kind: str, holder: str, old: Document, new: Document) -> None:
    """Change the boundary and the tags of a `Role` or `User` from the old properties to the new."""
    named = {f"{kind}Name": holder}
    if old.get("PermissionsBoundary") != new.get("PermissionsBoundary"):
        boundary = new.get("PermissionsBoundary")
        verb = "Put" if boundary else "Delete"
        place.call("iam", f"{verb}{kind}PermissionsBoundary", PermissionsBoundary=boundary, **named)
    set_tags, removed = tag_changes(old, new)
    if removed:
        place.call("iam", f"Untag{kind}", TagKeys=removed, **named)
    if set_tags:
        tags = [{"Key": key, "Value": value} for key, value in set_tags.items()]
        place.call("iam", f"Tag{kind}", Tags=tags, **named)


def _found_role(place: Place, name: str) -> Document | None:
    answer = read(place, MISSING, "iam", "GetRole", RoleName=name)
    return None if answer is None else {"Arn": answer["Role"]["Arn"], "RoleId": answer["Role"]["RoleId"]}


def _delete_role(place: Place, existing: Existing) -> None:
    set_policies(place, "Role", existing.physical_id, existing.properties, {})
    place.call("iam", "DeleteRole", RoleName=existing.physical_id)


_HOLDERS = (("Roles", "Role"), ("Users", "User"), ("Groups", "Group"))


def _holders(properties: Document) -> Iterator[tuple[str, str]]:
    """Yield the holders of a policy, as (kind, name)."""
    for plural, kind in _HOLDERS:
        for name in properties.get(plural, ()):
            yield kind, name


def _put_policy(place: Place, properties: Document) -> None:
    for kind, name in _holders(properties):
        place.call(
            "iam", f"Put{kind}Policy", PolicyName=properties["PolicyName"],
            PolicyDocument=as_text(properties["PolicyDocument"]), **{f"{kind}Name": name},
        )  # fmt: skip


def _take_policy(place: Place, policy_name: str, holders: Iterator[tuple[str, str]]) -> None:
    for kind, name in holders:
        place.call("iam", f"Delete{kind}Policy", PolicyName=policy_name, **{f"{kind}Name": name})


def _create_policy(place: Place, properties: Document) -> Existing:
    name = place.name(None, _POLICY_NAME_LENGTH_MAX)
    _put_policy(place, properties)
    return Existing(name, properties, {"Id": name})


def _update_policy(place: Place, existing: Existing, properties: Document) -> Existing:
    old, renamed = existing.properties, existing.properties["PolicyName"] != properties["PolicyName"]
    remaining = set(_holders(properties))
    gone = (holder for holder in _holders(old) if renamed or holder not in remaining)
    _put_policy(place, properties)
    _take_policy(place, old["PolicyName"], gone)
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_policy(place: Place, existing: Existing) -> None:
    _take_policy(place, existing.properties["PolicyName"], _holders(existing.properties))


def _create_managed(place: Place, properties: Document) -> Existing:
    policy = place.call(
        "iam", "CreatePolicy", PolicyName=place.name(properties.get("ManagedPolicyName"), _POLICY_NAME_LENGTH_MAX),
        PolicyDocument=as_text(properties["PolicyDocument"]), Path=properties.get("Path"),
        Description=properties.get("Description"),
    )["Policy"]  # fmt: skip
    arn = policy["Arn"]
    _attach(place, arn, {}, properties)
    return Existing(arn, properties, {"PolicyArn": arn, "PolicyId": policy["PolicyId"]})


def _update_managed(place: Place, existing: Existing, properties: Document) -> Existing:
    arn = existing.physical_id
    if existing.properties["PolicyDocument"] != properties["PolicyDocument"]:
        versions = place.call("iam", "ListPolicyVersions", PolicyArn=arn)["Versions"]
        if len(versions) == _VERSIONS_MAX:
            oldest = next(one for one in reversed(versions) if not one["IsDefaultVersion"])
            place.call("iam", "DeletePolicyVersion", PolicyArn=arn, VersionId=oldest["VersionId"])
        document = as_text(properties["PolicyDocument"])
        place.call("iam", "CreatePolicyVersion", PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)
    _attach(place, arn, existing.properties, properties)
    return Existing(arn, properties, existing.attributes)


def _attach(place: Place, arn: str, old: Document, new: Document) -> None:
    before, after = set(_holders(old)), set(_holders(new))
    for kind, name in sorted(before - after):
        place.call("iam", f"Detach{kind}Policy", PolicyArn=arn, **{f"{kind}Name": name})
    for kind, name in sorted(after - before):
        place.call("iam", f"Attach{kind}Policy", PolicyArn=arn, **{f"{kind}Name": name})


def _delete_managed(place: Place, existing: Existing) -> None:
    arn = existing.physical_id
    _attach(place, arn, existing.properties, {})
    for version in place.call("iam", "ListPolicyVersions", PolicyArn=arn)["Versions"]:
        if not version["IsDefaultVersion"]:
            place.call("iam", "DeletePolicyVersion", PolicyArn=arn, VersionId=version["VersionId"])
    place.call("iam", "DeletePolicy", PolicyArn=arn)


ROLE = ResourceType(
    name="AWS::IAM::Role",
    properties={
        "AssumeRolePolicyDocument": required(JSON),
        "Description": TEXT,
        "ManagedPolicyArns": listing(TEXT),
        "MaxSessionDuration": INTEGER,
        "Path": replacing(TEXT),
        "PermissionsBoundary": TEXT,
        "Policies": listing(group(PolicyDocument=required(JSON), PolicyName=required(TEXT))),
        "RoleName": replacing(TEXT),
        "Tags": TAGS,
    },
    create=_create_role,
    update=_update_role,
    delete=_delete_role,
    attributes=frozenset({"Arn", "RoleId"}),
    name_property="RoleName",
    found=_found_role,
    has_tags=True,
    missing=MISSING,
    warn=warn_of_policies,
)

POLICY = ResourceType(
    name="AWS::IAM::Policy",
    properties={
        "Groups": listing(TEXT),
        "PolicyDocument": required(JSON),
        "PolicyName": required(TEXT),
        "Roles": listing(TEXT),
        "Users": listing(TEXT),
    },
    create=_create_policy,
    update=_update_policy,
    delete=_delete_policy,
    attributes=frozenset({"Id"}),
    missing=MISSING,
)

MANAGED_POLICY = ResourceType(
    name="AWS::IAM::ManagedPolicy",
    properties={
        "Description": replacing(TEXT),
        "Groups": listing(TEXT),
        "ManagedPolicyName": replacing(TEXT),
        "Path": replacing(TEXT),
        "PolicyDocument": required(JSON),
        "Roles": listing(TEXT),
        "Users": listing(TEXT),
    },
    create=_create_managed,
    update=_update_managed,
    delete=_delete_managed,
    attributes=frozenset({"PolicyArn", "PolicyId"}),
    name_property="ManagedPolicyName",
    missing=MISSING,
)
