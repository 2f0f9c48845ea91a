"""How data flows through a state: what its work gets, and what follows from its result or from its error.

JSONPath: input → InputPath → Parameters → work → ResultSelector → ResultPath, into the input → OutputPath.
JSONata: Arguments → work → Output. Both assign variables, all with the values from before.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-input-output-filtering.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.documents import Document, dump_json
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.definition import ABSENT, Catcher, Map, Parallel, Pass, State, Task
from redrive.languages.states.errors import DATA_LIMIT_EXCEEDED, RESULT_PATH_MATCH_FAILURE, StatesError
from redrive.languages.states.paths import Path, UnwritablePath, write
from redrive.languages.states.payloads import payload_bytes
from redrive.languages.states.templates import Template

ASSIGN_BYTES_MAX = 262_144


@dataclass(frozen=True, slots=True)
class Flow:
    """What leaves a state: its output, and the variables that it assigns, by name."""

    output: object
    variables: Mapping[str, object]


def states_object(raw: object, **members: object) -> Document:
    """`$states` without its context."""
    return {"input": raw, **members}


def effective_input(state: State, raw: object, bindings: Bindings) -> object:
    """What the state works on. Errors: StatesError."""
    if state.is_jsonata:
        return raw if state.parameters is None else state.parameters.value(states_object(raw), bindings)
    value = raw if state.input_path is None else state.input_path.value(raw, bindings)
    return value if state.parameters is None else state.parameters.value(value, bindings)


def result_of_pass(state: Pass, effective: object) -> object:
    """What a Pass state gives: its Result, or its effective input."""
    return effective if state.result is ABSENT else state.result


def output_of(state: State, raw: object, result: object, bindings: Bindings) -> Flow:
    """What follows from a result. States without work of their own have their effective input as result.

    Errors: StatesError.
    """
    if state.is_jsonata:
        states = states_object(raw, result=result) if isinstance(state, (Task, Parallel, Map)) else states_object(raw)
        output = result if state.output is None else state.output.value(states, bindings)
        return Flow(output, assigned(state.assign, states, bindings))
    selected = result if state.result_selector is None else state.result_selector.value(result, bindings)
    merged = _merged(state.result_path, raw, selected)
    output = merged if state.output_path is None else state.output_path.value(merged, bindings)
    return Flow(output, assigned(state.assign, result, bindings))


def caught_output(state: State, catcher: Catcher, raw: object, error: object, bindings: Bindings) -> Flow:
    """What follows from an error that was caught: {"Error": …, "Cause": …}. Errors: StatesError."""
    if state.is_jsonata:
        states = states_object(raw, errorOutput=error)
        output = error if catcher.output is None else catcher.output.value(states, bindings)
        return Flow(output, assigned(catcher.assign, states, bindings))
    return Flow(_merged(catcher.result_path, raw, error), assigned(catcher.assign, error, bindings))


def assigned(assign: tuple[tuple[str, Template], ...], root: object, bindings: Bindings) -> Mapping[str, object]:
    """The values of an Assign; each sees the variables as they were before. Errors: StatesError."""
    if not assign:
        return {}
    values = {name: template.value(root, bindings) for name, template in assign}
    if payload_bytes(values) > ASSIGN_BYTES_MAX:
        raise StatesError(
            DATA_LIMIT_EXCEEDED, f"The variables of one Assign exceed the maximum of {ASSIGN_BYTES_MAX} bytes."
        )
    return values


def error_output(error: str | None, cause: str | None) -> Document:
    """An error as Catch and $states.errorOutput have it."""
    return {"Error": error, "Cause": cause}


def _merged(path: Path | None, raw: object, value: object) -> object:
    if path is None:
        return raw
    try:
        return write(raw, path, value)
    except UnwritablePath:
        raise StatesError(
            RESULT_PATH_MATCH_FAILURE,
            f"Unable to apply ReferencePath {path.text} to input {dump_json(raw)}",
        ) from None
