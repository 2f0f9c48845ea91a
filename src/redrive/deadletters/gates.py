"""Gates: what has to say yes before a letter is sent. The run knows this port alone; preflight has the gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from redrive.deadletters.destinations import Destination
from redrive.deadletters.letter import Letter


@dataclass(frozen=True, slots=True)
class Refusal:
    """A gate's no: the name of the gate, and a sentence that says why the letter is not safe to send."""

    gate: str
    reason: str
    is_done: bool = False
    """Whether the work is known to be done: the letter is not needed any more."""


class Gate(Protocol):
    """Says of a letter whether it is safe to send now."""

    def refusal(self, letter: Letter, to: Destination) -> Refusal | None:
        """The reason against sending the letter; None if there is none. It may ask AWS. Errors: ClientError."""
        ...
