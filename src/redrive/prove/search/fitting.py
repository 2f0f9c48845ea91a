"""The first run of a handler in its world, and what of a world that was made for the handler has to fit its answers."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.prove.play.events import Ended, Ending, Event
from redrive.prove.play.performance import Performance
from redrive.prove.search.clean import play_clean
from redrive.prove.stage.reports import refitted
from redrive.prove.stage.tape import Saved

MAPPING = "mapping"
"""The name of the guess at the mapping."""


def play_fitted(performance: Performance, saved: Saved) -> tuple[Saved, dict[str, str]]:
    """Play a clean run from the world `saved`, and go back to this world as it has to be for the handler's answers.

    If the answers do not fit the mapping that was made for the handler, the mapping is changed. Returns the world
    before its first message, and what was assumed. Errors: UserError as in `play_clean`.
    """
    stage, trigger = performance.stage, performance.trigger
    answers: list[str] = []

    def fit(events: Sequence[Event]) -> None:
        new = [one.answer for one in events if isinstance(one, Ended) and one.ending is Ending.RETURNED]
        answers.extend(new)
        refitted(stage, trigger, new)

    play_clean(performance, fit)
    stage.load(saved)
    why = refitted(stage, trigger, answers)
    return (stage.save(), {MAPPING: why}) if why else (saved, {})
