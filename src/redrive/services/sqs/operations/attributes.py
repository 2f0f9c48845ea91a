"""The attributes and tags of queues."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import wake_sweep
from redrive.languages.iam import keys_of_tags, request_tags
from redrive.services.sqs.model.attributes import ALL, COUNT_NAMES, change_attributes, select_names, show_attributes
from redrive.services.sqs.model.policy import check_policy
from redrive.services.sqs.model.tags import check_tags
from redrive.services.sqs.operations.queues import check_redrive, find_queue
from redrive.services.sqs.retention import RETENTION
from redrive.store.api import Transaction
from redrive.store.tables.messages import MessageCounts


@operation("GetQueueAttributes")
def get_queue_attributes(
    tx: Transaction, caller: Caller, *, queue_url: str, attribute_names: Sequence[str] | None = None
) -> Document:
    """Return the requested attributes; without names the answer is empty.

    Errors: QueueDoesNotExist; InvalidAttributeName.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:GetQueueAttributes")
    names = select_names(attribute_names or (), is_fifo=queue.is_fifo)
    needs_counts = ALL in names or not names.isdisjoint(COUNT_NAMES)
    counts = tx.messages.counts(queue.contents, tx.now) if needs_counts else MessageCounts(0, 0, 0)
    shown = show_attributes(queue, counts)
    chosen = {name: value for name, value in shown.items() if ALL in names or name in names}
    return {"Attributes": chosen} if chosen else {}


@operation("SetQueueAttributes")
def set_queue_attributes(tx: Transaction, caller: Caller, *, queue_url: str, attributes: Mapping[str, str]) -> Document:
    """Set attributes of a queue. The change takes effect at once.

    A new retention also applies to stored messages. So does a new delay of a FIFO queue.

    Errors: QueueDoesNotExist; InvalidAttributeName; InvalidAttributeValue; InvalidParameterValueException; OverLimit (a
    policy beyond its quotas).
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:SetQueueAttributes")
    settings = change_attributes(queue.attributes, attributes)
    if "Policy" in attributes:
        check_policy(settings.policy, queue.scope.account, tx.services.limits)
    if "RedrivePolicy" in attributes:
        check_redrive(tx, queue.arn, queue.scope, settings)
    tx.resources.put(queue.scope, dataclasses.replace(queue, attributes=settings, modified_at=tx.now))
    if settings.retention_s != queue.attributes.retention_s:
        tx.messages.retain(queue.contents, settings.retention_ms)
        wake_sweep(tx, RETENTION)
        arrived(tx, queue.arn, tx.now)
    if queue.is_fifo and settings.delay_s != queue.attributes.delay_s:
        tx.messages.delay_in_order(queue.contents, settings.delay_s * SECOND_MS)
        tx.notify(queue.topic)
        arrived(tx, queue.arn, tx.now)
    return {}


@operation("TagQueue")
def tag_queue(tx: Transaction, caller: Caller, *, queue_url: str, tags: Mapping[str, str]) -> Document:
    """Add tags to a queue. A tag with an existing key replaces the old tag.

    Errors: QueueDoesNotExist; InvalidParameterValueException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_TagQueue.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:TagQueue", request_tags(tags))
    check_tags(tags)
    tx.resources.put(queue.scope, dataclasses.replace(queue, tags={**queue.tags, **tags}))
    return {}


@operation("UntagQueue")
def untag_queue(tx: Transaction, caller: Caller, *, queue_url: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a queue; a key that the queue does not have is not an error.

    Errors: QueueDoesNotExist.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_UntagQueue.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:UntagQueue", keys_of_tags(tag_keys))
    kept = {key: value for key, value in queue.tags.items() if key not in tag_keys}
    tx.resources.put(queue.scope, dataclasses.replace(queue, tags=kept))
    return {}


@operation("ListQueueTags")
def list_queue_tags(tx: Transaction, caller: Caller, *, queue_url: str) -> Document:
    """List the tags of a queue.

    Errors: QueueDoesNotExist.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ListQueueTags.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:ListQueueTags")
    return {"Tags": dict(queue.tags)} if queue.tags else {}
