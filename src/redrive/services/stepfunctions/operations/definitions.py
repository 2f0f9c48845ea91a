"""The operations on definitions without machines: validation, and the test of one state."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import Outside, OutsideNeeded, operation
from redrive.delivery.outside.invocation import InvocationResult
from redrive.languages.states import MachineType, Severity, diagnose
from redrive.languages.states.definition import Map, Parallel, Task
from redrive.services.stepfunctions.calling import answered, called, refused
from redrive.services.stepfunctions.definitions import check_definition
from redrive.services.stepfunctions.executions import Live, compiled
from redrive.services.stepfunctions.limits import PAGE_DEFAULT
from redrive.services.stepfunctions.model import tasks
from redrive.services.stepfunctions.model.arns import express_arn, machine_arn
from redrive.services.stepfunctions.model.execution import MachineExecution, context_of
from redrive.services.stepfunctions.model.machine import MachineType as StoredType
from redrive.services.stepfunctions.model.machine import Revision
from redrive.services.stepfunctions.model.position import Position
from redrive.services.stepfunctions.model.progress import CallWish, Progress
from redrive.services.stepfunctions.model.requests import invalid, read_input
from redrive.services.stepfunctions.model.state_tests import StateTest, isolated, read_mock, run_state, shown_test
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


@operation("TestState")
def run_one_state(
    tx: Transaction, caller: Caller, *, definition: str, role_arn: str | None = None, input: str | None = None,
    inspection_level: str = "INFO", reveal_secrets: bool = False, variables: str | None = None,
    state_name: str | None = None, mock: Document | None = None, context: str | None = None,
    state_configuration: Document | None = None,
) -> Document | Outside:  # fmt: skip
    """Run one state with an input, really or with a mock of its work, and say what came of it.

    Errors: InvalidDefinition; InvalidExecutionInput; ValidationException (no role, the mock, no such state).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
    """
    tx.services.authorize(tx, caller, "states:TestState", "*")
    if reveal_secrets and mock is not None:
        raise invalid("TestState does not support RevealSecrets when a mock is specified.")
    machine, name = isolated(definition, state_name)
    check_definition(machine, "STANDARD")
    whole = compiled(machine)
    state = whole.states[name]
    mocked = read_mock(mock, state)
    if isinstance(state, Map | Parallel) and mocked is None:
        supported = "Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]"
        message = f"TestState API does not support Map or Parallel states. {supported}"
        raise ServiceError("InvalidDefinition", message)
    if isinstance(state, Task) and mocked is None and role_arn is None:
        raise invalid("RoleArn must be specified when testing a Task state")
    value = read_input(input)
    live = _isolated_execution(tx, caller, machine, role_arn or "", value, context)
    live.progress.position.tasks = int((state_configuration or {}).get("retrierRetryCount") or 0)
    test = StateTest(live.progress, inspection_level)
    if variables is not None:
        live.progress.outer = _object(variables)
    wish = run_state(test, value, mocked)
    return shown_test(test) if wish is None else _perform(tx, live, test, wish)


def _perform(tx: Transaction, live: Live, test: StateTest, wish: CallWish) -> Document | Outside:
    """Make the call of a task, and answer with what follows."""
    frame, request_id = test.frame, new_uuid(tx.entropy)
    tasks.scheduled(live.progress, frame, wish)
    try:
        answer = called(tx, live, wish)
    except OutsideNeeded as needed:
        outside = needed.outside

        def resume(later: Transaction, result: InvocationResult) -> Document:
            told = outside.resume(later, result)
            if isinstance(told, ServiceError):
                refused(later, live, frame, told, request_id)
            else:
                answered(later, live, frame, wish.resource, told, request_id)
            return shown_test(test)

        return Outside(outside.invocation, resume)
    except ServiceError as error:
        refused(tx, live, frame, error, request_id)
    else:
        answered(tx, live, frame, wish.resource, answer, request_id)
    return shown_test(test)


def _object(text: str) -> Document:
    """An object that a test of a state is given as JSON. Errors: InvalidExecutionInput; ValidationException."""
    value = read_input(text)
    if not isinstance(value, dict):
        raise invalid("Invalid Context object provided: it must be a JSON object.")
    return value


def _isolated_execution(
    tx: Transaction, caller: Caller, machine: str, role_arn: str, value: object, context: str | None
) -> Live:
    """An execution that is never stored. A given context object takes the place of its own."""
    name = new_uuid(tx.entropy)
    execution = MachineExecution(
        express_arn(caller.scope, "test", name, name), name, name, caller.scope, machine_arn(caller.scope, "test"),
        StoredType.STANDARD, "", role_arn, "{}", tx.now,
    )  # fmt: skip
    position = Position()
    given = {} if context is None else _object(context)
    progress = Progress(
        compiled(machine), position, tx.now, tx.entropy, {**context_of(execution, position, value), **given},
        lambda frame, task: f"{frame}.{task}", caller.region,
    )  # fmt: skip
    return Live(execution, Revision("", machine, role_arn, tx.now), progress, None)
