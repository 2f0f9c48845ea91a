"""The operations on tags. Only parameters can have them here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.ssm.finding import authorize
from redrive.services.ssm.model.names import asked
from redrive.services.ssm.model.parameter import Parameter
from redrive.services.ssm.model.tags import merged_tags
from redrive.store.api import Transaction


@operation("AddTagsToResource")
def add_tags_to_resource(
    tx: Transaction, caller: Caller, *, resource_type: str, resource_id: str, tags: Sequence[Document]
) -> Document:
    """Add tags to a parameter. A tag with an existing key replaces the old tag.

    Errors: InvalidResourceId; InvalidResourceType; TooManyTagsError; ValidationException.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_AddTagsToResource.html
    """
    parameter = _parameter(tx, caller, "AddTagsToResource", resource_type, resource_id)
    tx.resources.put(caller.scope, replace(parameter, tags=merged_tags(parameter.tags, tags)))
    return {}


@operation("RemoveTagsFromResource")
def remove_tags_from_resource(
    tx: Transaction, caller: Caller, *, resource_type: str, resource_id: str, tag_keys: Sequence[str]
) -> Document:
    """Remove tags from a parameter.

    Errors: InvalidResourceId; InvalidResourceType.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_RemoveTagsFromResource.html
    """
    parameter = _parameter(tx, caller, "RemoveTagsFromResource", resource_type, resource_id)
    left = {key: value for key, value in parameter.tags.items() if key not in tag_keys}
    tx.resources.put(caller.scope, replace(parameter, tags=left))
    return {}


@operation("ListTagsForResource")
def list_tags_for_resource(tx: Transaction, caller: Caller, *, resource_type: str, resource_id: str) -> Document:
    """List the tags of a parameter.

    Errors: InvalidResourceId; InvalidResourceType.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_ListTagsForResource.html
    """
    parameter = _parameter(tx, caller, "ListTagsForResource", resource_type, resource_id)
    return {"TagList": [{"Key": key, "Value": value} for key, value in sorted(parameter.tags.items())]}


def _parameter(tx: Transaction, caller: Caller, operation_name: str, kind: str, identifier: str) -> Parameter:
    if kind != "Parameter":
        message = f"redrive has no resources of Systems Manager but parameters: {kind}"
        raise ServiceError("InvalidResourceType", message)
    wanted = asked(caller.scope, identifier)
    authorize(tx, caller, operation_name, wanted.key)
    parameter = tx.resources.get(Parameter, caller.scope, wanted.key)
    if parameter is None:
        message = f"The resource ID {identifier} is not valid. Verify that you entered the resource ID correctly."
        raise ServiceError("InvalidResourceId", message)
    return parameter
