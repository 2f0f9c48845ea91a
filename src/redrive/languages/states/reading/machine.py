"""Reads whole machines, and checks what no state sees by itself: where transitions lead, and which names are used."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

from redrive.languages.states.definition import Branch, QueryLanguage, State, StateMachine, Task
from redrive.languages.states.diagnostics import (
    INVALID_JSON_DESCRIPTION,
    MISSING_TRANSITION_TARGET,
    Diagnostic,
    MalformedDefinition,
    Severity,
)
from redrive.languages.states.graph import all_states, reachable, targets_of
from redrive.languages.states.json_faults import JsonFault, read_json
from redrive.languages.states.reading.fields import SECONDS_MAX, Faults, Fields
from redrive.languages.states.reading.states import read_state
from redrive.languages.states.reading.variables import check_variables

NAME_CHARACTERS_MAX = 80


class MachineType(enum.Enum):
    """The types of machines; express ones have no integration that waits."""

    STANDARD = "STANDARD"
    EXPRESS = "EXPRESS"


def read_definition(text: str, machine_type: MachineType = MachineType.STANDARD) -> StateMachine:
    """The machine that a definition describes. Errors: MalformedDefinition, with all that is wrong."""
    machine, diagnostics = _read(text, machine_type)
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    if errors or machine is None:
        raise MalformedDefinition(errors)
    return machine


def diagnose(text: str, machine_type: MachineType = MachineType.STANDARD) -> list[Diagnostic]:
    """All that is wrong with a definition; empty if nothing is."""
    return _read(text, machine_type)[1]


def _read(text: str, machine_type: MachineType) -> tuple[StateMachine | None, list[Diagnostic]]:
    try:
        document = read_json(text)
    except JsonFault as error:
        return None, [Diagnostic(INVALID_JSON_DESCRIPTION, error.with_source(), "")]
    faults = Faults()
    if not isinstance(document, dict):
        faults.add("Expected value of type Object", "/")
        return None, faults.found
    machine = _machine(document, faults)
    _check_names(machine, faults)
    check_variables(machine, faults)
    _check_resources(machine, machine_type, faults)
    return machine, faults.found


def _machine(document: dict[str, object], faults: Faults) -> StateMachine:
    language = QueryLanguage.JSONATA if document.get("QueryLanguage") == "JSONata" else QueryLanguage.JSONPATH
    fields = Fields(document, "", language, faults)
    fields.chosen("QueryLanguage", [one.value for one in QueryLanguage])
    version = fields.chosen("Version", ["1.0"])
    timeout = fields.integer("TimeoutSeconds", 1, SECONDS_MAX)
    branch = _branch(fields, is_machine=True)
    return StateMachine(branch.start_at, branch.states, branch.comment, timeout, language, version or "1.0")


def _branch(fields: Fields, *, is_machine: bool = False) -> Branch:
    missing = [name for name in ("States", "StartAt") if not fields.has(name)]
    if missing:
        fields.fault(f"These fields are required: [{', '.join(missing)}]")
    start = fields.text("StartAt") or ""
    comment = fields.text("Comment")
    states = _states(fields) if fields.has("States") else {}
    if not is_machine:
        fields.take("QueryLanguage")
    fields.take("ProcessorConfig")
    fields.refuse_others()
    if not missing:
        _check_transitions(fields, start, states)
    return Branch(start, states, comment)


def _states(fields: Fields) -> dict[str, State]:
    inner = fields.inner("States")
    if inner.document == {}:
        fields.fault("Value cannot be empty", "States")
    states: dict[str, State] = {}
    for name in inner.document:
        if not 0 < len(name) <= NAME_CHARACTERS_MAX:
            inner.fault(f"The name of a state must have 1 to {NAME_CHARACTERS_MAX} characters", name)
        one = inner.inner(name)
        one.language = _language_of(one, inner.language)
        state = read_state(name, one, _read_branch)
        if state is not None:
            states[name] = state
    return states


def _read_branch(fields: Fields) -> Branch:
    return _branch(fields)


def _language_of(state: Fields, outer: QueryLanguage) -> QueryLanguage:
    chosen = state.chosen("QueryLanguage", [one.value for one in QueryLanguage])
    if chosen is None:
        return outer
    if outer is QueryLanguage.JSONATA and chosen == QueryLanguage.JSONPATH.value:
        state.fault("'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine")
        return outer
    return QueryLanguage(chosen)


def _check_transitions(fields: Fields, start: str, states: Mapping[str, State]) -> None:
    known = fields.document["States"] if isinstance(fields.document["States"], dict) else {}
    assert isinstance(known, dict)
    place = fields.place
    if start and start not in known:
        fields.faults.add(f"Missing 'StartAt' target: {start}", f"{place}/StartAt", code=MISSING_TRANSITION_TARGET)
    for name, state in states.items():
        for where, target in targets_of(state):
            if target and target not in known:
                field = where.rsplit("/", 1)[-1]
                fields.faults.add(
                    f"Missing '{field}' target: {target}",
                    f"{place}/States/{name}/{where}",
                    code=MISSING_TRANSITION_TARGET,
                )
    if len(states) < len(known) or start not in states:
        return
    reached = reachable(start, states)
    for name in states:
        if name not in reached:
            fields.faults.add(
                f'State "{name}" is not reachable.', f"{place}/States/{name}", code=MISSING_TRANSITION_TARGET
            )


def _check_names(machine: StateMachine, faults: Faults) -> None:
    seen: set[str] = set()
    for place, state in all_states(machine):
        if state.name in seen:
            faults.add(f"The name of a state must be unique in the whole definition: {state.name}", place)
        seen.add(state.name)


def _check_resources(machine: StateMachine, machine_type: MachineType, faults: Faults) -> None:
    for place, state in all_states(machine):
        if isinstance(state, Task) and state.resource:
            for message in _refusals(state.resource, machine_type):
                faults.add(message, f"{place}/Resource")


def _refusals(resource: str, machine_type: MachineType) -> Iterator[str]:
    parts = resource.split(":")
    if parts[0] != "arn" or len(parts) < 6 or not parts[2]:
        yield (
            "The resource provided ARN is not recognized. The value is not a valid resource ARN, or the resource is "
            "not available in this region."
        )
        return
    if machine_type is not MachineType.EXPRESS or parts[2] != "states":
        return
    last = ":".join(parts[6:])
    if ".sync" in last:
        yield "Express state machine does not support '.sync' service integration"
    elif last.endswith(".waitForTaskToken"):
        yield "Express state machine does not support '.waitForTaskToken' service integration "
    elif parts[5] == "activity":
        yield "Express state machine does not support Activity ARN"
