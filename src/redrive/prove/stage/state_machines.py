"""The tasks of a template's state machines that invoke its functions: their Retry, Catch, timeout and payload.

Everything here is pure: it reads a template after its transforms.
Source: https://states-language.net/spec.html and
https://docs.aws.amazon.com/step-functions/latest/dg/connect-lambda.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.languages.template import TemplateError, read_root
from redrive.prove.stage.retriers import Awaiting, task

_MACHINE = "AWS::StepFunctions::StateMachine"
_REFERENCE = re.compile(r"\$\{([A-Za-z0-9]+)(?:\.[A-Za-z0-9.]+)?\}")
_INVOKE = ":lambda:invoke"
_NAMED = re.compile(r"^arn:.*:function:")


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task of a state machine that invokes a function, all by their logical ids.

    `payload` is the input as the definition makes it; None if it is the state's own.
    """

    machine: str
    name: str
    function: str
    awaiting: Awaiting
    payload: Document | None


def tasks_of(template: Mapping[str, object], functions: Mapping[str, str]) -> Iterator[TaskState]:
    """The tasks of a template that invoke one of these functions, in the order of their definitions.

    `functions` has the names of the functions by their logical ids: a definition may name them in either way.
    """
    resources = template.get("Resources")
    for machine, resource in resources.items() if isinstance(resources, dict) else ():
        if not isinstance(resource, dict) or resource.get("Type") != _MACHINE:
            continue
        properties = _object(resource.get("Properties"))
        is_express = _text(properties.get("StateMachineType")) == "EXPRESS"
        for name, state in _states(_definition(properties)):
            function = _function_of(state, functions)
            if function is not None:
                yield TaskState(str(machine), name, function, task(state, is_express=is_express), _payload(state))


def _definition(properties: Document) -> Document:
    """The definition of a machine, with `${LogicalId}` in place of what refers to a resource."""
    names = {name: _text(value) for name, value in _object(properties.get("DefinitionSubstitutions")).items()}
    own = properties.get("Definition")
    text = _text(properties.get("DefinitionString")) if own is None else json.dumps(_plain(own))
    text = re.sub(r"\$\{([A-Za-z0-9_]+)\}", lambda found: _within(names.get(found[1], found[0])), text)
    try:
        return _object(json.loads(text))
    except ValueError:
        pass
    try:
        return _object(read_root(text))
    except TemplateError:
        return {}


def _within(text: str) -> str:
    """A text as it stands inside of a text of JSON."""
    return json.dumps(text)[1:-1]


def _states(node: object) -> Iterator[tuple[str, Document]]:
    """All states of a definition with their names, those of branches and of maps included."""
    if isinstance(node, list):
        for one in node:
            yield from _states(one)
        return
    if not isinstance(node, dict):
        return
    for name, state in _object(node.get("States")).items():
        if isinstance(state, dict):
            yield str(name), state
            yield from _states(list(state.values()))


def _function_of(state: Document, functions: Mapping[str, str]) -> str | None:
    """The function that a task invokes; an alias or a version is called after its function."""
    if state.get("Type") != "Task":
        return None
    resource = str(state.get("Resource", ""))
    if _INVOKE in resource:
        resource = str(_arguments(state).get("FunctionName", ""))
    for name in _REFERENCE.findall(resource):
        found = [one for one in functions if name.startswith(one)]
        if found:
            return max(found, key=len)
    named = _NAMED.sub("", resource).partition(":")[0]
    return next((logical_id for logical_id, name in functions.items() if name == named), None)


def _payload(state: Document) -> Document | None:
    arguments = _arguments(state)
    made = arguments.get("Payload") if _INVOKE in str(state.get("Resource", "")) else arguments or None
    return made if isinstance(made, dict) else None


def _arguments(state: Document) -> Document:
    return _object(state.get("Parameters")) or _object(state.get("Arguments"))


def _text(node: object) -> str:
    """A value of a template as a text, with `${LogicalId}` for what refers to a resource."""
    if isinstance(node, str):
        return node
    if not isinstance(node, dict) or len(node) != 1:
        return "" if node is None else str(node)
    ((name, value),) = node.items()
    match name, value:
        case "Ref", str():
            return f"${{{value}}}"
        case "Fn::GetAtt", str():
            return f"${{{value.partition('.')[0]}}}"
        case "Fn::GetAtt", [str(resource), *_]:
            return f"${{{resource}}}"
        case "Fn::Sub", str():
            return value
        case "Fn::Sub", [str(text), dict(values)]:
            return re.sub(r"\$\{([^}!]+)\}", lambda found: _text(values.get(found[1], found[0])), text)
        case "Fn::Join", [str(separator), list(parts)]:
            return separator.join(map(_text, parts))
        case _:
            return ""


def _plain(node: object) -> object:
    """A part of a template without references."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    is_reference = len(node) == 1 and next(iter(node)) in {"Ref", "Fn::GetAtt", "Fn::Sub", "Fn::Join"}
    return _text(node) if is_reference else {name: _plain(one) for name, one in node.items()}


def _object(node: object) -> Document:
    return node if isinstance(node, dict) else {}
