"""The operations on aliases of state machines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.pages import encode_token
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.stepfunctions.limits import ALIASES_MAX, NAME_CHARACTERS_MAX, PAGE_DEFAULT
from redrive.services.stepfunctions.machines import find_alias, find_version, read_machine_arn, the_active_machine
from redrive.services.stepfunctions.model.arns import StatesArn
from redrive.services.stepfunctions.model.machine import Alias, Route, alias_name
from redrive.services.stepfunctions.model.requests import invalid, read_page
from redrive.store.api import Transaction

_NAME = re.compile(r"(?=.*[a-zA-Z_\-.])[a-zA-Z0-9_\-.]+")
_WHOLE = 100


@operation("CreateStateMachineAlias")
def create_state_machine_alias(
    tx: Transaction, caller: Caller, *, name: str, routing_configuration: Sequence[Document],
    description: str | None = None,
) -> Document:  # fmt: skip
    """Create an alias of one or two versions of a machine. An identical creation answers with the first.

    Errors: InvalidName; InvalidArn; ValidationException (the routes); ResourceNotFound (a version);
    ConflictException (the alias has other routes); ServiceQuotaExceededException; StateMachineDeleting.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachineAlias.html
    """
    if not _NAME.fullmatch(name) or len(name) > NAME_CHARACTERS_MAX:
        raise ServiceError("InvalidName", f"Invalid Name: '{name}'")
    machine, routes = _read_routes(routing_configuration)
    tx.services.authorize(tx, caller, "states:CreateStateMachineAlias", machine.machine_arn)
    the_active_machine(tx, machine)
    _check_versions(tx, machine, routes)
    arn = machine._replace(qualifier=name)
    known = find_alias(tx, arn)
    if known is not None:
        if known.routes != routes or known.description != (description or ""):
            raise ServiceError(
                "ConflictException",
                "Failed to create alias because an alias with the same name and a different routing configuration "
                "already exists.",
            )
    else:
        if tx.resources.count(Alias, machine.scope, prefix=f"{machine.name}/") >= ALIASES_MAX:
            raise ServiceError(
                "ServiceQuotaExceededException", f"The number of aliases of {machine.name} exceeds {ALIASES_MAX}."
            )
        known = Alias(alias_name(machine.name, name), routes, tx.now, tx.now, description or "")
        tx.resources.put(machine.scope, known)
    return {"stateMachineAliasArn": f"{machine.machine_arn}:{name}", "creationDate": known.created_at}


@operation("UpdateStateMachineAlias")
def update_state_machine_alias(
    tx: Transaction, caller: Caller, *, state_machine_alias_arn: str, description: str | None = None,
    routing_configuration: Sequence[Document] | None = None,
) -> Document:  # fmt: skip
    """Change the routes or the description of an alias. Executions that run keep their version.

    Errors: InvalidArn; ResourceNotFound; ValidationException (the routes).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_UpdateStateMachineAlias.html
    """
    arn, alias = _the_alias(tx, caller, state_machine_alias_arn, "states:UpdateStateMachineAlias")
    routes = alias.routes
    if routing_configuration is not None:
        machine, routes = _read_routes(routing_configuration)
        if machine.machine_arn != arn.machine_arn:
            raise _no_versions(routing_configuration)
        _check_versions(tx, machine, routes)
    changed = replace(
        alias, routes=routes, description=alias.description if description is None else description, updated_at=tx.now
    )
    tx.resources.put(arn.scope, changed)
    return {"updateDate": tx.now}


@operation("DeleteStateMachineAlias")
def delete_state_machine_alias(tx: Transaction, caller: Caller, *, state_machine_alias_arn: str) -> Document:
    """Delete an alias. An unknown alias is no error.

    Errors: InvalidArn.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DeleteStateMachineAlias.html
    """
    arn = read_machine_arn(state_machine_alias_arn)
    tx.services.authorize(tx, caller, "states:DeleteStateMachineAlias", state_machine_alias_arn)
    tx.resources.delete(Alias, arn.scope, alias_name(arn.name, arn.qualifier))
    return {}


@operation("DescribeStateMachineAlias")
def describe_state_machine_alias(tx: Transaction, caller: Caller, *, state_machine_alias_arn: str) -> Document:
    """Show an alias.

    Errors: InvalidArn; ResourceNotFound.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachineAlias.html
    """
    arn, alias = _the_alias(tx, caller, state_machine_alias_arn, "states:DescribeStateMachineAlias")
    shown: Document = {
        "stateMachineAliasArn": state_machine_alias_arn, "name": arn.qualifier,
        "routingConfiguration": [
            {"stateMachineVersionArn": f"{arn.machine_arn}:{to.version}", "weight": to.weight} for to in alias.routes
        ],
        "creationDate": alias.created_at, "updateDate": alias.updated_at,
    }  # fmt: skip
    return {**shown, "description": alias.description} if alias.description else shown


@operation("ListStateMachineAliases")
def list_state_machine_aliases(
    tx: Transaction, caller: Caller, *, state_machine_arn: str, next_token: str | None = None,
    max_results: int | None = None,
) -> Document:  # fmt: skip
    """List the aliases of a machine, or those that route to a version.

    Errors: InvalidArn; InvalidToken; StateMachineDoesNotExist; StateMachineDeleting.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListStateMachineAliases.html
    """
    arn = read_machine_arn(state_machine_arn)
    tx.services.authorize(tx, caller, "states:ListStateMachineAliases", state_machine_arn)
    the_active_machine(tx, arn)
    after, limit = read_page(next_token, "ListStateMachineAliases", state_machine_arn), max_results or PAGE_DEFAULT
    found = tx.resources.list(Alias, arn.scope, prefix=f"{arn.name}/")
    if arn.qualifier.isdigit():
        found = [one for one in found if any(to.version == int(arn.qualifier) for to in one.routes)]
    found = [one for one in found if one.name > after]
    shown = [
        {"stateMachineAliasArn": f"{arn.machine_arn}:{one.name.partition('/')[2]}", "creationDate": one.created_at}
        for one in found[:limit]
    ]
    answer: Document = {"stateMachineAliases": shown}
    if len(found) > limit:
        answer["nextToken"] = encode_token(found[limit - 1].name, "ListStateMachineAliases", state_machine_arn)
    return answer


def _the_alias(tx: Transaction, caller: Caller, text: str, action: str) -> tuple[StatesArn, Alias]:
    arn = read_machine_arn(text)
    tx.services.authorize(tx, caller, action, text)
    alias = find_alias(tx, arn)
    if alias is None:
        raise ServiceError("ResourceNotFound", "Request references a resource that does not exist.")
    return arn, alias


def _read_routes(given: Sequence[Document]) -> tuple[StatesArn, tuple[Route, ...]]:
    """The machine and the routes of a routing configuration. Errors: ValidationException; InvalidArn."""
    weights = [int(route["weight"]) for route in given]
    if sum(weights) != _WHOLE:
        raise invalid(f"Sum of routing configuration weights must equal 100. Received: {weights}")
    arns = [read_machine_arn(str(route["stateMachineVersionArn"])) for route in given]
    if not all(arn.qualifier.isdigit() for arn in arns) or len({arn.machine_arn for arn in arns}) > 1:
        raise _no_versions(given)
    if len({arn.qualifier for arn in arns}) < len(arns):
        raise invalid(
            f"Routing configuration must contain distinct state machine version ARNs. Received: {_named(given)}"
        )
    return arns[0]._replace(qualifier=""), tuple(map(Route, [int(arn.qualifier) for arn in arns], weights))


def _check_versions(tx: Transaction, machine: StatesArn, routes: Sequence[Route]) -> None:
    for route in routes:
        if find_version(tx, machine, route.version) is None:
            raise ServiceError("ResourceNotFound", "Request references a resource that does not exist.")


def _no_versions(given: Sequence[Document]) -> ServiceError:
    return invalid(f"Routing configuration must contain state machine version ARNs. Received: {_named(given)}")


def _named(given: Sequence[Document]) -> str:
    return f"[{', '.join(str(route['stateMachineVersionArn']) for route in given)}]"
