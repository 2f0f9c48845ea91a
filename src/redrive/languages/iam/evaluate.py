"""Decides a request by policies: allowed, implicitly denied because nothing allows it, or denied by a statement.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
and docs/semantics/iam-policies.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import assert_never

from redrive.languages.iam.model import (
    Condition,
    Effect,
    Policy,
    PolicyKind,
    Principals,
    Quantifier,
    Selection,
    Statement,
)
from redrive.languages.iam.operators import NULL, OPERATORS
from redrive.languages.iam.request import AccessRequest, PrincipalInfo
from redrive.languages.iam.wildcards import Lookup, expand, glob, matches


class PolicySource(Enum):
    """The kind of policy that decided a request."""

    IDENTITY = "identity-based policy"
    RESOURCE = "resource-based policy"
    BOUNDARY = "permissions boundary"
    TRUST = "role trust policy"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The request is allowed, by this statement. The account's root user needs no statement."""

    statement: Statement | None


@dataclass(frozen=True, slots=True)
class ImplicitDeny:
    """No statement denies the request, but a policy that would have to allow it does not."""

    missing: PolicySource


@dataclass(frozen=True, slots=True)
class ExplicitDeny:
    """This statement denies the request, whatever other statements allow."""

    statement: Statement
    source: PolicySource


Decision = Allowed | ImplicitDeny | ExplicitDeny


class Reach(IntEnum):
    """How specifically a Principal element names the caller; the more specific, the fewer other policies must allow."""

    NOT = 0
    ACCOUNT = 1
    """The account: its identity policies decide."""
    NAMED = 2
    """Everyone, the role, or the service: sufficient alone, within a permissions boundary."""
    EXACT = 3
    """The user or the session: sufficient alone."""


def decide(
    request: AccessRequest,
    identity_policies: Sequence[Policy],
    resource_policy: Policy | None = None,
    boundary: Policy | None = None,
) -> Decision:
    """Decide a request as IAM does.

    A Deny anywhere takes precedence. Otherwise, within one account an Allow of the identity's or the resource's policy
    is sufficient, except that a trust policy must always allow; across accounts both must allow; an AWS service has
    only the resource's policy, and so has who has not signed.
    """
    question = _Question.of(request)
    trust_or_resource = PolicySource.TRUST if _is_trust(resource_policy) else PolicySource.RESOURCE
    around = [(PolicySource.IDENTITY, policy) for policy in identity_policies]
    around += [(trust_or_resource, resource_policy)] if resource_policy else []
    around += [(PolicySource.BOUNDARY, boundary)] if boundary else []
    for source, policy in around:
        for statement in question.covered(policy, Effect.DENY):
            return ExplicitDeny(statement, source)
    reach, granted = question.grant(resource_policy)
    has_no_policies = request.principal.has_no_policies
    needs_resource = request.is_cross_account or has_no_policies or _is_trust(resource_policy)
    if reach is Reach.NOT and needs_resource:
        return ImplicitDeny(trust_or_resource)
    if has_no_policies or (reach is Reach.EXACT and not request.is_cross_account):
        return Allowed(granted)
    if reach < Reach.NAMED or request.is_cross_account:
        granted = question.first_allow(identity_policies)
    if granted is None and not request.principal.is_root:
        return ImplicitDeny(PolicySource.IDENTITY)
    if boundary is not None and question.first_allow([boundary]) is None:
        return ImplicitDeny(PolicySource.BOUNDARY)
    return Allowed(granted)


def may_somewhere(action: str, identity_policies: Sequence[Policy], boundary: Policy | None = None) -> Decision:
    """Decide whether an action could be allowed on any resource, under any conditions.

    For calls whose resource is unknown. `s3:*` stands for one unknown action of S3. Only a Deny of every resource,
    without conditions, counts.
    """
    limits = [] if boundary is None else [boundary]
    for source, policies in ((PolicySource.IDENTITY, identity_policies), (PolicySource.BOUNDARY, limits)):
        for statement in (one for policy in policies for one in policy.statements):
            if statement.effect is Effect.DENY and _forbids_everywhere(statement, action):
                return ExplicitDeny(statement, source)
    granted = _allowing_somewhere(identity_policies, action)
    if granted is None:
        return ImplicitDeny(PolicySource.IDENTITY)
    if limits and _allowing_somewhere(limits, action) is None:
        return ImplicitDeny(PolicySource.BOUNDARY)
    return Allowed(granted)


def _forbids_everywhere(statement: Statement, action: str) -> bool:
    resources = statement.resources
    is_everywhere = resources is None or (not resources.negated and "*" in resources.patterns)
    # `s3:*` stands for one unknown action: only a pattern that covers all actions certainly covers it.
    return is_everywhere and not statement.conditions and _selects_action(statement.actions, action)


def _allowing_somewhere(policies: Sequence[Policy], action: str) -> Statement | None:
    for statement in (one for policy in policies for one in policy.statements):
        if statement.effect is Effect.ALLOW and _may_select_action(statement.actions, action):
            return statement
    return None


def _may_select_action(selection: Selection, action: str) -> bool:
    """Whether a statement covers an action, or for `s3:*` at least one action of the service."""
    prefix, _, name = action.lower().partition(":")
    if name != "*" or selection.negated:
        return _selects_action(selection, action)
    return any(matches(glob(pattern.lower().partition(":")[0]), prefix) for pattern in selection.patterns)


def _is_trust(policy: Policy | None) -> bool:
    return policy is not None and policy.kind is PolicyKind.TRUST


@dataclass(frozen=True, slots=True)
class _Question:
    """A request with its context keys, computed once."""

    request: AccessRequest
    keys: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, request: AccessRequest) -> _Question:
        return cls(request, request.keys())

    def covered(self, policy: Policy, effect: Effect) -> Iterator[Statement]:
        """The statements of a policy with this effect that cover the request, in order."""
        lookup = self._single_value if policy.has_variables else None
        for statement in policy.statements:
            if statement.effect is effect and self._covers(statement, lookup):
                yield statement

    def first_allow(self, policies: Iterable[Policy]) -> Statement | None:
        for policy in policies:
            for statement in self.covered(policy, Effect.ALLOW):
                return statement
        return None

    def grant(self, policy: Policy | None) -> tuple[Reach, Statement | None]:
        """The most specific Allow in a resource's policy for the request, and its statement."""
        best: tuple[Reach, Statement | None] = (Reach.NOT, None)
        for statement in self.covered(policy, Effect.ALLOW) if policy else ():
            reach = _reach(statement.principals, self.request.principal)
            if reach > best[0]:
                best = (reach, statement)
        return best

    def _covers(self, statement: Statement, lookup: Lookup | None) -> bool:
        principals = statement.principals
        return (
            (principals is None or _reach(principals, self.request.principal) is not Reach.NOT)
            and _selects_action(statement.actions, self.request.action)
            and _selects_resource(statement.resources, self.request.resource, lookup)
            and all(condition_holds(condition, self.keys, lookup) for condition in statement.conditions)
        )

    def _single_value(self, key: str) -> str | None:
        values = self.keys.get(key.lower(), ())
        return values[0] if len(values) == 1 else None


def _selects_action(selection: Selection, action: str) -> bool:
    """Action names are compared without letter case."""
    wanted = action.lower()
    return selection.negated != any(matches(glob(pattern.lower()), wanted) for pattern in selection.patterns)


def _selects_resource(selection: Selection | None, resource: str, lookup: Lookup | None) -> bool:
    """Resource names are case-sensitive; a pattern with a variable without value covers nothing."""
    if selection is None:
        return True
    expanded = [expand(pattern, lookup) for pattern in selection.patterns]
    if selection.negated and None in expanded:
        return False
    return selection.negated != any(pattern is not None and matches(pattern, resource) for pattern in expanded)


def _reach(principals: Principals | None, asking: PrincipalInfo) -> Reach:
    if principals is None:
        return Reach.EXACT
    reach = _reach_of_listed(principals, asking)
    if principals.negated:
        return Reach.NAMED if reach in (Reach.NOT, Reach.ACCOUNT) else Reach.NOT
    return reach


def _reach_of_listed(principals: Principals, asking: PrincipalInfo) -> Reach:
    if asking.service is not None:
        named = asking.service in principals.service or "*" in principals.aws
        return Reach.NAMED if named else Reach.NOT
    return max((_reach_of_arn(listed, asking) for listed in principals.aws), default=Reach.NOT)


def _reach_of_arn(listed: str, asking: PrincipalInfo) -> Reach:
    if listed == asking.arn:
        return Reach.EXACT
    if listed in ("*", asking.role_arn):
        return Reach.NAMED
    is_account = listed == asking.account or (listed.endswith(":root") and listed.split(":")[4] == asking.account)
    return Reach.ACCOUNT if is_account else Reach.NOT


def condition_holds(condition: Condition, keys: Mapping[str, tuple[str, ...]], lookup: Lookup | None) -> bool:
    """Whether one condition holds. `keys` are the request's, in lower case.

    A missing key fails a condition, but satisfies a negated condition, one with IfExists and one with ForAllValues.
    """
    actual = keys.get(condition.key.lower(), ())
    if condition.operator == NULL:
        return any((wanted.lower() == "true") == (not actual) for wanted in condition.values)
    operator = OPERATORS[condition.operator]

    def holds(value: str) -> bool:
        return operator.negated != any(operator.holds(value, wanted, lookup) for wanted in condition.values)

    if not actual and condition.if_exists:
        return True
    match condition.quantifier:
        case Quantifier.FOR_ALL_VALUES:
            return all(map(holds, actual))
        case Quantifier.FOR_ANY_VALUE:
            return any(map(holds, actual))
        case Quantifier.SINGLE:
            return all(map(holds, actual)) if operator.negated else any(map(holds, actual))
    assert_never(condition.quantifier)
