"""Numbers and instants that states compute from their data, with AWS's sentences where those are no numbers.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-wait.html
"""

from __future__ import annotations

from typing import Any

from redrive.core.clock import Instant
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.data_flow import states_object
from redrive.languages.states.definition import State, Wait
from redrive.languages.states.errors import QUERY_EVALUATION_ERROR, StatesError, runtime_error
from redrive.languages.states.templates import Reached, Template
from redrive.languages.states.timestamps import read_timestamp
from redrive.services.stepfunctions.limits import EXECUTION_MS_MAX, TASK_TIMEOUT_S_DEFAULT


def value_of(template: Template, state: State, value: Any, bindings: Bindings) -> Any:
    """The value of a field for a state's data: the effective input, or in JSONata the input. Errors: StatesError."""
    return template.value(states_object(value) if state.is_jsonata else value, bindings)


def wait_until(state: Wait, value: Any, bindings: Bindings) -> Instant:
    """When a Wait is over. `value` is the state's effective input. Errors: StatesError."""
    if state.seconds is not None:
        return bindings.now + round(_seconds(state, state.seconds, value, bindings) * 1000)
    assert state.timestamp is not None, "a Wait has one of two fields"
    path = state.timestamp.path.text if isinstance(state.timestamp, Reached) else ""
    try:
        text = value_of(state.timestamp, state, value, bindings)
    except StatesError:
        if not path:
            raise
        raise runtime_error(f"The TimestampPath parameter does not reference an input value: {path}") from None
    at = read_timestamp(text)
    if at is None:
        form = "a valid ISO-8601 extended offset date-time format string"
        if path:
            raise runtime_error(f"The TimestampPath parameter does not reference {form}: {path} == {text}")
        what = "The Timestamp field cannot be parsed as an ISO-8601 extended offset date-time format string"
        raise StatesError(QUERY_EVALUATION_ERROR, f"{what}: {text}", location="Timestamp")
    until = -int(-at // 1)
    if until - bindings.now > EXECUTION_MS_MAX:
        raise runtime_error("Wait state delay is too long.")
    return until


def seconds_of(
    template: Template | None, name: str, state: State, value: Any, bindings: Bindings
) -> int | None:
    """TimeoutSeconds or HeartbeatSeconds of a task; None where there is none. Errors: StatesError."""
    if template is None:
        return None
    seconds = value_of(template, state, value, bindings)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= TASK_TIMEOUT_S_DEFAULT:
        raise _no_number(template, name, seconds, "a positive integer")
    return int(seconds)


def count_of(template: Template | None, name: str, state: State, value: Any, bindings: Bindings) -> int:
    """A field that is a number of things; 0 where it is absent. Errors: StatesError."""
    if template is None:
        return 0
    count = value_of(template, state, value, bindings)
    if isinstance(count, str) and count.isdigit():
        count = int(count)
    if isinstance(count, bool) or not isinstance(count, int | float) or count != int(count):
        raise _no_number(template, name, count, "a valid integer")
    if count < 0:
        raise runtime_error(f"{name} cannot be negative.")
    return int(count)


def percentage_of(template: Template | None, state: State, value: Any, bindings: Bindings) -> float:
    """ToleratedFailurePercentage; 0 where it is absent. Errors: StatesError."""
    if template is None:
        return 0.0
    name = "ToleratedFailurePercentage"
    share = value_of(template, state, value, bindings)
    if isinstance(share, bool) or not isinstance(share, int | float):
        raise _no_number(template, name, share, "a valid float")
    if not 0 <= share <= 100:
        raise runtime_error(f"{name} must be between 0 and 100.")
    return float(share)


def _seconds(state: Wait, template: Template, value: Any, bindings: Bindings) -> float:
    path = template.path.text if isinstance(template, Reached) else ""
    try:
        seconds = value_of(template, state, value, bindings)
    except StatesError:
        if not path:
            raise
        raise runtime_error(f"The SecondsPath parameter does not reference an input value: {path}") from None
    if isinstance(seconds, str) and seconds.removeprefix("-").isdigit():
        seconds = int(seconds)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        if not path:
            raise _no_number(template, "Seconds", seconds, "a number")
        raise runtime_error(f"The SecondsPath parameter cannot be parsed as a long value: {path} == {seconds}")
    if seconds < 0:
        raise runtime_error(f"The SecondsPath parameter references a negative value: {path or 'Seconds'} == {seconds}")
    if seconds > TASK_TIMEOUT_S_DEFAULT:
        raise runtime_error("Wait state delay is too long.")
    return seconds


def _no_number(template: Template, name: str, value: Any, what: str) -> StatesError:
    if isinstance(template, Reached):
        return runtime_error(
            f'The {name}Path field refers to value "{value}" which is not {what}: {template.path.text}'
        )  # fmt: skip
    message = f"The field '{name}' must be {what}, but was: {value}"
    return StatesError(QUERY_EVALUATION_ERROR, message, location=name)
