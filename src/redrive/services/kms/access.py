"""Who may use a key: its policy decides first, and other policies count only as far as the key's policy lets them.

Source: https://docs.aws.amazon.com/kms/latest/developerguide/policy-evaluation.html
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.languages.iam import (
    AccessRequest,
    Allowed,
    Context,
    ExplicitDeny,
    ImplicitDeny,
    Policy,
    PolicyKind,
    PolicySource,
    PrincipalInfo,
    decide,
    denial_message,
    parse_policy,
    resource_tags,
)
from redrive.services.kms.lookup import Found
from redrive.services.kms.model.grant import Grant
from redrive.store.api import Transaction

POLICIES_KEPT = 256
NO_PAIRS: Mapping[str, str] = {}
_SERVICE_SUFFIX = ".amazonaws.com"


def authorize_account(tx: Transaction, caller: Caller, operation: str) -> None:
    """Refuse a call that is about no key. Errors: AccessDeniedException."""
    tx.services.authorize(tx, caller, f"kms:{operation}", "*")


def authorize_key(
    tx: Transaction, caller: Caller, operation: str, found: Found, *, pairs: Mapping[str, str] = NO_PAIRS,
    more: Context | None = None,
) -> None:  # fmt: skip
    """Refuse a call that neither the key's policy nor a grant allows. `pairs` is the encryption context.

    Errors: AccessDeniedException.
    """
    action = f"kms:{operation}"
    context = {**_context(caller, found, pairs), **(more or {})}
    try:
        tx.services.authorize(tx, caller, action, found.arn, context=context, policy=found.key.policy)
        _check_policy(caller, action, found, context)
    except ServiceError as error:
        is_denied = "with an explicit deny" in error.message
        if is_denied or not any(grant.allows(caller, operation, pairs) for grant in grants_of(tx, found)):
            raise


def grants_of(tx: Transaction, found: Found) -> list[Grant]:
    """Return the grants of a key."""
    return tx.resources.list(Grant, found.scope, prefix=f"{found.key.id}/")


def _check_policy(caller: Caller, action: str, found: Found, context: Context) -> None:
    """Refuse what the key's own policy neither allows nor leaves to the account's policies.

    Errors: AccessDeniedException.
    """
    if caller.service or caller.account != found.scope.account:
        return  # For these the policy of the resource has been asked already: nothing goes without its Allow.
    policy = _parsed(found.key.policy)
    asking = _principal(caller)
    moment: Context = {"aws:RequestedRegion": (caller.region,), "aws:SecureTransport": ("true",)}
    keys = {**asking.context(), **moment, **context}
    for principal in (asking, PrincipalInfo.root(caller.account)):
        decision = decide(AccessRequest(action, found.arn, principal, keys), (), policy)
        if isinstance(decision, Allowed) and decision.statement is not None:
            return
        if isinstance(decision, ExplicitDeny):
            break
    refusal = ImplicitDeny(PolicySource.RESOURCE)
    raise ServiceError("AccessDeniedException", denial_message(caller.principal_arn, action, found.arn, refusal))


def _context(caller: Caller, found: Found, pairs: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return KMS's condition keys for a call.

    Source: https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html
    """
    keys: dict[str, tuple[str, ...]] = {
        "kms:CallerAccount": (caller.account,),
        "kms:KeySpec": (found.key.spec_name,),
        "kms:KeyUsage": (found.key.usage,),
        "kms:KeyOrigin": ("AWS_KMS",),
        "kms:MultiRegion": (str(found.key.is_multi_region).lower(),),
        **resource_tags(found.key.tags),
        **{f"kms:EncryptionContext:{key}": (value,) for key, value in pairs.items()},
    }
    if pairs:
        keys["kms:EncryptionContextKeys"] = tuple(sorted(pairs))
    if caller.invoked_by:
        service = caller.invoked_by.removesuffix(_SERVICE_SUFFIX)
        keys["kms:ViaService"] = (f"{service}.{caller.region}{_SERVICE_SUFFIX}",)
    return keys


def _principal(caller: Caller) -> PrincipalInfo:
    if caller.role_arn is not None:
        return PrincipalInfo.session(caller.role_arn, caller.session_name)
    if caller.user_arn is not None:
        return PrincipalInfo.user(caller.user_arn)
    return PrincipalInfo.root(caller.account)


@functools.lru_cache(POLICIES_KEPT)
def _parsed(document: str) -> Policy:
    return parse_policy(document, PolicyKind.RESOURCE)
