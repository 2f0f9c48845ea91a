"""Operations on queues: create, find, list, purge, delete.

Every operation on a queue begins with `find_queue`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.delivery.upkeep.worker import wake_sweep
from redrive.languages.iam import Context, request_tags, resource_tags
from redrive.services.sqs import limits
from redrive.services.sqs.model.attributes import change_attributes, differing_attribute
from redrive.services.sqs.model.metrics import metrics_of
from redrive.services.sqs.model.policy import binding_policy, check_policy
from redrive.services.sqs.model.queue import Queue, QueueAttributes, check_name, parse_queue_url, queue_arn, queue_url
from redrive.services.sqs.model.requests import (
    check_page_size,
    decode_token,
    encode_token,
    invalid_value,
    missing_parameter,
)
from redrive.services.sqs.model.tags import check_tags
from redrive.services.sqs.retention import RETENTION
from redrive.store.api import NO_CONTEXT, Transaction


def find_queue(tx: Transaction, caller: Caller, url: str, action: str, context: Context = NO_CONTEXT) -> Queue:
    """Return the queue that a URL names, if the caller may do `action` on it.

    `context` holds the request's condition keys.

    Errors: QueueDoesNotExist; AccessDeniedException; MissingRequiredParameterException for an empty URL.
    """
    if not url:
        raise missing_parameter("QueueUrl")
    region, account, name = parse_queue_url(url)
    own = caller.scope
    is_own = account in ("", own.account) and region in ("", own.region)
    scope = own if is_own else Scope(account, region or own.region)
    queue = authorized_queue(tx, caller, scope, name, action, context)
    if queue is None:
        raise no_such_queue()
    return queue


def authorized_queue(
    tx: Transaction, caller: Caller, scope: Scope, name: str, action: str, context: Context = NO_CONTEXT
) -> Queue | None:
    """Return the queue with this name, or None if it does not exist. The caller must be allowed to do `action` on it.

    A missing queue of another account has no policy to allow the action. Errors: AccessDeniedException.
    """
    queue = tx.resources.get(Queue, scope, name)
    if queue is None:
        if scope.account == caller.account:
            tx.services.authorize(tx, caller, action, queue_arn(scope, name), context=context)
        return None
    if queue.tags:
        context = {**resource_tags(queue.tags), **context}
    policy = queue.attributes.policy and binding_policy(queue, caller, action)
    tx.services.authorize(tx, caller, action, queue.arn, context=context, policy=policy)
    return queue


def no_such_queue() -> ServiceError:
    """Build the error for a queue that does not exist."""
    return ServiceError("QueueDoesNotExist", "The specified queue does not exist.")


def _no_queue_to_see() -> ServiceError:
    """Build the error for another account's queue. It does not reveal whether the queue exists."""
    return ServiceError("QueueDoesNotExist", "The specified queue does not exist or you do not have access to it.")


def check_redrive(tx: Transaction, source_arn: str, scope: Scope, source: QueueAttributes) -> None:
    """Refuse a redrive policy whose dead-letter queue cannot take the source's messages.

    Errors: InvalidParameterValueException.
    """
    policy = source.redrive
    if policy is None:
        return
    target_arn = policy.dead_letter_arn
    if target_arn != queue_arn(scope, policy.dead_letter_name):
        reason = "Dead letter target must be in the same account and region as the source."
        raise invalid_value(target_arn, "RedrivePolicy", reason)
    if target_arn == source_arn:
        return  # Like AWS, accept a queue as its own dead-letter queue.
    target = tx.resources.get(Queue, scope, policy.dead_letter_name)
    if target is None:
        raise invalid_value(target_arn, "RedrivePolicy", "Dead letter target does not exist.")
    if target.is_fifo != source.is_fifo:
        reason = "Dead-letter queue must be same type of queue as the source."
        raise invalid_value(target_arn, "RedrivePolicy", reason)
    allow = target.attributes.redrive_allow
    if allow is not None and not allow.allows(source_arn):
        reason = "The dead-letter queue's RedriveAllowPolicy does not allow this source queue."
        raise invalid_value(target_arn, "RedrivePolicy", reason)


def dead_letter_sources(tx: Transaction, target: Queue, *, after: str = "") -> list[Queue]:
    """Return the queues that have this queue as their dead-letter queue, sorted by name, after the name `after`."""
    return [
        queue
        for queue in tx.resources.list(Queue, target.scope, after=after)
        if queue.attributes.redrive is not None and queue.attributes.redrive.dead_letter_arn == target.arn
    ]


@operation("CreateQueue")
def create_queue(
    tx: Transaction,
    caller: Caller,
    *,
    queue_name: str,
    attributes: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
) -> Document:
    """Create a queue, or return the queue of the same name if it has the given attributes.

    A FIFO queue needs both: a name that ends in `.fifo`, and the attribute FifoQueue with the value true.

    Errors: QueueNameExists; InvalidAttributeName; InvalidAttributeValue; InvalidParameterValueException (name, tags,
    redrive policy); OverLimit (a policy beyond its quotas).
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
    """
    arn = queue_arn(caller.scope, queue_name)
    asked = request_tags(tags or {})
    tx.services.authorize(tx, caller, "sqs:CreateQueue", arn, context=asked)
    given = attributes or {}
    is_fifo = given.get("FifoQueue", "").lower() == "true"
    check_name(queue_name, is_fifo=is_fifo)
    existing = tx.resources.get(Queue, caller.scope, queue_name)
    if existing is not None:
        differing = differing_attribute(existing, given)
        if differing is not None:
            raise ServiceError(
                "QueueNameExists",
                f"A queue already exists with the same name and a different value for attribute {differing}",
            )
        return {"QueueUrl": queue_url(caller, existing)}
    check_tags(tags or {})
    if tags:
        tx.services.authorize(tx, caller, "sqs:TagQueue", arn, context=asked)
    settings = change_attributes(QueueAttributes(is_fifo=is_fifo), given)
    check_policy(settings.policy, caller.account, tx.services.limits)
    check_redrive(tx, arn, caller.scope, settings)
    queue = Queue(
        name=queue_name, id=tx.entropy.hex(12), arn=arn, attributes=settings, created_at=tx.now, modified_at=tx.now,
        tags=dict(tags or {}),
    )  # fmt: skip
    tx.resources.put(caller.scope, queue)
    arrived(tx, arn, tx.now)  # Readers of an earlier queue of this name read from the new one.
    wake_sweep(tx, RETENTION)  # Here, so that the first send need not do it.
    tx.metrics.watch(metrics_of(arn).visible, tx.now)
    return {"QueueUrl": queue_url(caller, queue)}


@operation("GetQueueUrl")
def get_queue_url(
    tx: Transaction, caller: Caller, *, queue_name: str, queue_owner_aws_account_id: str | None = None
) -> Document:
    """Return the URL of the queue with this name, in the caller's account or in the given owner's.

    Errors: QueueDoesNotExist (also for another account's queue that the caller may not access); AccessDeniedException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueUrl.html
    """
    scope = Scope(queue_owner_aws_account_id or caller.account, caller.region)
    try:
        queue = authorized_queue(tx, caller, scope, queue_name, "sqs:GetQueueUrl")
    except ServiceError:
        if scope.account == caller.account:
            raise
        queue = None
    if queue is not None:
        return {"QueueUrl": queue_url(caller, queue)}
    raise no_such_queue() if scope.account == caller.account else _no_queue_to_see()


@operation("ListQueues")
def list_queues(
    tx: Transaction,
    caller: Caller,
    *,
    queue_name_prefix: str | None = None,
    next_token: str | None = None,
    max_results: int | None = None,
) -> Document:
    """List the URLs of the caller's queues, sorted by name; NextToken is set only if MaxResults is given.

    Errors: InvalidParameterValueException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ListQueues.html
    """
    tx.services.authorize(tx, caller, "sqs:ListQueues", queue_arn(caller.scope, "*"))
    size = check_page_size(max_results)
    found = tx.resources.list(
        Queue, caller.scope, prefix=queue_name_prefix or "", after=decode_token(next_token), limit=size + 1
    )
    page = found[:size]
    answer: Document = {"QueueUrls": [queue_url(caller, queue) for queue in page]} if page else {}
    if max_results is not None and len(found) > size:
        answer["NextToken"] = encode_token(page[-1].name)
    return answer


@operation("ListDeadLetterSourceQueues")
def list_dead_letter_source_queues(
    tx: Transaction, caller: Caller, *, queue_url: str, next_token: str | None = None, max_results: int | None = None
) -> Document:
    """List the URLs of the queues that have this queue as their dead-letter queue.

    Errors: QueueDoesNotExist; InvalidParameterValueException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ListDeadLetterSourceQueues.html
    """
    target = find_queue(tx, caller, queue_url, "sqs:ListDeadLetterSourceQueues")
    size = check_page_size(max_results)
    found = dead_letter_sources(tx, target, after=decode_token(next_token))
    page = found[:size]
    answer: Document = {"queueUrls": [_url(caller, queue) for queue in page]}
    if max_results is not None and len(found) > size:
        answer["NextToken"] = encode_token(page[-1].name)
    return answer


@operation("PurgeQueue")
def purge_queue(tx: Transaction, caller: Caller, *, queue_url: str) -> Document:
    """Delete all messages of a queue, also those in flight or delayed, and the deduplication ids of a FIFO queue.

    No receive returns any of them from now on. If there are many, the queue gets a new id for its contents, and a
    worker deletes the old rows in pieces. A FIFO queue always gets a new id, because its deduplication records belong
    to the contents.

    Errors: QueueDoesNotExist; PurgeQueueInProgress (a second purge within 60 seconds).
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_PurgeQueue.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:PurgeQueue")
    is_recent = queue.last_purged_at is not None and tx.now < queue.last_purged_at + limits.PURGE_INTERVAL_MS
    if is_recent and tx.services.limits is Limits.STRICT:
        seconds = limits.PURGE_INTERVAL_MS // SECOND_MS
        raise ServiceError(
            "PurgeQueueInProgress",
            f"Only one PurgeQueue operation on {queue.name} is allowed every {seconds} seconds.",
        )
    is_empty = forget_rows(tx, "messages", queue.contents)
    contents_id = queue.contents_id if is_empty and not queue.is_fifo else tx.entropy.hex(12)
    tx.resources.put(queue.scope, dataclasses.replace(queue, last_purged_at=tx.now, contents_id=contents_id))
    return {}


@operation("DeleteQueue")
def delete_queue(tx: Transaction, caller: Caller, *, queue_url: str) -> Document:
    """Delete a queue and its messages. Receives that wait for its messages end.

    Errors: QueueDoesNotExist.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteQueue.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:DeleteQueue")
    tx.resources.delete(Queue, queue.scope, queue.name)
    forget_rows(tx, "messages", queue.contents)
    tx.notify(queue.topic)
    return {}


def _url(caller: Caller, queue: Queue) -> str:
    """Call `model.queue_url`, whose name a parameter hides in the operations."""
    return queue_url(caller, queue)
