"""The operations on versions of state machines."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.pages import encode_token
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.stepfunctions.limits import PAGE_DEFAULT
from redrive.services.stepfunctions.machines import find_version, read_machine_arn, the_active_machine
from redrive.services.stepfunctions.model.arns import StatesArn
from redrive.services.stepfunctions.model.machine import Alias, Version
from redrive.services.stepfunctions.model.requests import invalid, read_page
from redrive.services.stepfunctions.publishing import publish_revision
from redrive.store.api import Transaction


@operation("PublishStateMachineVersion")
def publish_state_machine_version(
    tx: Transaction, caller: Caller, *, state_machine_arn: str, revision_id: str | None = None,
    description: str | None = None,
) -> Document:  # fmt: skip
    """Publish the present revision of a machine. A revision that was published keeps its version.

    Errors: InvalidArn; StateMachineDoesNotExist; StateMachineDeleting; ServiceQuotaExceededException;
    ConflictException (another revision is the present one).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_PublishStateMachineVersion.html
    """
    arn = read_machine_arn(state_machine_arn)
    tx.services.authorize(tx, caller, "states:PublishStateMachineVersion", arn.machine_arn)
    machine = the_active_machine(tx, arn)
    present = machine.shown_revision or "INITIAL"
    if revision_id not in (None, present):
        raise ServiceError(
            "ConflictException",
            f"Failed to publish the State Machine version for revision {revision_id}. "
            f"The current State Machine revision is {present}.",
        )
    version = publish_revision(tx, arn.scope, machine, description)
    return {"creationDate": version.created_at, "stateMachineVersionArn": f"{arn.machine_arn}:{version.number}"}


@operation("DeleteStateMachineVersion")
def delete_state_machine_version(tx: Transaction, caller: Caller, *, state_machine_version_arn: str) -> Document:
    """Delete a version that no alias has. An unknown version is no error.

    Errors: InvalidArn; ConflictException (an alias has it); ValidationException (no version's ARN).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DeleteStateMachineVersion.html
    """
    arn = _read_version(state_machine_version_arn)
    tx.services.authorize(tx, caller, "states:DeleteStateMachineVersion", state_machine_version_arn)
    version = find_version(tx, arn, int(arn.qualifier))
    if version is None:
        return {}
    aliases = tx.resources.list(Alias, arn.scope, prefix=f"{arn.name}/")
    names = [one.name.partition("/")[2] for one in aliases if any(to.version == version.number for to in one.routes)]
    if names:
        raise ServiceError(
            "ConflictException",
            "Version to be deleted must not be referenced by an alias. "
            f"Current list of aliases referencing this version: [{', '.join(names)}]",
        )
    tx.resources.delete(Version, arn.scope, version.name)
    return {}


@operation("ListStateMachineVersions")
def list_state_machine_versions(
    tx: Transaction, caller: Caller, *, state_machine_arn: str, next_token: str | None = None,
    max_results: int | None = None,
) -> Document:  # fmt: skip
    """List the versions of a machine, the newest first.

    Errors: InvalidArn; InvalidToken.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListStateMachineVersions.html
    """
    arn = read_machine_arn(state_machine_arn)
    tx.services.authorize(tx, caller, "states:ListStateMachineVersions", arn.machine_arn)
    before, limit = read_page(next_token, "ListStateMachineVersions", arn.machine_arn), max_results or PAGE_DEFAULT
    found = tx.resources.list(Version, arn.scope, prefix=f"{arn.name}/")[::-1]
    found = [one for one in found if not before or one.name < before]
    shown = [
        {"stateMachineVersionArn": f"{arn.machine_arn}:{one.number}", "creationDate": one.created_at}
        for one in found[:limit]
    ]
    answer: Document = {"stateMachineVersions": shown}
    if len(found) > limit:
        answer["nextToken"] = encode_token(found[limit - 1].name, "ListStateMachineVersions", arn.machine_arn)
    return answer


def _read_version(text: str) -> StatesArn:
    arn = read_machine_arn(text)
    if not arn.qualifier.isdigit():
        raise invalid(f"The ARN {text} does not name a version of a state machine.")
    return arn
