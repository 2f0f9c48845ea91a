"""AWS::CloudFormation::Macro.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-macro.html
"""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudformation.macros import Macro
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType
from redrive.services.cloudformation.types.schema import TEXT, replacing, required


def _create_macro(place: Place, properties: Document) -> Existing:
    name = str(properties["Name"])
    if place.tx.resources.get(Macro, place.caller.scope, name) is not None:
        raise ServiceError("AlreadyExistsException", f"Macro [{name}] already exists")
    return _put_macro(place, properties)


def _put_macro(place: Place, properties: Document) -> Existing:
    name, function = str(properties["Name"]), str(properties["FunctionName"])
    place.tx.resources.put(place.caller.scope, Macro(name, function, properties.get("Description", "")))
    return Existing(name, properties, {})


def _update_macro(place: Place, existing: Existing, properties: Document) -> Existing:
    return dataclasses.replace(_put_macro(place, properties), physical_id=existing.physical_id)


def _delete_macro(place: Place, existing: Existing) -> None:
    place.tx.resources.delete(Macro, place.caller.scope, existing.physical_id)


MACRO = ResourceType(
    name="AWS::CloudFormation::Macro",
    properties={
        "Description": TEXT,
        "FunctionName": required(TEXT),
        "LogGroupName": TEXT,
        "LogRoleARN": TEXT,
        "Name": replacing(required(TEXT)),
    },
    create=_create_macro,
    update=_update_macro,
    delete=_delete_macro,
    name_property="Name",
)
