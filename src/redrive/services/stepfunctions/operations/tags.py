"""The operations on tags of machines and activities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, keys_of_tags, request_tags
from redrive.services.stepfunctions.model.activity import Activity
from redrive.services.stepfunctions.model.arns import ACTIVITY, MACHINE, read_arn
from redrive.services.stepfunctions.model.machine import StateMachine
from redrive.services.stepfunctions.model.requests import no_resource
from redrive.services.stepfunctions.model.tags import merged_tags, shown_tags
from redrive.store.api import NO_CONTEXT, Transaction

_Tags = Mapping[str, str]


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tags: Sequence[Document]) -> Document:
    """Add tags to a machine or an activity. A tag with an existing key replaces the old tag.

    Errors: InvalidArn; ResourceNotFound; TooManyTags.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TagResource.html
    """
    context = request_tags({str(tag.get("key", "")): str(tag.get("value", "")) for tag in tags})
    return _change(
        tx, caller, "states:TagResource", resource_arn, context, lambda known: merged_tags(known, tags, resource_arn)
    )


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a machine or an activity.

    Errors: InvalidArn; ResourceNotFound.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_UntagResource.html
    """
    return _change(
        tx, caller, "states:UntagResource", resource_arn, keys_of_tags(tag_keys),
        lambda known: {key: value for key, value in known.items() if key not in tag_keys},
    )  # fmt: skip


@operation("ListTagsForResource")
def list_tags_for_resource(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """List the tags of a machine or an activity.

    Errors: InvalidArn; ResourceNotFound.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListTagsForResource.html
    """
    tx.services.authorize(tx, caller, "states:ListTagsForResource", resource_arn)
    return {"tags": shown_tags(_the_tagged(tx, resource_arn).tags)}


def _change(
    tx: Transaction, caller: Caller, action: str, arn: str, context: Context, change: Callable[[_Tags], _Tags]
) -> Document:
    tx.services.authorize(tx, caller, action, arn, context=context or NO_CONTEXT)
    tagged = _the_tagged(tx, arn)
    tx.resources.put(read_arn(arn, MACHINE, ACTIVITY).scope, replace(tagged, tags=change(tagged.tags)))
    return {}


def _the_tagged(tx: Transaction, text: str) -> StateMachine | Activity:
    """The machine or activity of an ARN. Versions and aliases have no tags. Errors: InvalidArn; ResourceNotFound."""
    arn = read_arn(text, MACHINE, ACTIVITY)
    kind: type[StateMachine | Activity] = StateMachine if arn.kind == MACHINE else Activity
    found = None if arn.qualifier or arn.label else tx.resources.get(kind, arn.scope, arn.name)
    if found is None:
        raise no_resource(text)
    return found
