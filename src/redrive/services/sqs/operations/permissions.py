"""Permissions for other accounts, as statements of the queue's policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.sqs.model.permissions import add_statement, check_permission, remove_statement
from redrive.services.sqs.model.queue import Queue
from redrive.services.sqs.operations.queues import find_queue
from redrive.store.api import Transaction


@operation("AddPermission")
def add_permission(
    tx: Transaction, caller: Caller, *, queue_url: str, label: str, aws_account_ids: Sequence[str],
    actions: Sequence[str],
) -> Document:  # fmt: skip
    """Add a statement to the queue's policy that allows the accounts these actions; `label` becomes its Sid.

    Errors: QueueDoesNotExist; InvalidParameterValueException; MissingRequiredParameterException; OverLimit.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_AddPermission.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:AddPermission")
    quotas = tx.services.limits
    check_permission(label, aws_account_ids, actions, quotas)
    policy = add_statement(
        queue.attributes.policy, queue.arn, label=label, accounts=aws_account_ids, actions=actions, quotas=quotas
    )
    _set_policy(tx, queue, policy)
    return {}


@operation("RemovePermission")
def remove_permission(tx: Transaction, caller: Caller, *, queue_url: str, label: str) -> Document:
    """Remove the statement with this label from the queue's policy.

    Errors: QueueDoesNotExist; InvalidParameterValueException.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_RemovePermission.html
    """
    queue = find_queue(tx, caller, queue_url, "sqs:RemovePermission")
    _set_policy(tx, queue, remove_statement(queue.attributes.policy, label))
    return {}


def _set_policy(tx: Transaction, queue: Queue, policy: str) -> None:
    settings = dataclasses.replace(queue.attributes, policy=policy)
    tx.resources.put(queue.scope, dataclasses.replace(queue, attributes=settings, modified_at=tx.now))
