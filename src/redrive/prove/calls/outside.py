"""Answers of AWS services that the engine does not have: made up from their models, so that a handler can continue.

A call that changes something counts as an effect, and its answer says only that it succeeded: ids are invented, lists
are empty. A call that reads is answered with each member of its shape once; the user is told that it was made up.
"""

from __future__ import annotations

from botocore.model import StructureShape

from redrive.prove.calls.calls import Call, Params
from redrive.prove.guess.answers import read_answer

_PLAIN: dict[str, object] = {"integer": 0, "long": 0, "float": 0.0, "double": 0.0, "boolean": False}


def made_up_answer(call: Call, output: StructureShape | None, serial: int) -> Params:
    """The answer to a call; `output` is the shape of its output."""
    if not call.changes:
        return read_answer(output, dict(call.params))
    answer: dict[str, object] = {"ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}}
    for name, shape in () if output is None else output.members.items():
        match shape.type_name:
            case "string":
                answer[name] = f"{name}-{serial}"
            case "list":
                answer[name] = []
            case "structure" | "map":
                answer[name] = {}
            case kind if kind in _PLAIN:
                answer[name] = _PLAIN[kind]
            case _:
                pass
    return answer
