"""The operations on tags of log groups: by ARN, and the older ones by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs import limits
from redrive.services.logs.model.group import LogGroup, check_tags, group_arn, group_name_of_arn
from redrive.services.logs.operations.groups import existing_group
from redrive.store.api import Transaction


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tags: Mapping[str, str]) -> Document:
    """Add tags to a log group. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; TooManyTagsException; InvalidParameterException (not a log group's ARN, a key
    reserved for AWS).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_TagResource.html
    """
    group = _group(tx, caller, "logs:TagResource", group_name_of_arn(caller.scope, resource_arn))
    _tag(tx, caller, group, tags)
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a log group; keys that the group does not have are ignored.

    Errors: ResourceNotFoundException; InvalidParameterException (not a log group's ARN).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_UntagResource.html
    """
    group = _group(tx, caller, "logs:UntagResource", group_name_of_arn(caller.scope, resource_arn))
    _untag(tx, caller, group, tag_keys)
    return {}


@operation("ListTagsForResource")
def list_tags_for_resource(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """List the tags of a log group.

    Errors: ResourceNotFoundException; InvalidParameterException (not a log group's ARN).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_ListTagsForResource.html
    """
    group = _group(tx, caller, "logs:ListTagsForResource", group_name_of_arn(caller.scope, resource_arn))
    return {"tags": dict(group.tags)}


@operation("TagLogGroup")
def tag_log_group(tx: Transaction, caller: Caller, *, log_group_name: str, tags: Mapping[str, str]) -> Document:
    """Like TagResource, by the group's name.

    Errors: ResourceNotFoundException; InvalidParameterException (too many tags, a key reserved for AWS).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_TagLogGroup.html
    """
    _tag(tx, caller, _group(tx, caller, "logs:TagLogGroup", log_group_name), tags)
    return {}


@operation("UntagLogGroup")
def untag_log_group(tx: Transaction, caller: Caller, *, log_group_name: str, tags: Sequence[str]) -> Document:
    """Like UntagResource, by the group's name.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_UntagLogGroup.html
    """
    _untag(tx, caller, _group(tx, caller, "logs:UntagLogGroup", log_group_name), tags)
    return {}


@operation("ListTagsLogGroup")
def list_tags_log_group(tx: Transaction, caller: Caller, *, log_group_name: str) -> Document:
    """Like ListTagsForResource, by the group's name.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_ListTagsLogGroup.html
    """
    return {"tags": dict(_group(tx, caller, "logs:ListTagsLogGroup", log_group_name).tags)}


def _group(tx: Transaction, caller: Caller, action: str, name: str) -> LogGroup:
    """Return the group, if the caller may do `action` on its tags. For tags, policies see the ARN without `:*`."""
    tx.services.authorize(tx, caller, action, group_arn(caller.scope, name))
    return existing_group(tx, caller, name)


def _tag(tx: Transaction, caller: Caller, group: LogGroup, tags: Mapping[str, str]) -> None:
    check_tags(tags)
    merged = {**group.tags, **tags}
    if len(merged) > limits.TAGS_MAX:
        message = f"A resource can have no more than {limits.TAGS_MAX} tags."
        raise ServiceError("TooManyTagsException", message, members={"resourceName": group.arn(caller.scope)})
    tx.resources.put(caller.scope, replace(group, tags=merged))


def _untag(tx: Transaction, caller: Caller, group: LogGroup, keys: Sequence[str]) -> None:
    kept = {key: value for key, value in group.tags.items() if key not in keys}
    tx.resources.put(caller.scope, replace(group, tags=kept))
