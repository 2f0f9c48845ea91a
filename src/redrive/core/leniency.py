"""How stacks handle the parts of a template that AWS has and redrive does not serve."""

from __future__ import annotations

import enum


class OnUnknown(enum.Enum):
    """How a stack handles resource types and properties that AWS has and redrive does not serve.

    REFUSE refuses them by name, except types that only describe or observe. WARN leaves out such properties, and
    creates resources of such types that do nothing and have no attributes. STUB also gives these resources made-up
    attributes.
    """

    REFUSE = "refuse"
    WARN = "warn"
    STUB = "stub"
