"""Queues that functions read from and write to, perhaps in other accounts: Lambda looks them up for itself.

What is done with them later happens under the function's role, and SQS decides; here a role's permissions are asked for
in advance, as AWS does when a function is given a queue.
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.arn import Arn
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.targets import queue_url
from redrive.store.api import Transaction


def queue_exists(tx: Transaction, queue_arn: str, request_id: str) -> bool:
    """Whether there is a queue with this ARN, whatever the caller or the function's role may see."""
    return bool(_attributes(tx, queue_arn, request_id))


def authorize_on_queue(tx: Transaction, session: Caller, action: str, queue_arn: str) -> None:
    """Refuse what neither the function's role nor the queue's policy allows. Errors: AccessDeniedException."""
    policy = _attributes(tx, queue_arn, session.request_id).get("Policy", "")
    tx.services.authorize(tx, session, action, queue_arn, policy=policy)


def _attributes(tx: Transaction, queue_arn: str, request_id: str) -> Mapping[str, str]:
    """The ARN and the policy of a queue, as its owner sees them; nothing if there is none."""
    arn = Arn.parse(queue_arn)
    owner = Caller(Scope(arn.account, arn.region), request_id)
    params = {"QueueUrl": queue_url(queue_arn), "AttributeNames": ["QueueArn", "Policy"]}
    try:
        found: Mapping[str, str] = tx.services.call(tx, owner, "sqs", "GetQueueAttributes", params)["Attributes"]
    except ServiceError:
        return {}
    return found
