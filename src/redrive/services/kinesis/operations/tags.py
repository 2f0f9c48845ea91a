"""Operations on tags: of streams by their names, and of streams and consumers by their ARNs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, keys_of_tags, request_tags
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.stream import Consumer, Stream, consumer_name
from redrive.services.kinesis.model.tags import describe_tags, merge_tags, remove_tags
from redrive.services.kinesis.operations.consumers import find_consumer, store_consumer
from redrive.services.kinesis.operations.streams import find_stream
from redrive.store.api import NO_CONTEXT, Transaction

Tags = Mapping[str, str]


@operation("AddTagsToStream")
def add_tags_to_stream(
    tx: Transaction,
    caller: Caller,
    *,
    tags: Mapping[str, str],
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Add tags to a stream. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_AddTagsToStream.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:AddTagsToStream", request_tags(tags))
    _store(tx, stream, None, merge_tags(stream.tags, tags))
    return {}


@operation("RemoveTagsFromStream")
def remove_tags_from_stream(
    tx: Transaction,
    caller: Caller,
    *,
    tag_keys: Sequence[str],
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Remove tags from a stream. A key that it does not have is no error.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_RemoveTagsFromStream.html
    """
    asked = keys_of_tags(tag_keys)
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:RemoveTagsFromStream", asked)
    _store(tx, stream, None, remove_tags(stream.tags, tag_keys))
    return {}


@operation("ListTagsForStream")
def list_tags_for_stream(
    tx: Transaction,
    caller: Caller,
    *,
    stream_name: str | None = None,
    exclusive_start_tag_key: str | None = None,
    limit: int | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """List the tags of a stream, sorted by key, at most `limit` (50) after the given key.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListTagsForStream.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:ListTagsForStream")
    after = exclusive_start_tag_key or ""
    found = [tag for tag in describe_tags(stream.tags) if tag["Key"] > after]
    size = limit or limits.TAGS_MAX
    return {"Tags": found[:size], "HasMoreTags": len(found) > size}


@operation("TagResource")
def tag_resource(
    tx: Transaction, caller: Caller, *, tags: Mapping[str, str], resource_arn: str, stream_id: str | None = None
) -> Document:
    """Add tags to the stream or the consumer with this ARN.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_TagResource.html
    """
    _change(tx, caller, "TagResource", resource_arn, request_tags(tags), lambda known: merge_tags(known, tags))
    return {}


@operation("UntagResource")
def untag_resource(
    tx: Transaction, caller: Caller, *, tag_keys: Sequence[str], resource_arn: str, stream_id: str | None = None
) -> Document:
    """Remove tags from the stream or the consumer with this ARN. A key that it does not have is no error.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UntagResource.html
    """
    asked = keys_of_tags(tag_keys)
    _change(tx, caller, "UntagResource", resource_arn, asked, lambda known: remove_tags(known, tag_keys))
    return {}


@operation("ListTagsForResource")
def list_tags_for_resource(
    tx: Transaction, caller: Caller, *, resource_arn: str, stream_id: str | None = None
) -> Document:
    """List the tags of the stream or the consumer with this ARN, sorted by key.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListTagsForResource.html
    """
    stream, consumer = find_resource(tx, caller, "kinesis:ListTagsForResource", resource_arn)
    return {"Tags": describe_tags(stream.tags if consumer is None else consumer.tags)}


def find_resource(
    tx: Transaction, caller: Caller, action: str, arn: str, context: Context = NO_CONTEXT
) -> tuple[Stream, Consumer | None]:
    """Return the stream with this ARN, or the consumer with this ARN and its stream.

    Errors: ResourceNotFoundException (also for channels and queues, which are not here); AccessDeniedException.
    """
    resource = arn.split(":", 5)[-1]
    if not resource.startswith("stream/"):
        tx.services.authorize(tx, caller, action, arn, context=context)
        raise ServiceError("ResourceNotFoundException", f"{arn} not found. redrive has no channels and no queues.")
    if consumer_name(arn) is not None:
        return find_consumer(tx, caller, arn, action, context)
    return find_stream(tx, caller, None, arn, action, context), None


def _change(
    tx: Transaction, caller: Caller, name: str, arn: str, context: Context, change: Callable[[Tags], Tags]
) -> None:
    stream, consumer = find_resource(tx, caller, f"kinesis:{name}", arn, context)
    _store(tx, stream, consumer, change(stream.tags if consumer is None else consumer.tags))


def _store(tx: Transaction, stream: Stream, consumer: Consumer | None, tags: Tags) -> None:
    if consumer is None:
        tx.resources.put(stream.scope, dataclasses.replace(stream, tags=tags))
    else:
        store_consumer(tx, stream, dataclasses.replace(consumer, tags=tags))
