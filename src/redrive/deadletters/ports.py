"""What a run of a plan needs from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from redrive.core.clock import Instant
from redrive.deadletters.contents import Contents
from redrive.deadletters.destinations import Destination, SourcesOf, read_destination
from redrive.deadletters.gates import Gate
from redrive.deadletters.hiding import Spread
from redrive.deadletters.journal import Journal
from redrive.deadletters.letter import Letter
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Refined, as_it_is
from redrive.deadletters.watching import FirstLetters

Tell = Callable[[Destination, Sequence[tuple[Letter, str]]], None]
"""Told of letters that were accepted, each with its new id, before they are deleted; of a letter perhaps twice."""


def told_nobody(to: Destination, letters: Sequence[tuple[Letter, str]]) -> None:
    """Nobody wants to know: on AWS there is no history to write into."""


RECEIVES = 20
"""How many receives a round has: two hundred letters share the writes of the journal."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What a run needs from outside. `wait` waits so many seconds; `export` returns when the letters are on disk."""

    sqs: Any
    sender: Sender
    journal: Journal
    now: Callable[[], Instant]
    wait: Callable[[float], None]
    sources: SourcesOf
    export: Callable[[Sequence[Letter]], None]
    gates: Sequence[Gate] = ()
    spread: Spread = map
    receives: int = RECEIVES
    watch: FirstLetters | None = None
    """Asks what became of the first letters; without it only their return to the queue tells."""
    contents: Contents | None = None
    """Fetches work that letters do not hold; without it they stay."""
    refined: Refined = as_it_is
    """Gives a letter the error that logs tell, if the plan was made with logs."""
    tell: Tell = told_nobody


def tell_of_earlier(ports: Ports, letters: Sequence[Letter]) -> None:
    """Tell of letters that an earlier run has sent, by its journal."""
    by_destination: dict[str, list[tuple[Letter, str]]] = {}
    for letter in letters:
        sent = ports.journal.sent_letters.get(letter.message_id)
        if sent is not None and sent.to:
            by_destination.setdefault(sent.to, []).append((letter, sent.new_id))
    for to, told in by_destination.items():
        ports.tell(read_destination(to), told)
