"""The operations on tags of functions and of mappings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, keys_of_tags, request_tags
from redrive.services.lambda_.limits import TAGS_MAX
from redrive.services.lambda_.model.code_signing import CodeSigningConfig
from redrive.services.lambda_.model.function import Function, invalid_parameter, lambda_error
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.operations.functions import authorized_function
from redrive.store.api import NO_CONTEXT, Transaction

Tagged = Function | EventSourceMapping | CodeSigningConfig


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, resource: str, tags: Mapping[str, str]) -> Document:
    """Add tags to a function or mapping. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; InvalidParameterValueException (over 50 tags).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_TagResource.html
    """
    tagged = _tagged(tx, caller, "lambda:TagResource", resource, request_tags(tags))
    updated = {**tagged.tags, **tags}
    if len(updated) > TAGS_MAX:
        raise invalid_parameter("Number of tags exceeds resource tag limit.")
    tx.resources.put(caller.scope, _retagged(tx, tagged, updated))
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource: str, tag_keys: list[str]) -> Document:
    """Remove tags from a function or mapping; a key that it does not have is not an error.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UntagResource.html
    """
    tagged = _tagged(tx, caller, "lambda:UntagResource", resource, keys_of_tags(tag_keys))
    left = {key: value for key, value in tagged.tags.items() if key not in tag_keys}
    tx.resources.put(caller.scope, _retagged(tx, tagged, left))
    return {}


@operation("ListTags")
def list_tags(tx: Transaction, caller: Caller, *, resource: str) -> Document:
    """List the tags of a function or mapping.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListTags.html
    """
    return {"Tags": dict(_tagged(tx, caller, "lambda:ListTags", resource).tags)}


def _retagged(tx: Transaction, tagged: Tagged, tags: Mapping[str, str]) -> Tagged:
    """Return the function or mapping with other tags. A function gets a new RevisionId, but its processes continue."""
    if isinstance(tagged, Function):
        return replace(tagged, tags=tags, settled_revision=new_uuid(tx.entropy))
    return replace(tagged, tags=tags)


def _tagged(tx: Transaction, caller: Caller, action: str, resource: str, context: Context = NO_CONTEXT) -> Tagged:
    kind, _, name = Arn.parse(resource).resource.partition(":")
    match kind:
        case "function":
            if name.count(":"):
                raise invalid_parameter(
                    "Tags on function aliases and versions are not supported. Please specify a function ARN."
                )
            return authorized_function(tx, caller, action, resource, context=context)
        case "code-signing-config":
            tx.services.authorize(tx, caller, action, resource, context=context)
            config = tx.resources.get(CodeSigningConfig, caller.scope, name)
            if config is not None and config.arn == resource:
                return config
        case "event-source-mapping":
            tx.services.authorize(tx, caller, action, resource, context=context)
            mapping = tx.resources.get(EventSourceMapping, caller.scope, name)
            if mapping is not None and mapping.arn == resource:
                return mapping
    raise lambda_error("ResourceNotFoundException", "The resource you requested does not exist.")
