"""Resource policies of streams and consumers: which texts are valid, and which requests a policy applies to.

Source: https://docs.aws.amazon.com/streams/latest/dev/resource-based-policy-examples.html
"""

from __future__ import annotations

from redrive.core.scope import Caller
from redrive.languages.iam import PolicyError, PolicyKind, account_of, parse_policy
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.requests import invalid_argument

_SHARED = frozenset(
    {
        "kinesis:DescribeStreamConsumer", "kinesis:DescribeStreamSummary", "kinesis:GetRecords",
        "kinesis:GetShardIterator", "kinesis:ListShards", "kinesis:PutRecord", "kinesis:PutRecords",
        "kinesis:SubscribeToShard",
    }
)  # fmt: skip
"""The actions that a policy can allow to another account."""

_UNLOCKING = frozenset({"kinesis:DeleteResourcePolicy", "kinesis:GetResourcePolicy", "kinesis:PutResourcePolicy"})
"""The calls that the account itself may always make, so that a policy cannot lock the account out of its stream."""


def binding_policy(policy: str, arn: str, caller: Caller, action: str) -> str:
    """Return the policy of a resource if it applies to this request, otherwise an empty text."""
    if not policy:
        return ""
    if caller.account != account_of(arn):
        return policy if action in _SHARED else ""
    return "" if caller.is_account and action in _UNLOCKING else policy


def check_policy(text: str) -> None:
    """Refuse a text that is no policy of a resource. Errors: InvalidArgumentException."""
    if len(text.encode()) > limits.POLICY_BYTES_MAX:
        raise invalid_argument(f"The policy is longer than {limits.POLICY_BYTES_MAX} bytes.")
    try:
        parse_policy(text, PolicyKind.RESOURCE)
    except PolicyError as error:
        raise invalid_argument(f"The policy is invalid: {error}") from None
