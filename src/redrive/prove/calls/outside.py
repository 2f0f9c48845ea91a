"""Answers of AWS services that the engine does not have: made up from their models, so that a handler can continue.

Such a call counts as an effect, and its answer says only that it succeeded: ids are invented, lists are empty. A call
that reads from such a service gets no answer: no made-up answer would be honest.
"""

from __future__ import annotations

from typing import Protocol

from redrive.core.errors import UserError
from redrive.prove.calls.calls import Call, Params


class Shape(Protocol):
    """The part of botocore's shape that is used here."""

    @property
    def type_name(self) -> str: ...


_PLAIN: dict[str, object] = {"integer": 0, "long": 0, "float": 0.0, "double": 0.0, "boolean": False}


class Unanswerable(BaseException):
    """The handler reads what only AWS could answer. Not an Exception, so that the handler does not catch it."""

    def __init__(self, call: Call) -> None:
        super().__init__(str(call))
        self.call = call

    def as_user_error(self) -> UserError:
        """The message for the user."""
        return UserError(
            f"The handler calls {self.call}, and redrive has no {self.call.service} to ask.",
            next_step="Put the call into a function of its own and prove the handler with that function replaced: "
            "redrive.testing.prove takes a callable.",
        )


def made_up_answer(call: Call, members: dict[str, Shape], serial: int) -> Params:
    """The answer to a call that changes something; `members` are its output's. Errors: Unanswerable."""
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
