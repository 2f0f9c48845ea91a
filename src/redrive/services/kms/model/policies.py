"""The policies of keys: what one must be like to be taken.

Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_PutKeyPolicy.html
"""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.languages.iam import (
    AccessRequest,
    Allowed,
    PolicyError,
    PolicyKind,
    PrincipalInfo,
    decide,
    parse_policy,
)
from redrive.services.kms import limits

POLICY_NAME = "default"
"""The only name that the policy of a key can have."""


def check_policy(document: str, caller: Caller, *, bypass: bool) -> None:
    """Refuse a policy that is none, or after which nobody in the account could change the policy.

    Errors: MalformedPolicyDocumentException; LimitExceededException.
    """
    if len(document.encode()) > limits.POLICY_BYTES_MAX:
        raise ServiceError("LimitExceededException", "The key policy is too large.")
    try:
        policy = parse_policy(document, PolicyKind.RESOURCE)
    except PolicyError as error:
        raise ServiceError("MalformedPolicyDocumentException", str(error)) from error
    if bypass or caller.service:
        return
    principals = [PrincipalInfo.root(caller.account)]
    if caller.role_arn is not None:
        principals.append(PrincipalInfo.session(caller.role_arn, caller.session_name))
    if caller.user_arn is not None:
        principals.append(PrincipalInfo.user(caller.user_arn))
    for principal in principals:
        # The resource `*` means the key itself in a key's policy; every other pattern means it hardly ever.
        key = f"arn:aws:kms:{caller.region}:{caller.account}:key/this"
        decision = decide(AccessRequest("kms:PutKeyPolicy", key, principal), (), policy)
        if isinstance(decision, Allowed) and decision.statement is not None:
            return
    raise ServiceError(
        "MalformedPolicyDocumentException",
        "The new key policy will not allow you to update the key policy in the future.",
    )
