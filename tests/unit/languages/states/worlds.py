"""Bindings and machines for tests."""

from __future__ import annotations

import json
from typing import Any

from redrive.core.entropy import SeededEntropy
from redrive.languages.states import Bindings, State, StateMachine, read_definition

NOW = 1_700_000_000_000
CONTEXT: dict[str, Any] = {
    "Execution": {"Id": "arn:aws:states:us-east-1:000000000000:execution:m:x", "Name": "x", "Input": {"a": 1}},
    "State": {"Name": "S", "RetryCount": 0},
}
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"


def bindings(**variables: object) -> Bindings:
    """Surroundings with these variables."""
    return Bindings(CONTEXT, SeededEntropy("states"), NOW, variables)


def machine(states: dict[str, Any], **members: Any) -> StateMachine:
    """A machine that begins with the first of its states."""
    return read_definition(json.dumps({"StartAt": next(iter(states)), "States": states, **members}))


def state(definition: dict[str, Any]) -> State:
    """A state; the states that it leads to are made up."""
    text = json.dumps(definition)
    others = {
        name: {"Type": "Succeed"}
        for name in ("A", "B", "C")
        if f'"Next": "{name}"' in text or f'"Default": "{name}"' in text
    }
    return machine({"S": definition, **others}).states["S"]
