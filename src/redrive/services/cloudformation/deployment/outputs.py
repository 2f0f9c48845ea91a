"""Outputs and exports, which are computed when all resources of a stack are complete."""

from __future__ import annotations

import dataclasses

from redrive.core.scope import Scope
from redrive.languages.template import Output, TemplateError, resolve
from redrive.services.cloudformation.deployment.run import Run, importers
from redrive.services.cloudformation.deployment.values import StackScope
from redrive.services.cloudformation.model.exports import Export
from redrive.services.cloudformation.model.stack import Stack, StackOutput
from redrive.services.cloudformation.templates import Plan
from redrive.services.cloudformation.types.schema import Kind, PropertyError, scalar
from redrive.store.api import Transaction


class OutputFailure(Exception):
    """The outputs cannot be published; the message is the reason of the stack's failure."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def publish_outputs(run: Run, plan: Plan) -> None:
    """Set the stack's outputs and replace its exports. Errors: OutputFailure; then nothing changes."""
    scope = StackScope(run, plan)
    try:
        outputs = tuple(evaluate(plan.template.outputs[name], scope) for name in plan.active.outputs)
    except TemplateError as error:
        raise OutputFailure(error.message) from None
    old = _exported(run.stack)
    new: dict[str, str] = {}
    for output in outputs:
        if output.export_name in new:
            raise OutputFailure(f"Export with name {output.export_name} is already exported by this stack")
        if output.export_name is not None:
            new[output.export_name] = output.value
    _check_exports(run, old, new)
    for name in old.keys() - new.keys():
        run.tx.resources.delete(Export, run.scope, name)
    for name, value in new.items():
        run.tx.resources.put(run.scope, Export(name, value, run.stack.stack_name, run.stack.id))
    imports = tuple(sorted(_imports_still_used(run, plan) | scope.imports))
    run.stack = dataclasses.replace(run.stack, outputs=outputs, imports=imports)


def evaluate(output: Output, scope: StackScope) -> StackOutput:
    """Compute an output. Errors: TemplateError."""
    export = None if output.export_name is None else _text(output, resolve(output.export_name, scope))
    return StackOutput(output.name, _text(output, resolve(output.value, scope)), output.description, export)


def _text(output: Output, value: object) -> str:
    try:
        return str(scalar("", "", Kind.TEXT, value))  # type: ignore[arg-type]
    except PropertyError:
        raise TemplateError(
            f"Template format error: Output {output.name} is malformed. The Value field of every Outputs member must "
            "evaluate to a String."
        ) from None


def _imports_still_used(run: Run, plan: Plan) -> set[str]:
    """Return the exports that the plan's resources import, when all resources are complete."""
    scope = StackScope(run, plan)
    for logical_id in plan.active.resources:
        resolve(dict(plan.template.resources[logical_id].properties), scope)
    return scope.imports


def _exported(stack: Stack) -> dict[str, str]:
    return {output.export_name: output.value for output in stack.outputs if output.export_name is not None}


def _check_exports(run: Run, old: dict[str, str], new: dict[str, str]) -> None:
    for name in new:
        export = run.export(name)
        if export is not None and export.stack_id != run.stack.id:
            raise OutputFailure(f"Export with name {name} is already exported by stack {export.stack_name}")
    for name, value in old.items():
        if new.get(name) == value:
            continue
        users = importers(run.tx, run.scope, name)
        if users:
            verb = "updated" if name in new else "deleted"
            raise OutputFailure(f"Export {name} cannot be {verb} as it is in use by {_series(users)}")


def export_in_use(tx: Transaction, scope: Scope, stack: Stack) -> str | None:
    """Return why a stack cannot be deleted (another stack uses its exports), or None if it can."""
    for name in _exported(stack):
        users = [user for user in importers(tx, scope, name) if user != stack.stack_name]
        if users:
            return f"Export {name} cannot be deleted as it is in use by {_series(users)}"
    return None


def withdraw_exports(run: Run) -> None:
    """Delete the exports of a deleted stack."""
    for name in _exported(run.stack):
        run.tx.resources.delete(Export, run.scope, name)


def _series(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
