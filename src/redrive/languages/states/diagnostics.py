"""What is wrong with a definition, as ValidateStateMachineDefinition and InvalidDefinition tell."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

SCHEMA_VALIDATION_FAILED = "SCHEMA_VALIDATION_FAILED"
MISSING_TRANSITION_TARGET = "MISSING_TRANSITION_TARGET"
INVALID_JSON_DESCRIPTION = "INVALID_JSON_DESCRIPTION"


class Severity(enum.Enum):
    """Errors refuse a definition; warnings do not."""

    ERROR = "ERROR"
    WARNING = "WARNING"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault: where it stands is a path such as /States/Pay/Next."""

    code: str
    message: str
    location: str
    severity: Severity = Severity.ERROR

    def sentence(self) -> str:
        """The fault as the refusal of CreateStateMachine has it."""
        if self.code == INVALID_JSON_DESCRIPTION:
            return f"{self.code}: {self.message}"
        return f"{self.code}: {self.message} at {self.location}"


class MalformedDefinition(ValueError):
    """The definition has errors."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(", ".join(one.sentence() for one in diagnostics))
        self.diagnostics = tuple(diagnostics)

    def message(self) -> str:
        """The message of the error InvalidDefinition."""
        return f"Invalid State Machine Definition: '{self}'"
