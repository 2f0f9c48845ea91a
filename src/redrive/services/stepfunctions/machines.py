"""Finding machines, and what an ARN of a machine means: the machine, a version, an alias."""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.stepfunctions.model.arns import MACHINE, StatesArn, read_arn
from redrive.services.stepfunctions.model.machine import (
    Alias,
    Revision,
    StateMachine,
    Version,
    alias_name,
    version_name,
)
from redrive.services.stepfunctions.model.progress import RUNNING
from redrive.services.stepfunctions.model.requests import invalid, no_machine
from redrive.store.api import Transaction


class Chosen(NamedTuple):
    """What an execution runs with. `version_arn` and `alias_arn` are empty where the request named none."""

    scope: Scope
    machine: StateMachine
    revision: Revision
    version_arn: str = ""
    alias_arn: str = ""


def read_machine_arn(text: str) -> StatesArn:
    """Parse the ARN of a machine. Errors: InvalidArn; ValidationException (the machine of a map run)."""
    arn = read_arn(text, MACHINE)
    if arn.label:
        raise invalid("This operation does not support labeled ARNs.", "API_DOES_NOT_SUPPORT_LABELED_ARNS")
    return arn


def the_machine(tx: Transaction, arn: StatesArn) -> StateMachine:
    """The machine of an ARN. Errors: StateMachineDoesNotExist."""
    machine = tx.resources.get(StateMachine, arn.scope, arn.name)
    if machine is None:
        raise no_machine(f"{arn.machine_arn}:{arn.qualifier}" if arn.qualifier else arn.machine_arn)
    return machine


def the_active_machine(tx: Transaction, arn: StatesArn) -> StateMachine:
    """The machine of an ARN, for an operation that a machine which is being deleted refuses.

    Errors: StateMachineDoesNotExist; StateMachineDeleting.
    """
    machine = the_machine(tx, arn)
    check_active(machine, arn.scope)
    return machine


def check_active(machine: StateMachine, scope: Scope) -> None:
    """Errors: StateMachineDeleting."""
    if machine.is_deleting:
        raise ServiceError("StateMachineDeleting", f"State Machine Deleting: '{machine.arn(scope)}'")


def delete_machine(tx: Transaction, scope: Scope, machine: StateMachine) -> None:
    """Delete a machine with its versions and aliases."""
    for version in tx.resources.list(Version, scope, prefix=f"{machine.name}/"):
        tx.resources.delete(Version, scope, version.name)
    for alias in tx.resources.list(Alias, scope, prefix=f"{machine.name}/"):
        tx.resources.delete(Alias, scope, alias.name)
    tx.resources.delete(StateMachine, scope, machine.name)


def has_running(tx: Transaction, scope: Scope, machine: StateMachine) -> bool:
    """Whether executions of a machine have not ended."""
    return bool(tx.executions.page(machine.arn(scope), limit=1, status=RUNNING))


def the_revision(tx: Transaction, scope: Scope, machine: StateMachine, revision: str = "") -> Revision:
    """A revision of a machine; by default the present one."""
    found = tx.resources.get(Revision, scope, f"{machine.id}/{revision or machine.revision}")
    assert found is not None, "a machine's revisions live as long as the machine"
    return found


def find_version(tx: Transaction, arn: StatesArn, number: int) -> Version | None:
    """A version of the machine of an ARN, or None."""
    return tx.resources.get(Version, arn.scope, version_name(arn.name, number))


def find_alias(tx: Transaction, arn: StatesArn) -> Alias | None:
    """The alias of an ARN, or None."""
    return tx.resources.get(Alias, arn.scope, alias_name(arn.name, arn.qualifier))


def choose(tx: Transaction, text: str) -> Chosen:
    """What a machine's ARN runs with: the version that it names, one of its alias's routes, or the latest revision.

    Errors: InvalidArn; StateMachineDoesNotExist, also for an unknown version or alias.
    """
    arn = read_machine_arn(text)
    machine = the_machine(tx, arn)
    if not arn.qualifier:
        return Chosen(arn.scope, machine, the_revision(tx, arn.scope, machine))
    alias_arn, number = "", 0
    if arn.qualifier.isdigit():
        number = int(arn.qualifier)
    else:
        alias = find_alias(tx, arn)
        if alias is None:
            raise no_machine(text)
        alias_arn, number = text, _drawn(tx, alias)
    version = find_version(tx, arn, number)
    if version is None:
        raise no_machine(text)
    revision = the_revision(tx, arn.scope, machine, version.revision)
    return Chosen(arn.scope, machine, revision, f"{arn.machine_arn}:{number}", alias_arn)


def _drawn(tx: Transaction, alias: Alias) -> int:
    """The version that an execution of an alias gets, by the weights of its routes."""
    first = alias.routes[0]
    if len(alias.routes) == 1 or tx.entropy.uniform(0.0, 100.0) < first.weight:
        return first.version
    return alias.routes[1].version
