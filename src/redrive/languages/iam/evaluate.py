"""Decide a request against policies: allowed, denied because nothing allows it, or denied by a statement.

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
    """Which of the policies around a request settled it."""

    IDENTITY = "identity-based policy"
    RESOURCE = "resource-based policy"
    BOUNDARY = "permissions boundary"
    TRUST = "role trust policy"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The request may go ahead, by this statement. The account's root user needs none."""

    statement: Statement | None


@dataclass(frozen=True, slots=True)
class ImplicitDeny:
    """Nothing forbids the request, but a policy that had to allow it does not."""

    missing: PolicySource


@dataclass(frozen=True, slots=True)
class ExplicitDeny:
    """This statement forbids the request, whatever the others allow."""

    statement: Statement
    source: PolicySource


Decision = Allowed | ImplicitDeny | ExplicitDeny


class Reach(IntEnum):
    """How closely a Principal element names the one who asks; the closer, the less else is needed."""

    NOT = 0
    ACCOUNT = 1
    """The account: it hands the question on to the account's identity policies."""
    NAMED = 2
    """Everyone, the role, or the service: enough by itself, within a permissions boundary."""
    EXACT = 3
    """The user or the session: enough by itself."""


def decide(
    request: AccessRequest,
    identity_policies: Sequence[Policy],
    resource_policy: Policy | None = None,
    boundary: Policy | None = None,
) -> Decision:
    """Decide a request the way IAM does.

    A Deny anywhere wins. Otherwise, in the resource's own account an Allow of either side is enough, except
    that a trust policy must always allow; from another account both sides must allow; an AWS service has only
    the resource's side.
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
    needs_resource = request.is_cross_account or request.principal.service is not None or _is_trust(resource_policy)
    if reach is Reach.NOT and needs_resource:
        return ImplicitDeny(trust_or_resource)
    if request.principal.service is not None or (reach is Reach.EXACT and not request.is_cross_account):
        return Allowed(granted)
    if reach < Reach.NAMED or request.is_cross_account:
        granted = question.first_allow(identity_policies)
    if granted is None and not request.principal.is_root:
        return ImplicitDeny(PolicySource.IDENTITY)
    if boundary is not None and question.first_allow([boundary]) is None:
        return ImplicitDeny(PolicySource.BOUNDARY)
    return Allowed(granted)


def may_somewhere(action: str, identity_policies: Sequence[Policy], boundary: Policy | None = None) -> Decision:
    """Decide whether an action could be allowed on any resource, under any conditions. An action of `s3:*` is any one.

    For calls of which nothing tells the resource. Only a Deny of every resource, without conditions, counts.
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
    # `s3:*` is one action that is not known: only a pattern that covers all of them covers that one.
    return is_everywhere and not statement.conditions and _selects_action(statement.actions, action)


def _allowing_somewhere(policies: Sequence[Policy], action: str) -> Statement | None:
    for statement in (one for policy in policies for one in policy.statements):
        if statement.effect is Effect.ALLOW and _may_select_action(statement.actions, action):
            return statement
    return None


def _may_select_action(selection: Selection, action: str) -> bool:
    """Whether a statement is about an action, or for `s3:*` about at least one of the service."""
    prefix, _, name = action.lower().partition(":")
    if name != "*" or selection.negated:
        return _selects_action(selection, action)
    return any(matches(glob(pattern.lower().partition(":")[0]), prefix) for pattern in selection.patterns)


def _is_trust(policy: Policy | None) -> bool:
    return policy is not None and policy.kind is PolicyKind.TRUST


@dataclass(frozen=True, slots=True)
class _Question:
    """A request with its context keys worked out once."""

    request: AccessRequest
    keys: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, request: AccessRequest) -> _Question:
        return cls(request, request.keys())

    def covered(self, policy: Policy, effect: Effect) -> Iterator[Statement]:
        """The statements of a policy that have this effect on the request, in order."""
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
        """The closest that a resource's policy comes to allowing the request, and by which statement."""
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
    """Resources are compared letter by letter; a pattern with a variable that has no value covers nothing."""
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
    """Does one condition hold? `keys` are the request's, in lower case.

    A key that is not there fails a condition, satisfies a negated one, one with IfExists and one
    ForAllValues.
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
