"""AWS::SSM::Parameter. A template makes no SecureString.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ssm-parameter.html
"""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.languages.template import TemplateError
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType, changed_keys, read
from redrive.services.cloudformation.types.schema import JSON, TEXT, PropertyError, replacing, required

_NAME_LENGTH_MAX = 255
_PARAMETER = "Parameter"
_MISSING = frozenset({"ParameterNotFound"})


def _settings(properties: Document) -> Document:
    policies = properties.get("Policies")
    return {
        "AllowedPattern": properties.get("AllowedPattern"),
        "DataType": properties.get("DataType"),
        "Description": properties.get("Description"),
        "Policies": policies,
        "Tier": properties.get("Tier"),
        "Type": properties["Type"],
        "Value": properties["Value"],
    }


def _create(place: Place, properties: Document) -> Existing:
    if properties["Type"] == "SecureString":
        raise PropertyError("AWS::SSM::Parameter cannot make a parameter of the type SecureString.")
    name = place.name(_given_name(properties), _NAME_LENGTH_MAX)
    tags = [{"Key": key, "Value": value} for key, value in (properties.get("Tags") or {}).items()]
    place.call("ssm", "PutParameter", Name=name, Tags=tags or None, **_settings(properties))
    return _existing(place, name, properties)


def _given_name(properties: Document) -> str | None:
    name = properties.get("Name")
    return None if name is None else str(name)


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    name = existing.physical_id
    if changed_keys(existing.properties, properties) - {"Tags"}:
        cleared = {"Description": "", "AllowedPattern": "", "Policies": ""}
        given = {key: value for key, value in _settings(properties).items() if value is not None}
        gone = {key: value for key, value in cleared.items() if key in existing.properties}
        place.call("ssm", "PutParameter", Name=name, Overwrite=True, **{**gone, **given})
    before, after = existing.properties.get("Tags") or {}, properties.get("Tags") or {}
    removed = sorted(before.keys() - after.keys())
    if removed:
        place.call("ssm", "RemoveTagsFromResource", ResourceType=_PARAMETER, ResourceId=name, TagKeys=removed)
    added = [{"Key": key, "Value": value} for key, value in after.items() if before.get(key) != value]
    if added:
        place.call("ssm", "AddTagsToResource", ResourceType=_PARAMETER, ResourceId=name, Tags=added)
    return _existing(place, name, properties)


def _existing(place: Place, name: str, properties: Document) -> Existing:
    return Existing(name, properties, _attributes(place, name, str(properties["Type"])))


def _attributes(place: Place, name: str, kind: str) -> Document:
    arn = Arn("ssm", place.caller.region, place.caller.account, f"parameter/{name.removeprefix('/')}")
    return {"Arn": str(arn), "Type": kind}


def _found(place: Place, name: str) -> Document | None:
    answer = read(place, _MISSING, "ssm", "GetParameter", Name=name)
    return None if answer is None else _attributes(place, name, str(answer["Parameter"]["Type"]))


def _value(_: Place, type_name: str, existing: Existing, attribute: str) -> str:
    """Return the value as the template has it. In place of a secret's value, this is the reference to the secret.

    The value that the call had is no stored attribute, because stacks must not hold the values of secrets.
    """
    if attribute != "Value":
        raise TemplateError(f"Attribute '{attribute}' does not exist in {type_name}")
    return str(existing.properties["Value"])


def _delete(place: Place, existing: Existing) -> None:
    place.call("ssm", "DeleteParameter", Name=existing.physical_id)


PARAMETER = ResourceType(
    name="AWS::SSM::Parameter",
    properties={
        "AllowedPattern": TEXT,
        "DataType": TEXT,
        "Description": TEXT,
        "Name": replacing(TEXT),
        "Policies": TEXT,
        "Tags": JSON,
        "Tier": TEXT,
        "Type": required(TEXT),
        "Value": required(TEXT),
    },
    create=_create,
    update=_update,
    delete=_delete,
    attributes=frozenset({"Arn", "Type", "Value"}),
    attribute_of=_value,
    name_property="Name",
    found=_found,
    missing=_MISSING,
)
