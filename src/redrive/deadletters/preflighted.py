"""The gates of a preflight as one gate of a run: what they refuse, have wait, or know to be done, stays."""

from __future__ import annotations

from collections.abc import Callable

from redrive.core.clock import Instant
from redrive.deadletters.destinations import Destination
from redrive.deadletters.findings import Answer
from redrive.deadletters.gates import Refusal
from redrive.deadletters.letter import Letter
from redrive.deadletters.preflight import Gates, Preflight
from redrive.deadletters.sources import Client


class Preflighted:
    """Asks the gates of each letter, about the destination to which the plan sends it."""

    def __init__(self, client: Client, now: Callable[[], Instant], gates: Gates) -> None:
        self._preflight = Preflight(client, now, gates)

    def refusal(self, letter: Letter, to: Destination) -> Refusal | None:
        """The first of the reasons that weigh most; None if the letter may go. Errors: ClientError."""
        (findings,) = self._preflight.examine([letter], to)
        worst = max(findings, key=lambda finding: finding.answer, default=None)
        if worst is None or not (worst.answer.refuses or worst.answer is Answer.SKIP):
            return None
        return Refusal(worst.gate, worst.reason, is_done=worst.answer is Answer.SKIP)
