"""The operations on definitions without machines: validation, and the test of one state."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.states import MachineType, Severity, diagnose
from redrive.services.stepfunctions.limits import PAGE_DEFAULT
from redrive.store.api import Transaction


@operation("ValidateStateMachineDefinition")
def validate_state_machine_definition(
    tx: Transaction, caller: Caller, *, definition: str, type: str = "STANDARD", severity: str = "ERROR",
    max_results: int | None = None,
) -> Document:  # fmt: skip
    """Say all that is wrong with a definition, with warnings if the severity asks for them.

    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ValidateStateMachineDefinition.html
    """
    tx.services.authorize(tx, caller, "states:ValidateStateMachineDefinition", "*")
    found = diagnose(definition, MachineType(type))
    wanted = [one for one in found if one.severity is Severity.ERROR or severity == Severity.WARNING.value]
    limit = max_results or PAGE_DEFAULT
    return {
        "result": "FAIL" if any(one.severity is Severity.ERROR for one in found) else "OK",
        "diagnostics": [
            {"severity": one.severity.value, "code": one.code, "message": one.message, "location": one.location}
            for one in wanted[:limit]
        ],
        "truncated": len(wanted) > limit,
    }
