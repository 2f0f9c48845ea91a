"""The operations on state machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.pages import encode_token
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import request_tags
from redrive.services.stepfunctions.definitions import check_definition, shown_references
from redrive.services.stepfunctions.limits import MACHINES_MAX, PAGE_DEFAULT
from redrive.services.stepfunctions.machines import (
    check_active,
    choose,
    delete_machine,
    has_running,
    read_machine_arn,
    the_active_machine,
    the_revision,
)
from redrive.services.stepfunctions.model.arns import StatesArn, machine_arn
from redrive.services.stepfunctions.model.logging import check_logging
from redrive.services.stepfunctions.model.machine import MachineType, Revision, StateMachine, Version
from redrive.services.stepfunctions.model.requests import check_name, invalid, read_page
from redrive.services.stepfunctions.model.tags import merged_tags
from redrive.services.stepfunctions.publishing import publish_revision
from redrive.store.api import Transaction


@operation("CreateStateMachine")
def create_state_machine(
    tx: Transaction, caller: Caller, *, name: str, definition: str, role_arn: str, type: str = "STANDARD",
    logging_configuration: Document | None = None, tags: Sequence[Document] = (),
    tracing_configuration: Document | None = None, publish: bool = False, version_description: str | None = None,
    encryption_configuration: Document | None = None,
) -> Document:  # fmt: skip
    """Create a machine. A second creation with the same content answers with the first; its role and tags are ignored.

    Errors: InvalidName; InvalidArn (the role); InvalidDefinition; InvalidLoggingConfiguration;
    StateMachineAlreadyExists; StateMachineDeleting; StateMachineLimitExceeded; TooManyTags;
    ValidationException (a description of a version without `publish`).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
    """
    check_name(name)
    arn = machine_arn(caller.scope, name)
    wanted = {str(tag.get("key", "")): str(tag.get("value", "")) for tag in tags}
    tx.services.authorize(tx, caller, "states:CreateStateMachine", arn, context=request_tags(wanted))
    _check_publication(publish=publish, description=version_description)
    _check_role(role_arn)
    check_definition(definition, type)
    check_logging(logging_configuration)
    made = Revision(
        "", definition, role_arn, tx.now, logging_configuration or {}, tracing_configuration or {},
        encryption_configuration or {},
    )  # fmt: skip
    known = tx.resources.get(StateMachine, caller.scope, name)
    if known is not None:
        check_active(known, caller.scope)
        return _created_again(tx, caller.scope, known, made, type, version_description if publish else None)
    if tx.resources.count(StateMachine, caller.scope) >= MACHINES_MAX:
        raise ServiceError("StateMachineLimitExceeded", f"State Machine Limit Exceeded: '{name}'")
    tx.services.authorize(
        tx, caller, "iam:PassRole", role_arn, context={"iam:PassedToService": ("states.amazonaws.com",)}
    )
    machine_id, revision = new_uuid(tx.entropy), new_uuid(tx.entropy)
    machine = StateMachine(
        name, machine_id, MachineType(type), tx.now, revision, revision, tags=merged_tags({}, tags, arn),
        creation_description=version_description or "",
    )  # fmt: skip
    tx.resources.put(caller.scope, replace(made, name=f"{machine_id}/{revision}"))
    tx.resources.put(caller.scope, machine)
    answer: Document = {"stateMachineArn": arn, "creationDate": machine.created_at}
    if publish:
        version = publish_revision(tx, caller.scope, machine, version_description)
        answer["stateMachineVersionArn"] = f"{arn}:{version.number}"
    return answer


@operation("UpdateStateMachine")
def update_state_machine(
    tx: Transaction, caller: Caller, *, state_machine_arn: str, definition: str | None = None,
    role_arn: str | None = None, logging_configuration: Document | None = None,
    tracing_configuration: Document | None = None, publish: bool = False, version_description: str | None = None,
    encryption_configuration: Document | None = None,
) -> Document:  # fmt: skip
    """Change a machine. Executions that run keep the definition and the role with which they were started.

    Errors: InvalidArn; StateMachineDoesNotExist; StateMachineDeleting; MissingRequiredParameter (nothing to change);
    InvalidDefinition; InvalidLoggingConfiguration; ValidationException (a description of a version without `publish`).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_UpdateStateMachine.html
    """
    arn = read_machine_arn(state_machine_arn)
    tx.services.authorize(tx, caller, "states:UpdateStateMachine", arn.machine_arn)
    machine = the_active_machine(tx, arn)
    given = (definition, role_arn, logging_configuration, tracing_configuration, encryption_configuration)
    if all(value is None for value in given):
        raise ServiceError(
            "MissingRequiredParameter",
            "Either the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration must be "
            "specified",
        )
    _check_publication(publish=publish, description=version_description)
    if definition is not None:
        check_definition(definition, machine.type.value)
    check_logging(logging_configuration)
    present = the_revision(tx, arn.scope, machine)
    if role_arn is not None and role_arn != present.role_arn:
        _check_role(role_arn)
        tx.services.authorize(
            tx, caller, "iam:PassRole", role_arn, context={"iam:PassedToService": ("states.amazonaws.com",)}
        )
    changed = Revision(
        "",
        present.definition if definition is None else definition,
        present.role_arn if role_arn is None else role_arn,
        tx.now,
        present.logging if logging_configuration is None else logging_configuration,
        present.tracing if tracing_configuration is None else tracing_configuration,
        present.encryption if encryption_configuration is None else encryption_configuration,
    )
    answer: Document = {"updateDate": tx.now}
    if not changed.equals(present):
        revision = new_uuid(tx.entropy)
        tx.resources.put(arn.scope, replace(changed, name=f"{machine.id}/{revision}"))
        machine = replace(machine, revision=revision)
        tx.resources.put(arn.scope, machine)
        answer["revisionId"] = revision
    if publish:
        version = publish_revision(tx, arn.scope, machine, version_description)
        answer["stateMachineVersionArn"] = f"{arn.machine_arn}:{version.number}"
    return answer


@operation("DeleteStateMachine")
def delete_state_machine(tx: Transaction, caller: Caller, *, state_machine_arn: str) -> Document:
    """Delete a machine with its versions and aliases, or begin to: its executions end at their next transition.

    While there are such executions, the machine is shown as DELETING. An unknown machine is no error.

    Errors: InvalidArn.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DeleteStateMachine.html
    """
    arn = read_machine_arn(state_machine_arn)
    tx.services.authorize(tx, caller, "states:DeleteStateMachine", arn.machine_arn)
    machine = tx.resources.get(StateMachine, arn.scope, arn.name)
    if machine is None:
        return {}
    if has_running(tx, arn.scope, machine):
        tx.resources.put(arn.scope, replace(machine, is_deleting=True))
    else:
        delete_machine(tx, arn.scope, machine)
    return {}


@operation("DescribeStateMachine")
def describe_state_machine(
    tx: Transaction, caller: Caller, *, state_machine_arn: str, included_data: str = "ALL_DATA"
) -> Document:
    """Show a machine, or a version, or the first route of an alias.

    Errors: InvalidArn; StateMachineDoesNotExist.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeStateMachine.html
    """
    arn = read_machine_arn(state_machine_arn)
    tx.services.authorize(tx, caller, "states:DescribeStateMachine", state_machine_arn)
    chosen = choose(tx, state_machine_arn)
    machine, revision = chosen.machine, chosen.revision
    shown: Document = {
        "stateMachineArn": state_machine_arn, "name": machine.name,
        "status": "DELETING" if machine.is_deleting else "ACTIVE",
        "definition": revision.definition, "roleArn": revision.role_arn, "type": machine.type.value,
        "creationDate": machine.created_at, "loggingConfiguration": shown_logging(revision),
        "tracingConfiguration": revision.tracing or {"enabled": False},
    }  # fmt: skip
    if revision.id != machine.first_revision:
        shown["revisionId"] = revision.id
    if arn.qualifier:
        shown |= _of_version(tx, arn)
    if revision.encryption:
        shown["encryptionConfiguration"] = revision.encryption
    if included_data != "ALL_DATA":
        return {**shown, "definition": ""}
    return shown | shown_references(revision.definition)


@operation("ListStateMachines")
def list_state_machines(
    tx: Transaction, caller: Caller, *, max_results: int | None = None, next_token: str | None = None
) -> Document:
    """List the machines of the account in this region, sorted by name.

    Errors: InvalidToken.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListStateMachines.html
    """
    tx.services.authorize(tx, caller, "states:ListStateMachines", "*")
    after, limit = read_page(next_token, "ListStateMachines"), max_results or PAGE_DEFAULT
    found = tx.resources.list(StateMachine, caller.scope, after=after, limit=limit + 1)
    answer: Document = {
        "stateMachines": [
            {
                "stateMachineArn": one.arn(caller.scope), "name": one.name, "type": one.type.value,
                "creationDate": one.created_at,
            }
            for one in found[:limit]
        ]
    }  # fmt: skip
    if len(found) > limit:
        answer["nextToken"] = encode_token(found[limit - 1].name, "ListStateMachines")
    return answer


def shown_logging(revision: Revision) -> Document:
    """The logging configuration of a revision as answers show it, with its defaults."""
    return {"level": "OFF", "includeExecutionData": False, **revision.logging}


def _of_version(tx: Transaction, arn: StatesArn) -> Document:
    number = int(arn.qualifier) if arn.qualifier.isdigit() else 0
    version = tx.resources.get(Version, arn.scope, f"{arn.name}/{number:010}")
    if version is None:
        return {}
    return {"creationDate": version.created_at, **({"description": version.description} if version.description else {})}


def _created_again(
    tx: Transaction, scope: Scope, known: StateMachine, made: Revision, type: str, description: str | None
) -> Document:
    """Answer a creation of a machine that exists. Role and tags may differ. Errors: StateMachineAlreadyExists."""
    present = the_revision(tx, scope, known)
    same = replace(made, role_arn=present.role_arn).equals(present)
    if not same or known.type.value != type or (description or "") != known.creation_description:
        raise ServiceError("StateMachineAlreadyExists", f"State Machine Already Exists: '{known.arn(scope)}'")
    answer: Document = {"stateMachineArn": known.arn(scope), "creationDate": known.created_at}
    if description is not None:
        version = publish_revision(tx, scope, known, description)
        answer["stateMachineVersionArn"] = f"{known.arn(scope)}:{version.number}"
    return answer


def _check_publication(*, publish: bool, description: str | None) -> None:
    if description is not None and not publish:
        raise invalid("Version description can only be set when publish is true")


def _check_role(role_arn: str) -> None:
    if not role_arn.startswith("arn:") or ":role/" not in role_arn:
        raise ServiceError("InvalidArn", f"Invalid Arn: 'Invalid ARN prefix: {role_arn}'")
