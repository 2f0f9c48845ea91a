"""A queue's policy: which texts are valid, and which requests the policy applies to. IAM evaluates the policy.

Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-creating-custom-policies.html
"""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.languages.iam import Effect, Policy, PolicyError, PolicyKind, Statement, account_of, parse_policy
from redrive.services.sqs import limits
from redrive.services.sqs.model.queue import Queue

OWNERS_ALONE = frozenset(
    {
        "AddPermission", "CancelMessageMoveTask", "CreateQueue", "DeleteQueue", "ListMessageMoveTasks",
        "ListQueueTags", "ListQueues", "RemovePermission", "SetQueueAttributes", "StartMessageMoveTask", "TagQueue",
        "UntagQueue",
    }
)  # fmt: skip
"""The actions that no policy can allow to another account.

Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-limitations-of-custom-policies.html
"""

_UNLOCKING = frozenset({"sqs:GetQueueAttributes", "sqs:SetQueueAttributes"})
"""The calls that the queue's own account may always make, so that a policy cannot lock the account out of its queue.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/root-user-tasks.html
"""


def binding_policy(queue: Queue, caller: Caller, action: str) -> str:
    """Return the queue's policy if it applies to this request, otherwise an empty text."""
    if caller.account != account_of(queue.arn):
        is_bound = action.removeprefix("sqs:") not in OWNERS_ALONE
    else:
        is_bound = not caller.is_account or action not in _UNLOCKING
    return queue.attributes.policy if is_bound else ""


def check_policy(text: str, owner: str, quotas: Limits) -> None:
    """Refuse a text that cannot be the policy of a queue of the account `owner`. An empty text means no policy.

    Errors: InvalidAttributeValue (the text is not in the policy language, or the policy allows another account an
    action of `OWNERS_ALONE`); OverLimit.
    """
    if not text:
        return
    try:
        policy = parse_policy(text, PolicyKind.RESOURCE)
    except PolicyError:
        raise _invalid_policy() from None
    if any(_gives_away(statement, owner) for statement in policy.statements):
        raise _invalid_policy()
    if quotas is Limits.STRICT:
        _check_size(text, policy)


def over_limit(message: str) -> ServiceError:
    """Build the error for a policy that exceeds a quota."""
    return ServiceError("OverLimit", message)


def _gives_away(statement: Statement, owner: str) -> bool:
    """Whether a statement names another account and allows it an action of `OWNERS_ALONE`."""
    if statement.effect is not Effect.ALLOW or statement.actions.negated or statement.principals is None:
        return False
    owned = {f"sqs:{action}".lower() for action in OWNERS_ALONE}
    accounts = {account_of(principal) or principal for principal in statement.principals.aws}
    return not accounts <= {owner, "*"} and any(action.lower() in owned for action in statement.actions.patterns)


def _check_size(text: str, policy: Policy) -> None:
    """Refuse a policy that exceeds a quota. Errors: OverLimit.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html
    """
    for statement in policy.statements:
        found = len(statement.actions.patterns)
        if found > limits.STATEMENT_ACTIONS_MAX:
            raise over_limit(
                f"{found} actions were found in a statement from the submitted policy, "
                f"max allowed is {limits.STATEMENT_ACTIONS_MAX}"
            )
    for counted, found, maximum in (
        ("bytes", len(text.encode()), limits.POLICY_BYTES_MAX),
        ("statements", len(policy.statements), limits.POLICY_STATEMENTS_MAX),
        ("principals", sum(map(_principals, policy.statements)), limits.POLICY_PRINCIPALS_MAX),
        ("conditions", sum(len(each.conditions) for each in policy.statements), limits.POLICY_CONDITIONS_MAX),
    ):
        if found > maximum:
            raise over_limit(f"{found} {counted} were found in the submitted policy, max allowed is {maximum}")


def _principals(statement: Statement) -> int:
    principals = statement.principals
    return 0 if principals is None else len(principals.aws) + len(principals.service) + len(principals.federated)


def _invalid_policy() -> ServiceError:
    return ServiceError("InvalidAttributeValue", "Invalid value for the parameter Policy.")
