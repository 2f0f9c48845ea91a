"""Which of several mistakes in one expression is reported: the mistake that AWS checks first.

AWS checks an expression in stages, each over the whole text. This room parses the text once, notes the first mistake of
every stage, and reports the earliest stage. A syntax error ends parsing and takes precedence over all stages.
"""

from __future__ import annotations

from enum import IntEnum

from redrive.languages.dynamo.refusals import invalid


class Stage(IntEnum):
    """The stages in AWS's order."""

    FUNCTIONS = 1
    RESERVED_WORDS = 2
    SECTIONS = 3
    PLACEHOLDERS = 4
    PATHS = 5
    ACTIONS = 6
    OPERANDS = 7


class Findings:
    """The first mistake of each stage in one expression."""

    __slots__ = ("_first", "_parameter")

    def __init__(self, parameter: str) -> None:
        self._parameter = parameter
        self._first: dict[Stage, str] = {}

    def note(self, stage: Stage, message: str) -> None:
        """Keep this mistake, unless the stage already has a mistake."""
        self._first.setdefault(stage, message)

    def note_type(self, operator: str, type_name: str) -> None:
        """Note an operand of a type that the operator or function does not accept."""
        self.note(
            Stage.OPERANDS,
            "Incorrect operand type for operator or function; "
            f"operator or function: {operator}, operand type: {type_name}",
        )

    def note_count(self, function: str, count: int) -> None:
        """Note a function with too few or too many arguments."""
        self.note(
            Stage.OPERANDS,
            "Incorrect number of operands for operator or function; "
            f"operator or function: {function}, number of operands: {count}",
        )

    def note_path_required(self, function: str) -> None:
        """Note a function whose first argument is not a document path."""
        self.note(
            Stage.OPERANDS,
            f"Operator or function requires a document path; operator or function: {function}",
        )

    def first(self) -> str | None:
        """The mistake of the earliest stage, or None."""
        return self._first[min(self._first)] if self._first else None

    def report(self) -> None:
        """Refuse the expression if a mistake was noted. Errors: ValidationException, of the earliest stage."""
        if self._first:
            raise invalid(f"Invalid {self._parameter}: {self._first[min(self._first)]}")
