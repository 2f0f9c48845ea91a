"""What a handler that draws randomness does differently from draw to draw, although nothing goes wrong.

Each run has a seed of its own, so a second attempt draws anew. What a draw alone decides is not held against a handler:
an effect that some draws leave and others do not may be missing, and a value that differs is not compared. A handler
that draws is judged on several draws, since one of them need not come to the calls in which a fault does harm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from redrive.core.errors import UserError
from redrive.prove.effects.contents import Left, facts_of
from redrive.prove.judge.judge import left_of
from redrive.prove.play.events import Called, Event
from redrive.prove.play.performance import Performance

DRAWS_LOOKED_AT = 5
"""So many runs without a fault are compared, each with another seed."""
DRAWS_JUDGED = 3
"""On so many of them a handler is judged at most; on two, if only values differ."""

Outline = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""The calls of a clean run, and what they say, without ids and times."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A clean run with one seed. `kinds` are how many effects of each kind it leaves, with the ledger's rows."""

    seed: int
    outline: Outline
    kinds: Mapping[str, int]
    left: Sequence[Left]


@dataclass(frozen=True, slots=True)
class Draws:
    """The seeds on which a handler is judged; kinds whose number differs, with the least and the most; what is left."""

    seeds: tuple[int, ...] = ()
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    left: Sequence[Sequence[Left]] = ()


NO_DRAWS = Draws()


def draw_of(performance: Performance, seed: int, play: Callable[[Performance], Sequence[Event]]) -> Draw | None:
    """What a clean run with this seed does; None if it fails."""
    own = f"sqs:*:{performance.trigger.queue_name}"
    performance.journal.sorting = replace(performance.journal.sorting, ignored=(own,))
    try:
        events = play(performance)
    except UserError:
        return None
    stable = performance.journal.stable
    outline = tuple(
        (event.call.name, tuple((path, stable(text)) for path, text in facts_of(event.call.params)))
        for event in events
        if isinstance(event, Called) and not event.call.matches((own,))
    )
    kinds: Counter[str] = Counter()
    for (kind, _), count in performance.journal.counts().items():
        kinds[kind] += count
    return Draw(seed, outline, kinds, left_of(performance))


def draws_of(draws: Sequence[Draw]) -> Draws:
    """How draws differ; the first one is that of the seed that was asked for."""
    if len({draw.outline for draw in draws}) < 2:
        return Draws(tuple(draw.seed for draw in draws[:1]))
    kinds = sorted({kind for draw in draws for kind in draw.kinds})
    counts = {kind: [draw.kinds.get(kind, 0) for draw in draws] for kind in kinds}
    ranges = {kind: (min(found), max(found)) for kind, found in counts.items() if len(set(found)) > 1}
    return Draws(tuple(draw.seed for draw in _judged(draws)), ranges, [draw.left for draw in draws[1:]])


def _judged(draws: Sequence[Draw]) -> list[Draw]:
    """One draw for each number of effects, those with most first; one more if all draws leave as many."""
    useful = [draw for draw in draws if draw.kinds] or list(draws)
    by_number: dict[tuple[tuple[str, int], ...], Draw] = {}
    for draw in useful:
        by_number.setdefault(tuple(sorted(draw.kinds.items())), draw)
    first, *others = by_number.values()
    others.sort(key=lambda draw: -sum(draw.kinds.values()))
    if not others:
        others = [draw for draw in useful if draw.outline != first.outline][:1]
    return [first, *others][:DRAWS_JUDGED]
