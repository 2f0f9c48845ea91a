"""Which calls a service deduplicates by a token: the member with the token, and for how long the service remembers it.

A table of AWS's documentation. For other members with the name of such a token, the time is the one that most of AWS's
documentation of such fields states.
"""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from redrive.prove.calls.calls import HTTP_SERVICE, Call, mapping_of


@dataclass(frozen=True, slots=True)
class Token:
    """The token of a call, and for how long the service remembers it."""

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
    # https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html: the first one closes the
    # task (TaskTimedOut after that), and a task waits for a year at most.
    ("stepfunctions", "SendTaskSuccess", "taskToken"): 365 * DAY_MS,
    ("stepfunctions", "SendTaskFailure", "taskToken"): 365 * DAY_MS,
}
_NESTED: dict[tuple[str, str], tuple[tuple[str, ...], int]] = {
    # https://docs.aws.amazon.com/systems-manager/latest/userguide/OpsCenter-working-deduplication.html: the second is
    # refused (OpsItemAlreadyExistsException) while the first is open; that it stays open for a year is judgement.
    ("ssm", "CreateOpsItem"): (("OperationalData", "/aws/dedup", "Value"), 365 * DAY_MS),
}
"""Tokens that stand deeper in the parameters: their place, and for how long the service remembers them."""

KEY_OF_REQUEST, MEMORY_OF_REQUEST = "IdempotencyKey", "KeyMemoryMs"
"""Parameters of a request over HTTP: its idempotency key, and for how long the API knows the key again."""

_TOKEN_NAMES = frozenset({"clienttoken", "clientrequesttoken", "idempotencytoken", "messagededuplicationid"})
MEMORY_ELSEWHERE_MS = 8 * HOUR_MS
"""The time where AWS's documentation states none: the shortest that it states for tokens of this kind."""


def token_of(call: Call) -> Token | None:
    """The token by which a service deduplicates a call; None if each call counts."""
    if call.service == HTTP_SERVICE:
        key, memory_ms = call.params.get(KEY_OF_REQUEST), call.params.get(MEMORY_OF_REQUEST)
        return Token(key, memory_ms) if isinstance(key, str) and isinstance(memory_ms, int) else None
    for name, value in sorted(call.params.items()):
        known = _MEMORIES.get((call.service, call.operation, name))
        if isinstance(value, str) and (known is not None or name.lower() in _TOKEN_NAMES):
            return Token(value, MEMORY_ELSEWHERE_MS if known is None else known)
    return _nested_token_of(call)


def _nested_token_of(call: Call) -> Token | None:
    place, memory_ms = _NESTED.get((call.service, call.operation), ((), 0))
    held: object = call.params
    for name in place:
        held = mapping_of(held).get(name)
    return Token(held, memory_ms) if isinstance(held, str) else None
