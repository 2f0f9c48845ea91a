"""What becomes of the parts of a template that AWS has and redrive does not serve."""

from __future__ import annotations

import enum


class OnUnknown(enum.Enum):
    """How a stack takes resource types and properties that AWS has and redrive does not serve.

    REFUSE refuses them by name, but for types that only describe or observe. WARN leaves out such properties, and makes
    resources of such types that do nothing and have no attributes. STUB gives those resources made-up attributes, too.
    """

    REFUSE = "refuse"
    WARN = "warn"
    STUB = "stub"
