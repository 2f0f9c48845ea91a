"""Authorization: decides for every call whether its caller may make it.

This module only reads. A role and its inline policies are one resource, each managed policy is another, and both are
cached: with a warm cache a decision needs no SQL statement. The module must not know the services that call it.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping

from redrive.core.arn import Arn
from redrive.core.clock import Instant, format_instant
from redrive.core.errors import ServiceError
from redrive.core.scope import ANONYMOUS, Caller, Scope
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
    account_of,
    actions_of,
    decide,
    denial_message,
    denied_code,
    may_somewhere,
    prefix_of,
)
from redrive.services.iam import limits
from redrive.services.iam.model.documents import parsed
from redrive.services.iam.model.group import Group
from redrive.services.iam.model.role import ManagedPolicy, Role, aws_policy, home
from redrive.services.iam.model.user import KEYS, AccessKey, User
from redrive.store.api import NO_CONTEXT, Transaction

ASSUME_ROLE = "sts:AssumeRole"

Holder = Role | User
"""An entity that has policies."""

_NOTHING = Policy(PolicyKind.IDENTITY, ())


def assume_role(
    tx: Transaction, role_arn: str, *, service: str, session_name: str, region: str, request_id: str,
    source_arn: str | None = None,
) -> Caller:  # fmt: skip
    """Return the caller that an AWS service becomes when it assumes a role.

    The role's trust policy must name the service.

    Errors: AccessDeniedException (no such role, or it does not trust the service in this context).
    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html
    """
    role = find_role(tx, role_arn)
    is_trusted = role is not None and _always_trusts(role.trust, role_arn, service)
    if role is not None and not is_trusted:
        context = moment(tx.now, region) | ({} if source_arn is None else _source(source_arn, role.account))
        request = AccessRequest(ASSUME_ROLE, role_arn, PrincipalInfo.aws_service(service), context)
        is_trusted = isinstance(decide(request, (), parsed(role.trust, PolicyKind.TRUST)), Allowed)
    if role is None or not is_trusted:
        raise ServiceError(
            "AccessDeniedException",
            f"User: {service} is not authorized to perform: {ASSUME_ROLE} on resource: {role_arn}",
        )
    return Caller(Scope(role.account, region), request_id, role_arn, session_name, invoked_by=service)


def user_of(tx: Transaction, caller: Caller, access_key_id: str, service: str) -> Caller:
    """Return the caller as the user with this access key, who calls the service with this signing name.

    The use of the key is recorded, but not at every call, because that would make every call a write.
    Errors: UnrecognizedClientException (the key is deleted or inactive).
    """
    key = tx.resources.get(AccessKey, KEYS, access_key_id)
    if key is None or not key.is_active:
        raise ServiceError("UnrecognizedClientException", "The security token included in the request is invalid.")
    if key.used_at is None or tx.now - key.used_at >= limits.KEY_USE_GRAIN_MS:
        tx.resources.put(KEYS, key.used(tx.now, service, caller.region))
    user = tx.resources.get(User, home(key.account), key.user_name.lower())
    assert user is not None, "a user is deleted after their keys"
    return dataclasses.replace(caller, scope=Scope(key.account, caller.region), user_arn=user.arn)


def authorize(
    tx: Transaction, caller: Caller, action: str, resource: str, *, context: Context = NO_CONTEXT, policy: str = "",
    resource_account: str | None = None, more: Callable[[], Context] | None = None,
) -> None:  # fmt: skip
    """Refuse a call that the caller's policies, the resource's `policy` or a boundary denies, or that none allows.

    The account itself needs no policy in its own account, but a Deny applies to it, too. A deleted role or user may do
    nothing. An AWS service, and a caller without an identity, may do what the resource's policy allows to them.
    `context` holds condition keys from the calling service; `resource_account` owns a resource whose ARN does not say
    it; `more` has further condition keys, and is called only where a policy has conditions.
    Errors: AccessDeniedException, with AWS's message.
    """
    owner = account_of(resource) if resource_account is None else resource_account
    if caller.is_account and not policy and owner in ("", caller.scope.account):
        if caller.is_anonymous:
            raise _refusal(caller, action, resource, ImplicitDeny(PolicySource.RESOURCE))
        return
    if caller.service:
        if not _always_serves(policy, caller.service, action, resource):
            _authorize_service(tx, caller, action, resource, _with(context, more), policy)
        return
    holder = _holder(tx, caller)
    if holder is None and not caller.is_account:
        raise _refusal(caller, action, resource, ImplicitDeny(PolicySource.IDENTITY))
    documents = () if holder is None else tuple(documents_of(tx, holder).values())
    is_bounded = holder is not None and holder.boundary is not None
    holder_arn = caller.role_arn or caller.user_arn
    if not is_bounded and _always_allows(documents, policy, caller.account, holder_arn, action, resource, owner):
        return
    came: Context = {"aws:SourceIp": (caller.source_ip,)}
    keys = {**moment(tx.now, caller.region), **came, **_keys_of(holder, caller.session_name), **_with(context, more)}
    request = AccessRequest(action, resource, _principal(caller.account, holder_arn, caller.session_name), keys, owner)
    boundary = None if holder is None else boundary_of(tx, holder)
    decision = decide(request, [parsed(document) for document in documents], _resource_policy(policy), boundary)
    if not isinstance(decision, Allowed):
        raise _refusal(caller, action, resource, decision)


def authorize_unserved(
    tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
) -> None:
    """Refuse an operation of an unsupported service, unless the caller may call it on some resource.

    Only the service itself knows which resource a call means. If the parameters contain exactly one ARN of the service,
    the refusal names that ARN. Errors: AccessDeniedException, or the service's own error code for it.
    """
    if caller.is_account or caller.service:
        return
    holder = _holder(tx, caller)
    documents = () if holder is None else tuple(documents_of(tx, holder).values())
    policies = [parsed(document) for document in documents]
    boundary = None if holder is None else boundary_of(tx, holder)
    decisions = [may_somewhere(action, policies, boundary) for action in actions_of(service, operation)]
    denials = [decision for decision in decisions if not isinstance(decision, Allowed)]
    if len(denials) < len(decisions):
        return
    prefix = prefix_of(service)
    arns = {value for value in params.values() if isinstance(value, str) and value.startswith(f"arn:aws:{prefix}:")}
    resource = arns.pop() if len(arns) == 1 else "*"
    message = denial_message(caller.principal_arn, f"{prefix}:{operation}", resource, denials[0])
    code = denied_code(service)
    # For the usual code, the wire knows the HTTP status of each protocol.
    raise ServiceError(code, message, http_status=None if code == "AccessDeniedException" else 403)


def _authorize_service(
    tx: Transaction, caller: Caller, action: str, resource: str, context: Context, policy: str
) -> None:  # fmt: skip
    """Refuse what the resource's policy does not allow to an AWS service. Errors: AccessDeniedException."""
    source = _source(caller.source_arn, caller.account) if caller.source_arn else NO_CONTEXT
    keys = {**moment(tx.now, caller.region), **source, **context}
    request = AccessRequest(action, resource, PrincipalInfo.aws_service(caller.service), keys)
    decision = decide(request, (), _resource_policy(policy))
    if not isinstance(decision, Allowed):
        raise _refusal(caller, action, resource, decision)


def _with(context: Context, more: Callable[[], Context] | None) -> Context:
    return context if more is None else {**context, **more()}


def holder_id(tx: Transaction, caller: Caller) -> str:
    """Return the unique id of the caller's role or user; empty for the account itself, and for who is deleted."""
    holder = _holder(tx, caller)
    return "" if holder is None else holder.id


def _holder(tx: Transaction, caller: Caller) -> Holder | None:
    """Return the role or user whose policies decide; None for the account itself, and for a deleted role or user."""
    if caller.role_arn is not None:
        return find_role(tx, caller.role_arn)
    return None if caller.user_arn is None else find_user(tx, caller.user_arn)


def _principal(account: str, holder_arn: str | None, session_name: str) -> PrincipalInfo:
    if holder_arn is None:
        return PrincipalInfo.anonymous() if account == ANONYMOUS else PrincipalInfo.root(account)
    is_user = holder_arn.split(":", 5)[5].startswith("user/")
    return PrincipalInfo.user(holder_arn) if is_user else PrincipalInfo.session(holder_arn, session_name)


def _keys_of(holder: Holder | None, session_name: str) -> Context:
    """Return the condition keys that follow from a stored role or user."""
    if holder is None:
        return NO_CONTEXT
    tags = {f"aws:PrincipalTag/{key}": (value,) for key, value in holder.tags.items()}
    return {**tags, "aws:userid": (holder.id if isinstance(holder, User) else f"{holder.id}:{session_name}",)}


def _resource_policy(document: str) -> Policy | None:
    return parsed(document, PolicyKind.RESOURCE) if document else None


def _refusal(caller: Caller, action: str, resource: str, decision: ImplicitDeny | ExplicitDeny) -> ServiceError:
    return ServiceError("AccessDeniedException", denial_message(caller.principal_arn, action, resource, decision))


@functools.lru_cache(maxsize=limits.DECISIONS_KEPT_MAX)
def _always_trusts(trust: str, role_arn: str, service: str) -> bool:
    """Whether a service may assume a role in every context; False also if the context decides."""
    policy = parsed(trust, PolicyKind.TRUST)
    request = AccessRequest(ASSUME_ROLE, role_arn, PrincipalInfo.aws_service(service))
    return _ignores_context(policy) and isinstance(decide(request, (), policy), Allowed)


@functools.lru_cache(maxsize=limits.DECISIONS_KEPT_MAX)
def _always_allows(
    documents: tuple[str, ...], policy: str, account: str, holder_arn: str | None, action: str, resource: str,
    owner: str,
) -> bool:  # fmt: skip
    """Whether policies allow an action in every context; False also if the context or the session decides."""
    policies = [parsed(document) for document in documents]
    around = _resource_policy(policy)
    request = AccessRequest(action, resource, _principal(account, holder_arn, "any"), resource_account=owner)
    all_policies = policies if around is None else [*policies, around]
    return all(map(_ignores_context, all_policies)) and isinstance(decide(request, policies, around), Allowed)


@functools.lru_cache(maxsize=limits.DECISIONS_KEPT_MAX)
def _always_serves(policy: str, service: str, action: str, resource: str) -> bool:
    """Whether a resource's policy allows an action to a service in every context; False also if the context decides."""
    around = _resource_policy(policy)
    request = AccessRequest(action, resource, PrincipalInfo.aws_service(service))
    return around is not None and _ignores_context(around) and isinstance(decide(request, (), around), Allowed)


def _ignores_context(policy: Policy) -> bool:
    """Whether a policy has no conditions, variables or named sessions: its decisions are the same in every context."""
    return not any(
        statement.conditions
        or any("${" in pattern for pattern in (statement.resources.patterns if statement.resources else ()))
        or any(":assumed-role/" in arn for arn in (statement.principals.aws if statement.principals else ()))
        for statement in policy.statements
    )


def find_role(tx: Transaction, arn: str) -> Role | None:
    """Return the role with this ARN; the path must match."""
    place = _place_of_role(arn)
    role = None if place is None else tx.resources.get(Role, *place)
    return role if role is not None and role.arn == arn else None


def find_user(tx: Transaction, arn: str) -> User | None:
    """Return the user with this ARN; the path must match."""
    parts = arn.split(":", 5)
    if len(parts) != 6 or not parts[5].startswith("user/"):
        return None
    user = tx.resources.get(User, home(parts[4]), parts[5].rsplit("/", 1)[-1].lower())
    return user if user is not None and user.arn == arn else None


@functools.lru_cache(maxsize=limits.DECISIONS_KEPT_MAX)
def _place_of_role(arn: str) -> tuple[Scope, str] | None:
    """Return the scope and name under which the role with this ARN is stored; None if the ARN is not a role's."""
    parts = arn.split(":", 5)
    if len(parts) != 6 or not parts[5].startswith("role/"):
        return None
    return home(parts[4]), parts[5].rsplit("/", 1)[-1].lower()


def find_policy(tx: Transaction, arn: str) -> ManagedPolicy | None:
    """Return the managed policy with this ARN, AWS's own or a customer's; the path must match."""
    known = aws_policy(arn)
    if known is not None:
        return known
    parts = arn.split(":", 5)
    if len(parts) != 6 or not parts[5].startswith("policy/"):
        return None
    policy = tx.resources.get(ManagedPolicy, home(parts[4]), parts[5].rsplit("/", 1)[-1].lower())
    return policy if policy is not None and policy.arn == arn else None


def documents_of(tx: Transaction, holder: Holder) -> Mapping[str, str]:
    """The policy documents that say what a role or user may do: the inline ones by name, the managed ones by ARN.

    Those of a user's groups are among them, the inline ones after the group's ARN.
    """
    documents = {**holder.inline, **_managed(tx, holder.attached)}
    for name in holder.groups if isinstance(holder, User) else ():
        group = tx.resources.get(Group, home(holder.account), name)
        if group is not None:
            documents |= {f"{group.arn}/{policy}": document for policy, document in group.inline.items()}
            documents |= _managed(tx, group.attached)
    return documents


def _managed(tx: Transaction, arns: Iterable[str]) -> dict[str, str]:
    policies = [policy for arn in arns if (policy := find_policy(tx, arn)) is not None]
    return {policy.arn: policy.document for policy in policies}


def boundary_of(tx: Transaction, holder: Holder) -> Policy | None:
    """Return the permissions boundary of a role or user, or None. A deleted boundary allows nothing."""
    if holder.boundary is None:
        return None
    policy = find_policy(tx, holder.boundary)
    return _NOTHING if policy is None else parsed(policy.document)


def moment(now: Instant, region: str) -> dict[str, tuple[str, ...]]:
    """Return the condition keys that every request has.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
    """
    return {
        "aws:CurrentTime": (format_instant(now),),
        "aws:EpochTime": (str(now // 1000),),
        "aws:RequestedRegion": (region,),
        "aws:SecureTransport": ("true",),
    }


def _source(arn: str, account: str) -> dict[str, tuple[str, ...]]:
    """Return the condition keys that name the resource for which a service acts in an account.

    The ARN of a bucket names no account.
    """
    return {"aws:SourceArn": (arn,), "aws:SourceAccount": (Arn.parse(arn).account or account,)}
