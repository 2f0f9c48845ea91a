"""The operations on tags of topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, keys_of_tags, request_tags
from redrive.services.sns.access import existing_topic
from redrive.services.sns.model.tags import read_tags
from redrive.services.sns.model.topic import Topic
from redrive.store.api import NO_CONTEXT, Transaction


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tags: Sequence[Document]) -> Document:
    """Add tags to a topic. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; InvalidParameterException; TagLimitExceededException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_TagResource.html
    """
    context = request_tags({str(tag["Key"]): str(tag["Value"]) for tag in tags})
    topic = _tagged(tx, caller, resource_arn, "sns:TagResource", context)
    tx.resources.put(topic.scope, replace(topic, tags=read_tags(topic.tags, tags)))
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a topic.

    Errors: ResourceNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_UntagResource.html
    """
    topic = _tagged(tx, caller, resource_arn, "sns:UntagResource", keys_of_tags(tag_keys))
    left = {key: value for key, value in topic.tags.items() if key not in tag_keys}
    tx.resources.put(topic.scope, replace(topic, tags=left))
    return {}


@operation("ListTagsForResource")
def list_tags_for_resource(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """List the tags of a topic.

    Errors: ResourceNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_ListTagsForResource.html
    """
    topic = _tagged(tx, caller, resource_arn, "sns:ListTagsForResource", NO_CONTEXT)
    return {"Tags": [{"Key": key, "Value": value} for key, value in topic.tags.items()]}


def _tagged(tx: Transaction, caller: Caller, arn: str, action: str, context: Context) -> Topic:
    try:
        return existing_topic(tx, caller, arn, action, parameter="ResourceArn", context=context)
    except ServiceError as error:
        if error.code != "NotFoundException":
            raise
        raise ServiceError("ResourceNotFoundException", "Resource does not exist") from None
