"""Publishing revisions as versions."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.stepfunctions.limits import VERSIONS_MAX
from redrive.services.stepfunctions.model.machine import StateMachine, Version, version_name
from redrive.store.api import Transaction


def publish_revision(tx: Transaction, scope: Scope, machine: StateMachine, description: str | None) -> Version:
    """Publish the present revision of a machine; the version that exists if it was published before.

    Numbers are never used again. Errors: ServiceQuotaExceededException.
    Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-state-machine-version.html
    """
    known = tx.resources.list(Version, scope, prefix=f"{machine.name}/")
    for version in known:
        if version.revision == machine.revision:
            return version
    if len(known) >= VERSIONS_MAX:
        raise ServiceError(
            "ServiceQuotaExceededException", f"The number of versions of {machine.name} exceeds {VERSIONS_MAX}."
        )
    number = machine.version_last + 1
    made = Version(version_name(machine.name, number), machine.revision, tx.now, description or "")
    tx.resources.put(scope, replace(machine, version_last=number))
    tx.resources.put(scope, made)
    return made
