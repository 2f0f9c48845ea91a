"""Answers of AWS services that the engine does not have: made up from their models, so that a handler can go on.

Such a call is counted as what it is, an effect, and its answer says only that it went well: ids are invented, lists are
empty. A handler that asks such a service for something cannot be answered honestly, and is not.
"""

from __future__ import annotations

from typing import Protocol

from redrive.core.errors import UserError
from redrive.prove.calls.calls import Call, Params


class Shape(Protocol):
    """What is used of a shape of botocore's."""

    @property
    def type_name(self) -> str: ...


_PLAIN: dict[str, object] = {"integer": 0, "long": 0, "float": 0.0, "double": 0.0, "boolean": False}


class Unanswerable(BaseException):
    """The handler asks what only AWS could answer. No Exception, so that the handler does not go on after it."""

    def __init__(self, call: Call) -> None:
        super().__init__(str(call))
        self.call = call

    def as_user_error(self) -> UserError:
        """What a person is told."""
        return UserError(
            f"The handler calls {self.call}, and redrive has no {self.call.service} to ask.",
            next_step="Put the call into a function of its own and prove the handler with that function replaced: "
            "redrive.testing.prove takes a callable.",
        )


def made_up_answer(call: Call, members: dict[str, Shape], serial: int) -> Params:
    """The answer to a call that changes something; `members` are those of its output. Errors: Unanswerable."""
    if not call.changes:
        raise Unanswerable(call)
    answer: dict[str, object] = {"ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}}
    for name, shape in members.items():
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
