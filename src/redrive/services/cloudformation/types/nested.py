"""AWS::CloudFormation::Stack: a stack inside a stack.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-stack.html
"""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.languages.template import Node
from redrive.services.cloudformation.answers import Awaited, awaited_name
from redrive.services.cloudformation.model.stack import STACK_TYPE, Stack, StackStatus, parse_stack_id
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType
from redrive.services.cloudformation.types.schema import (
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    Kind,
    PropertyError,
    listing,
    required,
    scalar,
)

_NAME_LENGTH_MAX = 128
_DONE = {
    "Create": (StackStatus.CREATE_COMPLETE, "created"),
    "Update": (StackStatus.UPDATE_COMPLETE, "updated"),
    "Delete": (StackStatus.DELETE_COMPLETE, "deleted"),
}
_NO_UPDATES = "No updates are to be performed."


def _settings(place: Place, properties: Document) -> Document:
    """Return the settings of a nested stack as the operations accept them."""
    parent = place.tx.resources.get(Stack, place.caller.scope, place.stack_name)
    assert parent is not None, "a resource is made for a stack that there is"
    return {
        "TemplateURL": properties["TemplateURL"],
        "Parameters": [
            {"ParameterKey": key, "ParameterValue": _text(value)}
            for key, value in dict(properties.get("Parameters", {})).items()
        ],
        "Capabilities": list(parent.blueprint.capabilities),
        "NotificationARNs": properties.get("NotificationARNs"),
        "Tags": properties.get("Tags"),
    }  # fmt: skip


def _text(value: Node) -> str:
    items = value if isinstance(value, list) else [value]
    return ",".join(str(scalar("", "#/Parameters", Kind.TEXT, item)) for item in items)


def _create(place: Place, properties: Document) -> Existing:
    name = place.name(None, _NAME_LENGTH_MAX)
    stack_id = place.call(
        "cloudformation", "CreateStack", StackName=name, TimeoutInMinutes=properties.get("TimeoutInMinutes"),
        **_settings(place, properties),
    )["StackId"]  # fmt: skip
    scope = place.caller.scope
    child, parent = (place.tx.resources.get(Stack, scope, each) for each in (name, place.stack_name))
    assert child is not None
    assert parent is not None
    root_id = parent.root_id or parent.id
    place.tx.resources.put(scope, dataclasses.replace(child, parent_id=place.stack_id, root_id=root_id))
    _await(place, "Create")
    return Existing(stack_id, properties, {})


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    made = Existing(existing.physical_id, properties, existing.attributes)
    try:
        place.call(
            "cloudformation", "UpdateStack", StackName=existing.physical_id, **_settings(place, properties)
        )  # fmt: skip
    except ServiceError as error:
        if error.message == _NO_UPDATES:
            return made
        raise
    _await(place, "Update")
    return made


def _delete(place: Place, existing: Existing) -> None:
    place.call("cloudformation", "DeleteStack", StackName=existing.physical_id)
    _await(place, "Delete")


def _await(place: Place, operation: str) -> None:
    # The nested stack has its own timeouts, so it always ends.
    awaited = Awaited(place.stack_uid, place.stack_name, place.logical_id, "", operation, until=0)
    place.tx.resources.put(place.caller.scope, awaited)


def _progress(place: Place, existing: Existing) -> Existing | None:
    """Return the nested stack with its outputs after its operation has ended, None before. Errors: PropertyError."""
    scope, name = place.caller.scope, awaited_name(place.stack_uid, place.logical_id)
    awaited = place.tx.resources.get(Awaited, scope, name)
    if awaited is None:
        return existing
    stack = _find(place, existing.physical_id)
    if stack is not None and stack.is_under_way:
        return None
    place.tx.resources.delete(Awaited, scope, name)
    wanted, verb = _DONE[awaited.operation]
    if stack is None or stack.status is not wanted:
        reason = "" if stack is None else f": {stack.failure or stack.status_reason}"
        raise PropertyError(f"Embedded stack {existing.physical_id} was not successfully {verb}{reason}")
    outputs = {f"Outputs.{output.key}": output.value for output in stack.outputs}
    return Existing(existing.physical_id, existing.properties, outputs)


def _find(place: Place, stack_id: str) -> Stack | None:
    name, uid = parse_stack_id(stack_id)
    found = place.tx.resources.get(Stack, place.caller.scope, name)
    if found is not None and found.uid == uid:
        return found
    return place.tx.resources.get(Stack, place.caller.scope, f"{name}/{uid}")


NESTED_STACK = ResourceType(
    name=STACK_TYPE,
    properties={
        "NotificationARNs": listing(TEXT),
        "Parameters": JSON,
        "Tags": TAGS,
        "TemplateURL": required(TEXT),
        "TimeoutInMinutes": INTEGER,
    },
    create=_create,
    update=_update,
    delete=_delete,
    has_tags=True,
    has_outputs=True,
    progress=_progress,
)
