"""The first run of a handler in its world, and what of a world that was made for the handler has to fit its answers."""

from __future__ import annotations

from redrive.core.errors import UserError
from redrive.prove.play.events import Ended, Ending, Event
from redrive.prove.play.performance import Performance
from redrive.prove.search.clean import play_clean
from redrive.prove.stage.reports import refitted
from redrive.prove.stage.tape import Saved

MAPPING = "mapping"
"""The name of the guess at the mapping."""


def play_fitted(performance: Performance, saved: Saved) -> tuple[Saved, dict[str, str]]:
    """Play a clean run from the world `saved`, which is left as it was before its first message.

    If the answers do not fit the mapping that was made for the handler, the mapping is changed, and the run is played
    again. Returns the world before its first message, and what was assumed. Errors: UserError as in `play_clean`.
    """
    trigger, refused = performance.trigger, None
    try:
        events: list[Event] = play_clean(performance)
    except UserError as error:
        events, refused = performance.events, error
    answers = [one.answer for one in events if isinstance(one, Ended) and one.ending is Ending.RETURNED]
    performance.stage.load(saved)
    why = refitted(performance.stage, trigger, answers)
    if not why:
        if refused is not None:
            raise refused
        return saved, {}
    saved = performance.stage.save()
    performance.begin(trigger)
    play_clean(performance)
    performance.stage.load(saved)
    return saved, {MAPPING: why}
