"""May this caller do that? What the engine asks of IAM for every call by a role.

It only reads: roles with their inline policies come from one resource, managed policies from one each, both cached, so
that a decision costs no statement once they were read. It must not know the services that ask.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from redrive.core.arn import Arn
from redrive.core.clock import Instant, format_instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.languages.iam import (
    AccessRequest,
    Allowed,
    Policy,
    PolicyKind,
    PrincipalInfo,
    decide,
    denial_message,
)
from redrive.services.iam import limits
from redrive.services.iam.model import ManagedPolicy, Role, aws_policies, home
from redrive.services.iam.model_documents import parsed
from redrive.store.api import Transaction

ASSUME_ROLE = "sts:AssumeRole"

_NOTHING = Policy(PolicyKind.IDENTITY, ())


def assume_role(
    tx: Transaction, role_arn: str, *, service: str, session_name: str, region: str, request_id: str,
    source_arn: str | None = None,
) -> Caller:  # fmt: skip
    """The caller that an AWS service becomes by assuming a role, if the role's trust policy names the service.

    Errors: AccessDeniedException (no such role, or it does not trust the service in this context).
    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html
    """
    role = find_role(tx, role_arn)
    is_trusted = role is not None and _always_trusts(role.trust, role_arn, service)
    if role is not None and not is_trusted:
        context = moment(tx.now, region) | ({} if source_arn is None else _source(source_arn))
        request = AccessRequest(ASSUME_ROLE, role_arn, PrincipalInfo.aws_service(service), context)
        is_trusted = isinstance(decide(request, (), parsed(role.trust, PolicyKind.TRUST)), Allowed)
    if role is None or not is_trusted:
        raise ServiceError(
            "AccessDeniedException",
            f"User: {service} is not authorized to perform: {ASSUME_ROLE} on resource: {role_arn}",
        )
    return Caller(Scope(role.account, region), request_id, role_arn, session_name)


def authorize(tx: Transaction, caller: Caller, action: str, resource: str) -> None:
    """Refuse what the caller's role does not allow by its inline and managed policies within its boundary.

    A role that is gone allows nothing. Errors: AccessDeniedException, in AWS's sentence.
    """
    if caller.role_arn is None:
        return
    role = find_role(tx, caller.role_arn)
    if role is not None and role.boundary is None:
        documents = tuple(documents_of(tx, role).values())
        if _always_allows(documents, caller.role_arn, action, resource):
            return
    context = moment(tx.now, caller.region)
    if role is not None:
        context |= {f"aws:PrincipalTag/{key}": (value,) for key, value in role.tags.items()}
        context["aws:userid"] = (f"{role.id}:{caller.session_name}",)
    principal = PrincipalInfo.session(caller.role_arn, caller.session_name)
    request = AccessRequest(action, resource, principal, context)
    policies = [] if role is None else [parsed(document) for document in documents_of(tx, role).values()]
    boundary = None if role is None else boundary_of(tx, role)
    decision = decide(request, policies, None, boundary)
    if not isinstance(decision, Allowed):
        raise ServiceError("AccessDeniedException", denial_message(principal.arn, action, resource, decision))


@functools.lru_cache(maxsize=limits.DECISIONS_KEPT_MAX)
def _always_trusts(trust: str, role_arn: str, service: str) -> bool:
    """Whether a service may assume a role whenever it asks; False also if that depends on the context."""
    policy = parsed(trust, PolicyKind.TRUST)
    request = AccessRequest(ASSUME_ROLE, role_arn, PrincipalInfo.aws_service(service))
    return _ignores_context(policy) and isinstance(decide(request, (), policy), Allowed)


@functools.lru_cache(maxsize=limits.DECISIONS_KEPT_MAX)
def _always_allows(documents: tuple[str, ...], role_arn: str, action: str, resource: str) -> bool:
    """Whether policies allow a role something whenever it asks; False also if that depends on the context."""
    policies = [parsed(document) for document in documents]
    request = AccessRequest(action, resource, PrincipalInfo.session(role_arn, "any"))
    return all(map(_ignores_context, policies)) and isinstance(decide(request, policies), Allowed)


def _ignores_context(policy: Policy) -> bool:
    """Whether a policy has neither conditions nor variables, so that a decision by it holds at any time."""
    resources = [statement.resources.patterns for statement in policy.statements if statement.resources is not None]
    has_variables = any("${" in pattern for patterns in resources for pattern in patterns)
    return not has_variables and not any(statement.conditions for statement in policy.statements)


def find_role(tx: Transaction, arn: str) -> Role | None:
    """The role with this ARN; its path counts."""
    place = _place_of_role(arn)
    role = None if place is None else tx.resources.get(Role, *place)
    return role if role is not None and role.arn == arn else None


@functools.lru_cache(maxsize=limits.DECISIONS_KEPT_MAX)
def _place_of_role(arn: str) -> tuple[Scope, str] | None:
    """Where the role with this ARN is stored, and under which name; None for an ARN of no role."""
    parts = arn.split(":", 5)
    if len(parts) != 6 or not parts[5].startswith("role/"):
        return None
    return home(parts[4]), parts[5].rsplit("/", 1)[-1].lower()


def find_policy(tx: Transaction, arn: str) -> ManagedPolicy | None:
    """The managed policy with this ARN, AWS's own or a customer's; its path counts."""
    known = aws_policies().get(arn)
    if known is not None:
        return known
    parts = arn.split(":", 5)
    if len(parts) != 6 or not parts[5].startswith("policy/"):
        return None
    policy = tx.resources.get(ManagedPolicy, home(parts[4]), parts[5].rsplit("/", 1)[-1].lower())
    return policy if policy is not None and policy.arn == arn else None


def documents_of(tx: Transaction, role: Role) -> Mapping[str, str]:
    """The policy documents that say what a role may do: its inline ones by name, its managed ones by ARN."""
    managed = [policy for arn in role.attached if (policy := find_policy(tx, arn)) is not None]
    return {**role.inline, **{policy.arn: policy.document for policy in managed}}


def boundary_of(tx: Transaction, role: Role) -> Policy | None:
    """The policy that bounds a role, or None if nothing does. A boundary that is gone allows nothing."""
    if role.boundary is None:
        return None
    policy = find_policy(tx, role.boundary)
    return _NOTHING if policy is None else parsed(policy.document)


def moment(now: Instant, region: str) -> dict[str, tuple[str, ...]]:
    """The condition keys that every request has, whoever makes it.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
    """
    return {
        "aws:CurrentTime": (format_instant(now),),
        "aws:EpochTime": (str(now // 1000),),
        "aws:RequestedRegion": (region,),
        "aws:SecureTransport": ("true",),
    }


def _source(arn: str) -> dict[str, tuple[str, ...]]:
    """On whose behalf a service acts, as condition keys."""
    return {"aws:SourceArn": (arn,), "aws:SourceAccount": (Arn.parse(arn).account,)}
