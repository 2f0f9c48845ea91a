"""Operations on the resource policies of streams and consumers."""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.kinesis.model.policy import check_policy
from redrive.services.kinesis.operations.consumers import store_consumer
from redrive.services.kinesis.operations.tags import find_resource
from redrive.store.api import Transaction

_NO_POLICY = "{}"


@operation("PutResourcePolicy")
def put_resource_policy(
    tx: Transaction, caller: Caller, *, resource_arn: str, policy: str, stream_id: str | None = None
) -> Document:
    """Set the policy of a stream or a consumer; it replaces an earlier one.

    Errors: ResourceNotFoundException; InvalidArgumentException (the text is no policy).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutResourcePolicy.html
    """
    _store(tx, caller, "kinesis:PutResourcePolicy", resource_arn, policy)
    return {}


@operation("GetResourcePolicy")
def get_resource_policy(
    tx: Transaction, caller: Caller, *, resource_arn: str, stream_id: str | None = None
) -> Document:
    """Return the policy of a stream or a consumer, `{}` if it has none.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetResourcePolicy.html
    """
    stream, consumer = find_resource(tx, caller, "kinesis:GetResourcePolicy", resource_arn)
    return {"Policy": (stream.policy if consumer is None else consumer.policy) or _NO_POLICY}


@operation("DeleteResourcePolicy")
def delete_resource_policy(
    tx: Transaction, caller: Caller, *, resource_arn: str, stream_id: str | None = None
) -> Document:
    """Delete the policy of a stream or a consumer. Without a policy, nothing happens.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DeleteResourcePolicy.html
    """
    _store(tx, caller, "kinesis:DeleteResourcePolicy", resource_arn, "")
    return {}


def _store(tx: Transaction, caller: Caller, action: str, arn: str, policy: str) -> None:
    stream, consumer = find_resource(tx, caller, action, arn)
    if policy:
        check_policy(policy)
    if consumer is None:
        tx.resources.put(stream.scope, dataclasses.replace(stream, policy=policy))
    else:
        store_consumer(tx, stream, dataclasses.replace(consumer, policy=policy))
