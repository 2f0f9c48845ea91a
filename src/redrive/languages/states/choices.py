"""What a Choice state chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.languages.states.bindings import Bindings
from redrive.languages.states.choice_rules import And, Comparison, Not, Or, holds
from redrive.languages.states.data_flow import assigned, effective_input, output_of, states_object
from redrive.languages.states.definition import Choice, ChoiceRule
from redrive.languages.states.errors import NO_CHOICE_MATCHED, QUERY_EVALUATION_ERROR, StatesError
from redrive.languages.states.expressions import Expression


@dataclass(frozen=True, slots=True)
class Chosen:
    """The next state, the output, and the variables that are assigned."""

    next: str
    output: object
    variables: Mapping[str, object]


def choose(state: Choice, raw: object, bindings: Bindings) -> Chosen | None:
    """Where a Choice goes with its input; None if no rule holds and there is no Default. Errors: StatesError."""
    effective = effective_input(state, raw, bindings)
    for rule in state.choices:
        if _holds(rule, effective, bindings):
            return _chosen(state, rule, effective, bindings)
    if state.default is None:
        return None
    flow = output_of(state, raw, effective, bindings)
    return Chosen(state.default, flow.output, flow.variables)


def no_choice_matched() -> StatesError:
    """How a Choice without a way on fails."""
    return StatesError(
        NO_CHOICE_MATCHED,
        "Failed to transition out of the state. The state does not point to a next state.",
    )


def _holds(rule: ChoiceRule, effective: object, bindings: Bindings) -> bool:
    match rule.test:
        case Comparison() | And() | Or() | Not():
            return holds(rule.test, effective, bindings)
        case template:
            value = template.value(states_object(effective), bindings)
    if isinstance(value, bool):
        return value
    if isinstance(template, Expression):
        raise template.unexpected("boolean", value)
    raise StatesError(QUERY_EVALUATION_ERROR, "The field 'Condition' must be a boolean.", location="Condition")


def _chosen(state: Choice, rule: ChoiceRule, effective: object, bindings: Bindings) -> Chosen:
    if state.is_jsonata:
        states = states_object(effective)
        output = effective if rule.output is None else rule.output.value(states, bindings)
        return Chosen(rule.next, output, assigned(rule.assign, states, bindings))
    output = effective if state.output_path is None else state.output_path.value(effective, bindings)
    return Chosen(rule.next, output, assigned(rule.assign, effective, bindings))
