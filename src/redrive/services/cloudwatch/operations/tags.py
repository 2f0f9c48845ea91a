"""The operations on tags of alarms, dashboards and mute rules.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_TagResource.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, keys_of_tags, request_tags, resource_tags
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.alarm import Alarm, alarm_arn
from redrive.services.cloudwatch.model.alarm_requests import read_alarm_tags
from redrive.services.cloudwatch.model.dashboard import Dashboard, dashboard_arn, dashboard_scope
from redrive.services.cloudwatch.model.metric import INVALID_VALUE
from redrive.services.cloudwatch.model.mute_rule import MuteRule, mute_rule_arn
from redrive.store.api import NO_CONTEXT, Transaction

_Tagged = Alarm | Dashboard | MuteRule


@operation("TagResource")
def tag_resource(
    tx: Transaction, caller: Caller, *, resource_arn: str, tags: Sequence[Mapping[str, str]]
) -> Document:  # fmt: skip
    """Add tags to an alarm, a dashboard or a mute rule. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; InvalidParameterValue.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_TagResource.html
    """
    given = read_alarm_tags(tags)
    scope, tagged = _existing(tx, caller, resource_arn, "TagResource", request_tags(given))
    merged = {**tagged.tags, **given}
    if len(merged) > limits.ALARM_TAGS_MAX:
        raise ServiceError(INVALID_VALUE, f"A resource must not have more than {limits.ALARM_TAGS_MAX} tags.")
    _store(tx, scope, tagged, merged)
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from an alarm, a dashboard or a mute rule. Errors: ResourceNotFoundException.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_UntagResource.html
    """
    scope, tagged = _existing(tx, caller, resource_arn, "UntagResource", keys_of_tags(tag_keys))
    _store(tx, scope, tagged, {key: value for key, value in tagged.tags.items() if key not in tag_keys})
    return {}


@operation("ListTagsForResource")
def list_tags_for_resource(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """List the tags of an alarm, a dashboard or a mute rule; none for one that is deleted.

    Errors: InvalidParameterValue (the ARN names no such thing).
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListTagsForResource.html
    """
    _, tagged = _found(tx, caller, resource_arn, "ListTagsForResource", NO_CONTEXT)
    tags = {} if tagged is None else tagged.tags
    return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def _existing(
    tx: Transaction, caller: Caller, arn: str, operation_name: str, context: Context
) -> tuple[Scope, _Tagged]:  # fmt: skip
    scope, tagged = _found(tx, caller, arn, operation_name, context)
    if tagged is None:
        raise ServiceError("ResourceNotFoundException", f"The resource {arn} does not exist.")
    return scope, tagged


def _found(
    tx: Transaction, caller: Caller, arn: str, operation_name: str, context: Context
) -> tuple[Scope, _Tagged | None]:  # fmt: skip
    """What an ARN names, with the scope in which it is stored. Errors: AccessDenied; InvalidParameterValue."""
    scope = caller.scope
    places: Sequence[tuple[str, Scope, type[_Tagged]]] = (
        (alarm_arn(scope, ""), scope, Alarm),
        (mute_rule_arn(scope, ""), scope, MuteRule),
        (dashboard_arn(scope, ""), dashboard_scope(scope), Dashboard),
    )
    for prefix, place, kind in places:
        if arn.startswith(prefix):
            tagged: _Tagged | None = tx.resources.get(kind, place, arn.removeprefix(prefix))
            keys = context if tagged is None else {**resource_tags(tagged.tags), **context}
            tx.services.authorize(tx, caller, f"cloudwatch:{operation_name}", arn, context=keys)
            return place, tagged
    raise ServiceError(INVALID_VALUE, f"The value {arn} for parameter ResourceARN is invalid.")


def _store(tx: Transaction, scope: Scope, tagged: _Tagged, tags: Mapping[str, str]) -> None:
    tx.resources.put(scope, replace(tagged, tags=tags))
