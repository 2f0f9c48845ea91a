"""Macros, and the templates that wait for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.scope import Caller


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: its name, and its function."""

    KIND: ClassVar[str] = "cloudformation.macro"

    name: str
    function_name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class MacroCall:
    """A template that waits for macros: the template of a stack, or of a change set if `change_set` is set.

    `fence` counts the calls of functions: only the answer to the latest call counts. `principal` makes the calls.
    """

    KIND: ClassVar[str] = "cloudformation.macro_call"

    stack_name: str
    stack: str
    change_set: str
    principal: Caller
    fence: int = 0

    @property
    def name(self) -> str:
        return f"{self.stack_name}/{self.change_set}"
