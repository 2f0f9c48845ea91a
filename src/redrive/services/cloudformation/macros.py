"""Macros by their names, and the templates that wait for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.scope import Caller


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro by its name, and the function that it is."""

    KIND: ClassVar[str] = "cloudformation.macro"

    name: str
    function_name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class MacroCall:
    """A template that waits for macros: that of a stack, or with `change_set` that of a change set.

    `fence` counts how often a function was asked: only the latest answer counts. `principal` is who asks.
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
