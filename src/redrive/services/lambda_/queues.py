"""Lambda's own checks of the queues that functions read from and write to, perhaps in other accounts.

Later calls to these queues run under the function's role, and SQS authorizes them. This module checks a role's
permissions in advance, as AWS does when a function gets a queue.
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.arn import Arn
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.targets import queue_url
from redrive.store.api import Transaction


def queue_exists(tx: Transaction, queue_arn: str, request_id: str) -> bool:
    """Whether a queue with this ARN exists, also if neither the caller nor the function's role may see it."""
    return bool(_attributes(tx, queue_arn, request_id))


def authorize_on_queue(tx: Transaction, session: Caller, action: str, queue_arn: str) -> None:
    """Refuse an action that neither the function's role nor the queue's policy allows.

    Errors: AccessDeniedException.
    """
    policy = _attributes(tx, queue_arn, session.request_id).get("Policy", "")
    tx.services.authorize(tx, session, action, queue_arn, policy=policy)


def _attributes(tx: Transaction, queue_arn: str, request_id: str) -> Mapping[str, str]:
    """Return the ARN and the policy of a queue, read as its owner; empty if the queue does not exist."""
    arn = Arn.parse(queue_arn)
    owner = Caller(Scope(arn.account, arn.region), request_id)
    params = {"QueueUrl": queue_url(queue_arn), "AttributeNames": ["QueueArn", "Policy"]}
    try:
        found: Mapping[str, str] = tx.services.call(tx, owner, "sqs", "GetQueueAttributes", params)["Attributes"]
    except ServiceError:
        return {}
    return found
