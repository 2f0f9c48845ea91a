"""The timers of stacks that are being worked on."""

from __future__ import annotations

from redrive.core.scope import Scope

STACK_TIMER = "cloudformation.stack"
"""The kind of these timers, and the name of the worker that they wake."""


def timer_name(scope: Scope, stack_name: str) -> str:
    """The name of a stack's timer."""
    return f"{scope}/{stack_name}"
