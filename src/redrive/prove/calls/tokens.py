"""Which calls the service itself recognises when they come again, by which member, and for how long.

A table of what AWS documents. A member that is named like such a token and is not in it is remembered for as long as
most of AWS's own field documentation says of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from redrive.prove.calls.calls import Call


@dataclass(frozen=True, slots=True)
class Token:
    """What a call is recognised by, and for how long after it."""

    text: str
    memory_ms: int


_MEMORIES: dict[tuple[str, str, str], int] = {
    # https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    ("dynamodb", "TransactWriteItems", "ClientRequestToken"): 10 * MINUTE_MS,
    # https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
    ("sns", "Publish", "MessageDeduplicationId"): 5 * MINUTE_MS,
    # https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html (standard workflows)
    ("stepfunctions", "StartExecution", "name"): 90 * DAY_MS,
    # https://docs.aws.amazon.com/step-functions/latest/apireference/API_RedriveExecution.html
    ("stepfunctions", "RedriveExecution", "clientToken"): 15 * MINUTE_MS,
    # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html
    ("ecs", "RunTask", "clientToken"): 24 * HOUR_MS,
    # https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html (at least so long)
    ("ec2", "RunInstances", "ClientToken"): 24 * HOUR_MS,
    # https://docs.aws.amazon.com/cloudcontrolapi/latest/APIReference/API_CreateResource.html
    ("cloudcontrol", "CreateResource", "ClientToken"): 36 * HOUR_MS,
    ("cloudcontrol", "UpdateResource", "ClientToken"): 36 * HOUR_MS,
    ("cloudcontrol", "DeleteResource", "ClientToken"): 36 * HOUR_MS,
}

_TOKEN_NAMES = frozenset({"clienttoken", "clientrequesttoken", "idempotencytoken", "messagededuplicationid"})
MEMORY_ELSEWHERE_MS = 8 * HOUR_MS
"""What is taken where AWS's documentation does not say: the shortest that it names for tokens of this kind."""


def token_of(call: Call) -> Token | None:
    """What a call is recognised by; None if it counts each time."""
    for name, value in sorted(call.params.items()):
        known = _MEMORIES.get((call.service, call.operation, name))
        if isinstance(value, str) and (known is not None or name.lower() in _TOKEN_NAMES):
            return Token(value, MEMORY_ELSEWHERE_MS if known is None else known)
    return None
