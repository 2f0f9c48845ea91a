"""The worker of templates that wait for macros: it calls the macros' functions, one after the other.

Each call has a lease, which is the time of its timer. An answer that arrives after the next call is ignored.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-macros-author.html
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.documents import dump_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import OutsideNeeded
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.invocation import InvocationResult
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.languages.template import Node, TemplateError, read_root
from redrive.languages.template.transforms import Transform, next_transform, replaced
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.deployment.plans import check_same_types, checked_plan, with_changes
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.deployment.timers import STACK_TIMER, timer_name
from redrive.services.cloudformation.locations import fetch_as
from redrive.services.cloudformation.macros import Macro, MacroCall
from redrive.services.cloudformation.model.change_sets import ChangeSet, ExecutionStatus
from redrive.services.cloudformation.model.stack import Blueprint, Stack
from redrive.services.cloudformation.transforms.expansion import advanced, as_root, surroundings_of
from redrive.services.cloudformation.transforms.failure import TransformFailure
from redrive.services.cloudformation.transforms.macros import macro_answer, macro_request, transform_id
from redrive.store.api import Transaction

MACRO_TIMER = "cloudformation.macro"
"""The kind of these timers, and the name of their worker."""


def await_macros(tx: Transaction, stack: Stack, principal: Caller, change_set: str = "") -> None:
    """Start to call the macros in the template of a stack, or of one of its change sets."""
    call = MacroCall(stack.stack_name, stack.uid, change_set, principal)
    tx.resources.put(stack.scope, call)
    tx.timers.set(MACRO_TIMER, f"{stack.scope}/{call.name}", tx.now)
    tx.notify("due")


def pending(change_set: ChangeSet) -> ChangeSet:
    """Return the change set in the status of a template that waits for macros."""
    return dataclasses.replace(
        change_set, status="CREATE_IN_PROGRESS", execution_status=ExecutionStatus.UNAVAILABLE
    )  # fmt: skip


class MacroWorker:
    """Calls the functions of macros, and continues with their answers."""

    name = MACRO_TIMER
    timer = None
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(MACRO_TIMER) if free.count > 0 else None

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        attempts: list[Attempt] = []
        for name, _ in tx.timers.due(MACRO_TIMER, tx.now, free.count):
            attempt = _ask(tx, name)
            if attempt is not None:
                attempts.append(attempt)
        return attempts

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        assert isinstance(result, InvocationResult), "macros are functions"
        scope, call = _call_of(tx, attempt.key)
        blueprint = None if call is None else _blueprint(tx, scope, call)
        answer = attempt.resume(tx, result) if attempt.resume is not None else {}
        if call is None or blueprint is None or call.fence != attempt.fence:
            return
        root, transform = _next(blueprint)
        try:
            if isinstance(answer, ServiceError):
                raise TemplateError(f"Received malformed response from transform {_id(scope, transform)}.")
            payload = b"" if "FunctionError" in answer else answer["Payload"]
            fragment = macro_answer(payload, scope, transform, _request_id(call))
            after = as_root(replaced(root, transform, fragment))
            fetch = fetch_as(tx, dataclasses.replace(call.principal, scope=scope, request_id=new_uuid(tx.entropy)))
            surroundings = surroundings_of(blueprint, scope, call.stack_name, call.stack, fetch)
            _go_on(tx, scope, call, advanced(blueprint, after, surroundings))
        except (TransformFailure, TemplateError) as error:
            _fail(tx, scope, call, blueprint, str(error))


def _ask(tx: Transaction, name: str) -> Attempt | None:
    """Start the next call.

    Returns None if there is nothing to call; a stack or change set that needs a macro then fails.
    """
    scope, call = _call_of(tx, name)
    blueprint = None if call is None else _blueprint(tx, scope, call)
    if call is None or blueprint is None:
        tx.timers.clear(MACRO_TIMER, name)
        return None
    call = dataclasses.replace(call, fence=call.fence + 1)
    tx.resources.put(scope, call)
    root, transform = _next(blueprint)
    macro = tx.resources.get(Macro, scope, transform.name.removeprefix(f"{scope.account}::"))
    if macro is None:
        _fail(tx, scope, call, blueprint, f"No transform named {_id(scope, transform)} found.")
        return None
    surroundings = surroundings_of(blueprint, scope, call.stack_name, call.stack)
    payload = dump_json(macro_request(root, transform, surroundings, scope, _request_id(call))).encode()
    caller = dataclasses.replace(call.principal, scope=scope, request_id=new_uuid(tx.entropy))
    try:
        tx.services.call(tx, caller, "lambda", "Invoke", {"FunctionName": macro.function_name, "Payload": payload})
    except ServiceError as error:
        reason = TransformFailure(_id(scope, transform), error.message).reason
        _fail(tx, scope, call, blueprint, reason)
        return None
    except OutsideNeeded as needed:
        outside = needed.outside
        tx.timers.set(MACRO_TIMER, name, tx.now + outside.invocation.timeout_ms + limits.MACRO_MARGIN_MS)
        return Attempt(MACRO_TIMER, name, call.fence, outside.invocation, outside.resume)
    return None


def _go_on(tx: Transaction, scope: Scope, call: MacroCall, blueprint: Blueprint) -> None:
    """Store the expanded template; then call the next macro, or start the operation that needs the template."""
    stack = tx.resources.get(Stack, scope, call.stack_name)
    assert stack is not None, "a call whose stack is gone is not heard"
    if blueprint.is_whole:
        try:
            check_same_types(tx, stack, checked_plan(tx, blueprint, scope, call.stack_name, call.stack))
        except ServiceError as error:
            blueprint = dataclasses.replace(blueprint, transform_failure=error.message)
    name = f"{scope}/{call.name}"
    if call.change_set:
        change_set = tx.resources.get(ChangeSet, scope, f"{call.stack}/{call.change_set}")
        assert change_set is not None, "a call whose change set is gone is not heard"
        change_set = dataclasses.replace(change_set, blueprint=blueprint)
        if not blueprint.awaits_macros:
            run = Run(tx, dataclasses.replace(stack, blueprint=blueprint))
            available = dataclasses.replace(
                change_set, status="CREATE_COMPLETE", execution_status=ExecutionStatus.AVAILABLE
            )  # fmt: skip
            change_set = with_changes(run, available)
        tx.resources.put(scope, change_set)
    else:
        tx.resources.put(scope, dataclasses.replace(stack, blueprint=blueprint))
        if not blueprint.awaits_macros:
            tx.timers.set(STACK_TIMER, timer_name(scope, call.stack_name), tx.now)
    if blueprint.awaits_macros:
        tx.timers.set(MACRO_TIMER, name, tx.now)
    else:
        tx.timers.clear(MACRO_TIMER, name)
        tx.resources.delete(MacroCall, scope, call.name)
    tx.notify("due")


def _fail(tx: Transaction, scope: Scope, call: MacroCall, blueprint: Blueprint, reason: str) -> None:
    _go_on(tx, scope, call, dataclasses.replace(blueprint, transform_failure=reason, awaits_macros=False))


def _call_of(tx: Transaction, name: str) -> tuple[Scope, MacroCall | None]:
    account, region, rest = name.split("/", 2)
    scope = Scope(account, region)
    return scope, tx.resources.get(MacroCall, scope, rest)


def _blueprint(tx: Transaction, scope: Scope, call: MacroCall) -> Blueprint | None:
    """Return the waiting blueprint; None if it no longer waits: deleted, cancelled, or another operation began."""
    stack = tx.resources.get(Stack, scope, call.stack_name)
    if stack is None or stack.uid != call.stack:
        return None
    if not call.change_set:
        return stack.blueprint if stack.blueprint.awaits_macros and stack.is_under_way else None
    change_set = tx.resources.get(ChangeSet, scope, f"{call.stack}/{call.change_set}")
    return change_set.blueprint if change_set is not None and change_set.blueprint.awaits_macros else None


def _next(blueprint: Blueprint) -> tuple[dict[str, Node], Transform]:
    root = read_root(blueprint.body)
    transform = next_transform(root)
    assert transform is not None, "a blueprint that awaits macros asks for one"
    return root, transform


def _id(scope: Scope, transform: Transform) -> str:
    return transform_id(scope, transform.name.removeprefix(f"{scope.account}::"))


def _request_id(call: MacroCall) -> str:
    return f"{call.stack}-{call.fence}"
