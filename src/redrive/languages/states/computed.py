"""What the fields of a state come to for its data: how long a task may take, when a wait ends, how a Fail fails."""

from __future__ import annotations

import math

from redrive.core.clock import Instant
from redrive.core.documents import dump_json
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.data_flow import states_object
from redrive.languages.states.definition import TIMEOUT_S_DEFAULT, Fail, State, Task, Wait
from redrive.languages.states.errors import QUERY_EVALUATION_ERROR, StatesError, runtime_error
from redrive.languages.states.expressions import Expression
from redrive.languages.states.templates import Located, Reached, Template
from redrive.languages.states.timestamps import read_timestamp

SECONDS_MAX = 99_999_999


def timeout_s_of(task: Task, raw: object, bindings: Bindings) -> int:
    """How long the task may take, in seconds. Errors: StatesError."""
    if task.timeout is None:
        return TIMEOUT_S_DEFAULT
    return integer_of(task, "TimeoutSeconds", task.timeout, raw, bindings)


def heartbeat_s_of(task: Task, raw: object, bindings: Bindings) -> int | None:
    """The longest time between two heartbeats in seconds; None if none is asked for. Errors: StatesError."""
    if task.heartbeat is None:
        return None
    return integer_of(task, "HeartbeatSeconds", task.heartbeat, raw, bindings)


def role_of(task: Task, raw: object, bindings: Bindings) -> str | None:
    """The role that Credentials name; None for that of the machine. Errors: StatesError."""
    if task.credentials is None:
        return None
    value = task.credentials.value(root_for(task, raw), bindings)
    role = value.get("RoleArn") if isinstance(value, dict) else None
    if isinstance(role, str):
        return role
    raise runtime_error("The field 'RoleArn' of Credentials must be a text.")


def wait_ends_at(state: Wait, raw: object, bindings: Bindings, entered_at: Instant) -> Instant:
    """When the wait ends; not before it began. Errors: StatesError."""
    root = _effective_root(state, raw, bindings)
    if state.timestamp is not None:
        return max(entered_at, _timestamp(state.timestamp, root, bindings))
    if state.seconds is None:
        return entered_at
    return entered_at + _seconds(state.seconds, root, bindings) * 1000


def failure_of(state: Fail, raw: object, bindings: Bindings) -> tuple[str | None, str | None]:
    """The error and the cause with which a Fail state ends; None for what it does not say. Errors: StatesError."""
    root = root_for(state, raw)
    return _told(state.error, "Error", root, bindings), _told(state.cause, "Cause", root, bindings)


def root_for(state: State, raw: object) -> object:
    """What `$`, or `$states`, is for the fields of a state."""
    return states_object(raw) if state.is_jsonata else raw


def integer_of(state: State, name: str, template: Template, raw: object, bindings: Bindings) -> int:
    """The integer that a field comes to. Errors: StatesError."""
    value = template.value(root_for(state, raw), bindings)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(template, Expression):
        raise template.unexpected("number", value)
    raise runtime_error(_no_number(name, template, value, "integer"))


def float_of(state: State, name: str, template: Template, raw: object, bindings: Bindings) -> float:
    """The number that a field comes to. Errors: StatesError."""
    value = template.value(root_for(state, raw), bindings)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(template, Expression):
        raise template.unexpected("number", value)
    raise runtime_error(_no_number(name, template, value, "float"))


def _no_number(name: str, template: Template, value: object, kind: str) -> str:
    path = template.path.text if isinstance(template, Reached) else name
    shown = _shown(value)
    return f'The {name}Path field refers to value "{shown}" which is not a valid {kind}: {path}'


def _shown(value: object) -> str:
    return value if isinstance(value, str) else dump_json(value)


def _effective_root(state: Wait, raw: object, bindings: Bindings) -> object:
    if state.is_jsonata:
        return states_object(raw)
    return raw if state.input_path is None else state.input_path.value(raw, bindings)


def _seconds(template: Template, root: object, bindings: Bindings) -> int:
    if isinstance(template, Reached):
        return _seconds_at(template, root, bindings)
    value = template.value(root, bindings)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(template, Expression) and (not isinstance(value, int) or isinstance(value, bool)):
        raise template.unexpected("number", value)
    if not isinstance(value, int) or not 0 <= value <= SECONDS_MAX:
        raise StatesError(QUERY_EVALUATION_ERROR, "Wait state delay is too long.", location="Seconds")
    return value


def _seconds_at(template: Reached, root: object, bindings: Bindings) -> int:
    path = template.path.text
    try:
        value = template.value(root, bindings)
    except StatesError:
        raise runtime_error(f"The SecondsPath parameter does not reference an input value: {path}") from None
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.strip().lstrip("+-").isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise runtime_error(f"The SecondsPath parameter cannot be parsed as a long value: {path} == {_shown(value)}")
    if value < 0:
        raise runtime_error(f"The SecondsPath parameter references a negative value: {path} == {value}")
    if value > SECONDS_MAX:
        raise runtime_error("Wait state delay is too long.")
    return value


def _timestamp(template: Template, root: object, bindings: Bindings) -> Instant:
    if isinstance(template, Reached):
        try:
            value = template.value(root, bindings)
        except StatesError:
            raise runtime_error(
                f"The TimestampPath parameter does not reference an input value: {template.path.text}"
            ) from None
    else:
        value = template.value(root, bindings)
    instant = read_timestamp(value)
    if instant is not None:
        return math.ceil(instant)
    if isinstance(template, Reached):
        raise runtime_error(
            "The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: "
            f"{template.path.text} == {_shown(value)}"
        )
    if isinstance(template, Expression) and not isinstance(value, str):
        raise template.unexpected("string", value)
    raise StatesError(
        QUERY_EVALUATION_ERROR,
        f"The Timestamp field cannot be parsed as an ISO-8601 extended offset date-time format string: {_shown(value)}",
        location="Timestamp",
    )


def _told(template: Template | None, name: str, root: object, bindings: Bindings) -> str | None:
    if template is None:
        return None
    value = template.value(root, bindings)
    if isinstance(value, str):
        return value
    if isinstance(template, Expression):
        raise template.unexpected("string", value)
    path = template.path.text if isinstance(template, Located) else name
    raise runtime_error(f"The {name}Path field refers to a value that is not a text: {path} == {_shown(value)}")
