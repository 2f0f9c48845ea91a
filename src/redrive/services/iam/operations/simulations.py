"""The policy simulator: makes the same decision as for a real call, without the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import (
    AccessRequest,
    Allowed,
    Decision,
    ExplicitDeny,
    Policy,
    PolicyError,
    PolicyKind,
    PrincipalInfo,
    Statement,
    decide,
)
from redrive.services.iam import access
from redrive.services.iam.access import Holder
from redrive.services.iam.model.documents import parsed
from redrive.services.iam.model.requests import invalid_input, no_such_entity, page
from redrive.store.api import Transaction

CONTEXT_VALUES = "ContextKeyValues"


@dataclass(frozen=True, slots=True)
class _Simulation:
    """The policies of a simulation, by the names that answers use for them, and the context of the request."""

    policies: Mapping[str, Policy]
    resource_policy: Policy | None
    boundary: Policy | None
    principal: PrincipalInfo
    context: Mapping[str, tuple[str, ...]]
    resource_owner: str | None

    def result(self, action: str, resource: str) -> Document:
        """Return one entry of the answer."""
        request = AccessRequest(action, resource, self.principal, self.context, self.resource_owner)
        decision = decide(request, tuple(self.policies.values()), self.resource_policy, self.boundary)
        answer: Document = {
            "EvalActionName": action,
            "EvalResourceName": resource,
            "EvalDecision": _spelled(decision),
            "MatchedStatements": [{"SourcePolicyId": name} for name in self._sources(decision)],
            "MissingContextValues": self._missing(request),
        }
        if self.boundary is not None:
            within = isinstance(decide(request, (self.boundary,)), Allowed)
            answer["PermissionsBoundaryDecisionDetail"] = {"AllowedByPermissionsBoundary": within}
        return answer

    def _sources(self, decision: Decision) -> Iterator[str]:
        """Yield the name of the policy whose statement decided the request."""
        match decision:
            case Allowed(Statement() as statement) | ExplicitDeny(statement, _):
                for name, policy in self._named():
                    if any(each is statement for each in policy.statements):
                        yield name
                        return
            case _:
                return

    def _missing(self, request: AccessRequest) -> list[str]:
        """Return the condition keys that the policies use and that have no value."""
        known = request.keys()
        asked = {
            condition.key: None
            for _, policy in self._named()
            for statement in policy.statements
            for condition in statement.conditions
        }
        return [key for key in asked if key.lower() not in known]

    def _named(self) -> Iterator[tuple[str, Policy]]:
        yield from self.policies.items()
        if self.resource_policy is not None:
            yield "ResourcePolicy", self.resource_policy
        if self.boundary is not None:
            yield "PermissionsBoundary", self.boundary


@operation("SimulatePrincipalPolicy")
def simulate_principal_policy(
    tx: Transaction,
    caller: Caller,
    *,
    policy_source_arn: str,
    action_names: Sequence[str],
    policy_input_list: Sequence[str] | None = None,
    permissions_boundary_policy_input_list: Sequence[str] | None = None,
    policy_exclusion_list: Sequence[Document] | None = None,
    resource_arns: Sequence[str] | None = None,
    resource_policy: str | None = None,
    resource_owner: str | None = None,
    caller_arn: str | None = None,
    context_entries: Sequence[Document] | None = None,
    resource_handling_option: str | None = None,
    max_items: int | None = None,
    marker: str | None = None,
) -> Document:
    """Decide each action on each resource by the policies of a role or user, without making a call.

    Errors: NoSuchEntityException (no such role or user); InvalidInputException (invalid policies); NotImplemented
    (excluded policies, EC2 scenarios); ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
    """
    tx.services.authorize(tx, caller, "iam:SimulatePrincipalPolicy", policy_source_arn)
    for member, given in (
        ("PolicyExclusionList", policy_exclusion_list), ("ResourceHandlingOption", resource_handling_option),
    ):  # fmt: skip
        if given:
            message = f"redrive does not implement {member} of SimulatePrincipalPolicy: leave it out."
            raise ServiceError("NotImplemented", message, http_status=501)
    holder = access.find_role(tx, policy_source_arn) or access.find_user(tx, policy_source_arn)
    if holder is None or holder.account != caller.account:
        raise no_such_entity(f"The entity {policy_source_arn} cannot be found.")
    simulation = _Simulation(
        policies=_policies(tx, holder, policy_input_list or ()),
        resource_policy=None if resource_policy is None else _read(resource_policy, PolicyKind.RESOURCE),
        boundary=_boundary(tx, holder, permissions_boundary_policy_input_list or ()),
        principal=_principal(caller_arn or holder.arn),
        context=dict(_context_entry(entry) for entry in context_entries or ()),
        resource_owner=resource_owner,
    )
    asked = [(action, resource) for action in action_names for resource in resource_arns or ("*",)]
    places, more = page(range(len(asked)), lambda place: f"{place:06}", marker, max_items)
    return {"EvaluationResults": [simulation.result(*asked[place]) for place in places], **more}


def _policies(tx: Transaction, holder: Holder, inputs: Sequence[str]) -> dict[str, Policy]:
    policies = {name: parsed(document) for name, document in access.documents_of(tx, holder).items()}
    given = {f"PolicyInputList.{number}": _read(document) for number, document in enumerate(inputs, start=1)}
    return policies | given


def _boundary(tx: Transaction, holder: Holder, inputs: Sequence[str]) -> Policy | None:
    """Return the boundary for the simulation: the given one, else the role's or user's own."""
    if len(inputs) > 1:
        raise invalid_input("Only one permissions boundary policy can be specified.")
    return _read(inputs[0]) if inputs else access.boundary_of(tx, holder)


def _context_entry(entry: Document) -> tuple[str, tuple[str, ...]]:
    """Return a condition key and its values. Errors: InvalidInputException (the name or the values are missing)."""
    for member in ("ContextKeyName", CONTEXT_VALUES):
        if member not in entry:
            raise invalid_input(f"A context entry lacks its {member}.")
    return entry["ContextKeyName"], tuple(entry[CONTEXT_VALUES])


def _principal(arn: str) -> PrincipalInfo:
    """Return the user or role whose call is simulated. Errors: InvalidInputException for any other ARN."""
    parts = arn.split(":", 5)
    match parts:
        case ["arn", _, "iam", _, account, name] if name.startswith("role/"):
            return PrincipalInfo(arn, account, role_arn=arn)
        case ["arn", _, "iam", _, _, name] if name.startswith("user/"):
            return PrincipalInfo.user(arn)
        case _:
            raise invalid_input(f"Invalid Entity Arn: {arn} does not clearly define entity type and name.")


def _read(document: str, kind: PolicyKind = PolicyKind.IDENTITY) -> Policy:
    try:
        return parsed(document, kind)
    except PolicyError as error:
        raise invalid_input(f"Invalid Input {error.message}") from None


def _spelled(decision: Decision) -> str:
    match decision:
        case Allowed():
            return "allowed"
        case ExplicitDeny():
            return "explicitDeny"
        case _:
            return "implicitDeny"
