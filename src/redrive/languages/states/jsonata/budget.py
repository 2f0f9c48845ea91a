"""How much work an expression may do. It counts what is done, not time: an expression ends the same everywhere."""

from __future__ import annotations

from redrive.languages.states.jsonata.failures import FailedEvaluation

WORK_MAX = 1_000_000
"""Units of roughly a microsecond."""
EVALUATION_COST = 5
FRAMES_MAX = 750
"""Python's frames that nested parts of an expression may take, of the thousand that there are."""
PART_FRAMES = 3
LAMBDA_FRAMES = 6
NATIVE_FRAMES = 10
CHARACTERS_MAX = 1_000_000
INTEGER_MAX = 2**1024


class Budget:
    """The work that an evaluation has done, and its depth."""

    def __init__(self) -> None:
        self._left = WORK_MAX
        self._frames = 0

    def enter(self, frames: int) -> None:
        """Something that may evaluate parts begins. Errors: FailedEvaluation."""
        self._frames += frames
        if self._frames > FRAMES_MAX:
            raise too_deep()

    def leave(self, frames: int) -> None:
        """It has ended."""
        self._frames -= frames

    def charge(self, units: int) -> None:
        """Count work that is about to be done. Errors: FailedEvaluation."""
        self._left -= units
        if self._left < 0:
            raise FailedEvaluation("D1012: The expression does more work than is allowed. Check for infinite loop")

    def weigh(self, *values: object) -> None:
        """Count the nodes and characters of values, which a function is about to go through."""
        waiting: list[object] = list(values)
        while waiting:
            value = waiting.pop()
            self.charge(1)
            if isinstance(value, str):
                self.charge(len(value) // 64)
            elif isinstance(value, dict):
                waiting.extend(value.values())
            elif isinstance(value, list):
                self.charge(len(value))
                waiting.extend(value)

    def check_size(self, value: object) -> None:
        """Refuse a value that grew too large. Errors: FailedEvaluation."""
        if isinstance(value, str):
            if len(value) > CHARACTERS_MAX:
                raise FailedEvaluation(f"A text has more than {CHARACTERS_MAX} characters")
        elif isinstance(value, list):
            self.charge(len(value) // 4)
        elif isinstance(value, int) and not -INTEGER_MAX < value < INTEGER_MAX:
            raise FailedEvaluation("D1001: Number out of range")


def too_deep() -> FailedEvaluation:
    """The failure of an expression that calls itself too often."""
    return FailedEvaluation(
        "D1011: Stack overflow. Check for non-terminating recursive function. Consider rewriting as tail-recursive"
    )
