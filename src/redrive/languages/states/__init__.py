"""The Amazon States Language: state machines as values, and what follows from each state's data.

    machine = read_definition('{"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": 1, "End": true}}}')
    state = machine.states[machine.start_at]
    output_of(state, {}, result_of_pass(state, effective_input(state, {}, bindings)), bindings).output  →  1

This room knows no service and runs nothing. Randomness and time come with the Bindings.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-amazon-states-language.html
"""

from __future__ import annotations

from redrive.languages.states.bindings import Bindings
from redrive.languages.states.choices import Chosen, choose, no_choice_matched
from redrive.languages.states.data_flow import (
    Flow,
    caught_output,
    effective_input,
    error_output,
    output_of,
    result_of_pass,
)
from redrive.languages.states.definition import (
    Branch,
    Catcher,
    Choice,
    Fail,
    Map,
    Mode,
    Parallel,
    Pass,
    QueryLanguage,
    Retrier,
    State,
    StateMachine,
    Succeed,
    Task,
    Wait,
)
from redrive.languages.states.diagnostics import Diagnostic, MalformedDefinition, Severity
from redrive.languages.states.errors import StatesError
from redrive.languages.states.reading import MachineType, diagnose, read_definition
from redrive.languages.states.retries import Caught, Failed, RetryAfter, decide

__all__ = [
    "Bindings",
    "Branch",
    "Catcher",
    "Caught",
    "Choice",
    "Chosen",
    "Diagnostic",
    "Fail",
    "Failed",
    "Flow",
    "MachineType",
    "MalformedDefinition",
    "Map",
    "Mode",
    "Parallel",
    "Pass",
    "QueryLanguage",
    "Retrier",
    "RetryAfter",
    "Severity",
    "State",
    "StateMachine",
    "StatesError",
    "Succeed",
    "Task",
    "Wait",
    "caught_output",
    "choose",
    "decide",
    "diagnose",
    "effective_input",
    "error_output",
    "no_choice_matched",
    "output_of",
    "read_definition",
    "result_of_pass",
]
