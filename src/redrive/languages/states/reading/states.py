"""Reads states, each by its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from redrive.languages.states.definition import (
    ABSENT,
    Branch,
    Choice,
    Fail,
    Parallel,
    Pass,
    QueryLanguage,
    State,
    Succeed,
    Task,
    Wait,
)
from redrive.languages.states.expressions import is_expression
from redrive.languages.states.reading.assignments import read_assign
from redrive.languages.states.reading.choices import read_rules
from redrive.languages.states.reading.errors import read_catch, read_retry
from redrive.languages.states.reading.fields import SECONDS_MAX, Fields
from redrive.languages.states.reading.maps import ReadBranch, read_map
from redrive.languages.states.templates import Literal, Template
from redrive.languages.states.timestamps import read_timestamp

TYPES: Final = ("Task", "Wait", "Pass", "Succeed", "Fail", "Choice", "Parallel", "Map")
"""In the order in which AWS names them."""

_WITH_NEXT = frozenset({"Task", "Wait", "Pass", "Parallel", "Map"})
_WITH_RESULT = frozenset({"Task", "Parallel", "Map"})
_WITH_FLOW = frozenset(TYPES) - {"Fail"}

JSONPATH_FIELDS: Final = frozenset(
    {
        "InputPath", "OutputPath", "Parameters", "ResultPath", "ResultSelector", "Result", "TimeoutSecondsPath",
        "HeartbeatSecondsPath", "SecondsPath", "TimestampPath", "ErrorPath", "CausePath", "ItemsPath",
        "MaxConcurrencyPath", "ToleratedFailureCountPath", "ToleratedFailurePercentagePath",
    }
)  # fmt: skip
JSONATA_FIELDS: Final = frozenset({"Arguments", "Output", "Items"})


def read_state(name: str, fields: Fields, read_branch: ReadBranch) -> State | None:
    """A state; None if its type is unknown. Faults are noted."""
    if not fields.require(["Type"]):
        return None
    kind = fields.take("Type")
    if kind not in TYPES or not isinstance(kind, str):
        fields.fault(f"The field 'Type' should have one of these values: [{', '.join(TYPES)}]", "Type")
        return None
    _refuse_other_language(fields)
    common = _common(name, kind, fields)
    if kind == "Map":
        state: State = read_map(fields, common, read_branch)
    elif kind == "Parallel":
        state = _parallel(fields, common, read_branch)
    else:
        state = _PLAIN[kind](fields, common)
    fields.refuse_others()
    return state


def _refuse_other_language(fields: Fields) -> None:
    foreign = JSONPATH_FIELDS if fields.is_jsonata else JSONATA_FIELDS
    needed = QueryLanguage.JSONPATH if fields.is_jsonata else QueryLanguage.JSONATA
    for name in fields.document:
        if name in foreign:
            fields.take(name)
            fields.fault(f"The field '{name}' is only supported when 'QueryLanguage' is '{needed.value}'", name)


def _common(name: str, kind: str, fields: Fields) -> dict[str, object]:
    common: dict[str, object] = {
        "name": name,
        "query_language": fields.language,
        "comment": fields.text("Comment"),
    }
    fields.take("QueryLanguage")
    if kind in _WITH_NEXT:
        common["next"] = _next(fields)
    if kind in _WITH_FLOW:
        common["assign"] = () if kind == "Succeed" else read_assign(fields)
        if fields.is_jsonata:
            common["output"] = fields.template("Output")
        else:
            common["input_path"] = fields.whole("InputPath")
            common["output_path"] = fields.whole("OutputPath")
    if kind in _WITH_RESULT:
        common["retry"] = read_retry(fields)
        common["catch"] = read_catch(fields)
    if fields.is_jsonata:
        if kind in {"Task", "Parallel"}:
            common["parameters"] = fields.template("Arguments")
        return common
    if kind in {"Task", "Parallel", "Pass"}:
        common["parameters"] = fields.template("Parameters")
    if kind in _WITH_RESULT:
        common["result_selector"] = fields.template("ResultSelector")
    if kind in _WITH_RESULT or kind == "Pass":
        common["result_path"] = fields.result_path()
    return common


def _next(fields: Fields) -> str | None:
    target = fields.text("Next")
    end = fields.take("End")
    if fields.has("End") and not isinstance(end, bool):
        fields.fault("Expected value of type Boolean", "End")
    if fields.has("Next") and end is True:
        fields.fault("Only one of these fields can be given: [Next, End]")
    elif not fields.has("Next") and end is not True:
        fields.fault("One of these fields is required: [Next, End]")
    return target


def _task(fields: Fields, common: dict[str, object]) -> State:
    fields.require(["Resource"])
    credentials = None
    if fields.has("Credentials"):
        inner = fields.inner("Credentials")
        if not inner.has("RoleArn") and not inner.has("RoleArn.$"):
            inner.fault("The field 'RoleArn' is required but was missing")
        credentials = fields.template("Credentials")
    task = Task(
        **common,  # type: ignore[arg-type]  # They are those of State.
        resource=fields.text("Resource") or "",
        timeout=_seconds(fields, "TimeoutSeconds"),
        heartbeat=_seconds(fields, "HeartbeatSeconds"),
        credentials=credentials,
    )
    timeout, heartbeat = task.timeout, task.heartbeat
    if isinstance(heartbeat, Literal) and isinstance(timeout, Literal):
        beat, limit = heartbeat.content, timeout.content
        if isinstance(beat, int) and isinstance(limit, int) and beat >= limit:
            fields.fault("HeartbeatSeconds must be smaller than TimeoutSeconds", "HeartbeatSeconds")
    return task


def _seconds(fields: Fields, name: str) -> Template | None:
    return fields.computed(name, lambda one: fields.integer(one, 1, SECONDS_MAX))


def _pass(fields: Fields, common: dict[str, object]) -> State:
    result = fields.take("Result") if fields.has("Result") and not fields.is_jsonata else ABSENT
    return Pass(**common, result=result)  # type: ignore[arg-type]  # As above.


def _wait(fields: Fields, common: dict[str, object]) -> State:
    names = ["Seconds", "Timestamp"] if fields.is_jsonata else ["Seconds", "Timestamp", "SecondsPath", "TimestampPath"]
    given = [name for name in names if fields.has(name)]
    if len(given) != 1:
        fields.fault(f"Exactly one of these fields is required: [{', '.join(names)}]")
    return Wait(
        **common,  # type: ignore[arg-type]  # As above.
        seconds=fields.computed("Seconds", lambda one: fields.integer(one, 0, SECONDS_MAX)),
        timestamp=fields.computed("Timestamp", lambda one: _timestamp(fields, one)),
    )


def _timestamp(fields: Fields, name: str) -> str | None:
    text = fields.text(name)
    if text is not None and not is_expression(text) and read_timestamp(text) is None:
        fields.fault("String does not match RFC3339 timestamp", name)
        return None
    return text


def _choice(fields: Fields, common: dict[str, object]) -> State:
    fields.require(["Choices"])
    rules = read_rules(fields)
    return Choice(**common, choices=rules, default=fields.text("Default"))  # type: ignore[arg-type]  # As above.


def _succeed(_: Fields, common: dict[str, object]) -> State:
    return Succeed(**common)  # type: ignore[arg-type]  # As above.


def _fail(fields: Fields, common: dict[str, object]) -> State:
    return Fail(
        **common,  # type: ignore[arg-type]  # As above.
        error=_told(fields, "Error"),
        cause=_told(fields, "Cause"),
    )


def _told(fields: Fields, name: str) -> Template | None:
    if not fields.is_jsonata and fields.has(f"{name}Path"):
        if fields.has(name):
            fields.fault(f"Only one of '{name}' and '{name}Path' can be given")
        fields.take(name)
        return fields.located(f"{name}Path")
    return fields.computed(name, fields.text, with_path=False)


def _parallel(fields: Fields, common: dict[str, object], read_branch: ReadBranch) -> State:
    fields.require(["Branches"])
    branches: list[Branch] = [read_branch(branch) for branch in fields.elements("Branches")]
    return Parallel(**common, branches=tuple(branches))  # type: ignore[arg-type]  # As above.


_PLAIN: Final[dict[str, Callable[[Fields, dict[str, object]], State]]] = {
    "Choice": _choice,
    "Fail": _fail,
    "Pass": _pass,
    "Succeed": _succeed,
    "Task": _task,
    "Wait": _wait,
}
