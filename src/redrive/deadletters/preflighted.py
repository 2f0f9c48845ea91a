"""The gates of a preflight as one gate of a run: what they refuse, have wait, or know to be done, stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.deadletters.destinations import Destination, To, usual
from redrive.deadletters.findings import Answer
from redrive.deadletters.gates import Refusal
from redrive.deadletters.letter import Letter
from redrive.deadletters.preflight import Gates, Preflight
from redrive.deadletters.sources import Client
from redrive.deadletters.targets import Addressee

_NOT_ASKED = frozenset({To.BUS, To.API})
"""Destinations that are named by a name alone: whether they exist shows when the letter is sent."""


class Preflighted:
    """Asks the gates of each letter, about the destination to which the plan sends it."""

    def __init__(self, client: Client, now: Callable[[], Instant], gates: Gates) -> None:
        self._client = client
        self._now = now
        self._gates = gates
        self._usual = Preflight(client, now, gates)
        self._elsewhere: dict[Destination, Preflight] = {}

    def refusal(self, letter: Letter, to: Destination) -> Refusal | None:
        """The first of the reasons that weigh most; None if the letter may go. Errors: ClientError."""
        (findings,) = self._preflight(letter, to).examine([letter])
        worst = max(findings, key=lambda finding: finding.answer, default=None)
        if worst is None or not (worst.answer.refuses or worst.answer is Answer.SKIP):
            return None
        return Refusal(worst.gate, worst.reason)

    def _preflight(self, letter: Letter, to: Destination) -> Preflight:
        if usual(letter, self._gates.sources) == to:
            return self._usual
        if to not in self._elsewhere:
            target = Addressee("" if to.kind in _NOT_ASKED else to.name)
            self._elsewhere[to] = Preflight(self._client, self._now, replace(self._gates, target=target))
        return self._elsewhere[to]
