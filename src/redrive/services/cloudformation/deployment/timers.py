"""The timers of stacks with an operation under way."""

from __future__ import annotations

from redrive.core.scope import Scope

STACK_TIMER = "cloudformation.stack"
"""The kind of these timers, and the name of their worker."""


def timer_name(scope: Scope, stack_name: str) -> str:
    """Return the name of a stack's timer."""
    return f"{scope}/{stack_name}"
