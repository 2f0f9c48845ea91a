"""All histories up to so many faults, those with the fewest first.

    a stem is a history that was played up to its last fault; from there it is played on without faults to its end
    each call and each pause that is passed on the way gives stems with one fault more
    a moment that was reached before, by no more faults, is not gone on from: everything after it is known

So the first counterexample found is one of the shortest, and equal states are explored once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from redrive.core.clock import DAY_MS, MINUTE_MS
from redrive.prove.events import Called, Event
from redrive.prove.faults import DUPLICATE_DELAYS_MS, REDRIVE_DELAYS_MS, Act, Fault, History, Leg, Strike
from redrive.prove.judge import Judge, Rule, Violation
from redrive.prove.performance import Moment, Performance
from redrive.prove.stage import START

REDRIVES_MAX = 3
"""How often a dead letter is redriven in one history."""
DUPLICATES_UNTIL_MS = 14 * DAY_MS
"""How late after the first message a duplicate may come: no queue keeps one longer."""


@dataclass(frozen=True, slots=True)
class Stem:
    """Where to go on: play `leg` from `moment`, to which `path` has led."""

    moment: Moment
    leg: Leg
    path: History
    faults: int
    redrives: int = 0
    is_clean: bool = True
    """Whether no fault has struck since the last redrive."""
    is_last: bool = False
    """Whether no further faults are tried from here."""


@dataclass(frozen=True, slots=True)
class Found:
    """A history that breaks a rule."""

    history: History
    violation: Violation


@dataclass(slots=True)
class Searched:
    """What a search has done: histories played, how often one met a known moment, and runs of the handler."""

    histories: int = 0
    merged: int = 0
    runs: int = 0
    found: Found | None = None


Progress = Callable[[int, int, int], None]
"""Is told the number of faults that is being explored, the histories so far, and those that wait."""


class Search:
    """Plays the histories of one performance, from the moment it is in."""

    def __init__(self, performance: Performance, judge: Judge, *, faults_max: int) -> None:
        self._performance = performance
        self._judge = judge
        self._faults_max = faults_max
        self._stems: deque[Stem] = deque()
        self._branches: list[Stem] = []
        self._visited: dict[tuple[object, ...], bool] = {}
        """The moments that were gone on from, and whether further faults were tried there."""

    def run(self, progress: Progress) -> Searched:
        """Search until a rule is broken or there is nothing left to play."""
        searched = Searched()
        self._stems.append(Stem(self._performance.save(), Leg(), (), 0))
        suspected: Found | None = None
        while self._stems and searched.found is None:
            stem = self._stems.popleft()
            if suspected is not None and stem.faults > sum(leg.faults for leg in suspected.history):
                break
            searched.histories += 1
            progress(stem.faults, searched.histories, len(self._stems))
            found = self._play_out(stem, searched)
            if found is not None and found.violation.rule is Rule.UNSTUCK:
                suspected = suspected or found  # Work that is lost or repeated with as few faults tells more.
            else:
                searched.found = found
        searched.found = searched.found or suspected
        return searched

    def finish(self, path: History, events: list[Event]) -> Violation | None:
        """Play on without faults after a history that was played already; what happens is added to `events`."""
        redriven = [number for number, leg in enumerate(path) if leg.act is Act.REDRIVE]
        after = path[redriven[-1] :] if redriven else path
        is_clean = not any(leg.faults for leg in after)
        here = Stem(self._performance.save(), Leg(), path, 0, len(redriven), is_clean)
        while self._performance.waiting.is_pending:
            events += self._performance.play(Leg())
            violation = self._judge.after_leg(self._performance, events)
            if violation is not None:
                return violation
        here = replace(here, moment=self._performance.save())
        found = self._end(here)
        branches = list(reversed(self._branches))
        while found is None and branches:
            found = self._play_out(branches.pop(0), Searched())
        return None if found is None else found.violation

    def _play_out(self, stem: Stem, searched: Searched) -> Found | None:
        """Play a history to its end, and all its ends where a redrive can come at different times."""
        self._branches = [stem]
        suspected: Found | None = None
        while self._branches:
            branch = self._branches.pop()
            self._performance.load(branch.moment)
            found = self._play_on(branch, searched)
            if found is not None and found.violation.rule is not Rule.UNSTUCK:
                return found
            suspected = suspected or found
        return suspected

    def _play_on(self, stem: Stem, searched: Searched) -> Found | None:
        while True:
            runs = self._performance.runs
            events = self._performance.play(stem.leg)
            searched.runs += self._performance.runs - runs
            path = (*stem.path, stem.leg)
            may_fail = stem.faults < self._faults_max and not stem.is_last
            if may_fail:
                self._stems.extend(_struck(stem, events, is_outage=bool(stem.moment.outage)))
            violation = self._judge.after_leg(self._performance, events)
            if violation is not None:
                return Found(path, violation)
            is_pending = self._performance.waiting.is_pending
            key = self._key(stem, is_pending=is_pending)
            if key in self._visited and self._visited[key] >= may_fail:
                searched.merged += 1
                return None
            self._visited[key] = may_fail
            here = replace(stem, moment=self._performance.save(), leg=Leg(), path=path)
            if may_fail:
                self._stems.extend(self._duplicates(here, is_pending=is_pending))
            if not is_pending:
                return self._end(here)
            stem = here

    def _end(self, here: Stem) -> Found | None:
        """No message waits: judge, and redrive what is among the dead letters."""
        violation = self._judge.at_end(self._performance)
        if violation is None and self._performance.waiting.dead:
            if here.redrives and here.is_clean:
                violation = self._hopeless(here)
            elif here.redrives < REDRIVES_MAX:
                self._branches.extend(reversed(self._redrives(here)))
        return None if violation is None else Found(here.path, violation)

    def _hopeless(self, here: Stem) -> Violation | None:
        """A redrive at once may come before a lease has ended; the latest one may not fail."""
        last = next(leg for leg in reversed(here.path) if leg.act is Act.REDRIVE)
        return self._judge.after_hopeless_redrive(self._performance) if last.delay_ms >= DAY_MS else None

    def _redrives(self, here: Stem) -> list[Stem]:
        left_ms = self._performance.trigger.retention_ms - (self._performance.stage.now - self._performance.sent_at)
        delays = sorted({min(delay, left_ms - MINUTE_MS) for delay in REDRIVE_DELAYS_MS})
        extremes = (delays[0], delays[-1])
        if here.faults == self._faults_max:
            delays = sorted(set(extremes))
        return [
            replace(
                here, leg=Leg(Act.REDRIVE, delay), redrives=here.redrives + 1, is_clean=True,
                is_last=here.is_last or delay not in extremes,
            )
            for delay in delays
            if delay >= 0
        ]  # fmt: skip

    def _duplicates(self, here: Stem, *, is_pending: bool) -> Iterator[Stem]:
        """While a message waits a duplicate comes at once; otherwise as late as it can."""
        age_ms = self._performance.stage.now - START
        for delay in DUPLICATE_DELAYS_MS[: 1 if is_pending else None]:
            if delay == 0 or age_ms + delay <= DUPLICATES_UNTIL_MS + DAY_MS:
                yield replace(here, leg=Leg(Act.DUPLICATE, delay), faults=here.faults + 1, is_clean=False)

    def _key(self, stem: Stem, *, is_pending: bool) -> tuple[object, ...]:
        """Two histories with the same key go on alike.

        Where no message is left, that it is later makes no difference of its own: duplicates come at several times.
        """
        stage, traces, outage = self._performance.stage, self._performance.journal.traces, self._performance.outage
        now = stage.now if is_pending or self._performance.waiting.dead else 0
        return stage.digest(), now, traces, outage, stem.redrives, stem.is_clean


def _struck(stem: Stem, events: Sequence[Event], *, is_outage: bool) -> Iterator[Stem]:
    """The stems with one fault more at a call of this leg, after those that have struck already."""
    last = max((strike.at for strike in stem.leg.strikes), default=-1)
    for event in events:
        if isinstance(event, Called) and event.index > last:
            for fault in _faults_at(event, is_outage=is_outage):
                leg = replace(stem.leg, strikes=(*stem.leg.strikes, Strike(event.index, fault)))
                yield replace(stem, leg=leg, faults=stem.faults + 1, is_clean=False)


def _faults_at(event: Called, *, is_outage: bool) -> Iterator[Fault]:
    """What can strike at a call. What would come to the same as a fault at another call is left out.

    Dying before a call is dying after the one before it; dying after a call that has changed nothing is dying before
    it; a run that overlaps the first call comes before the whole.
    """
    took_effect = event.times > 0 and event.call.changes
    if event.index == 0:
        yield Fault.CRASH_BEFORE
    if took_effect:
        yield Fault.CRASH_AFTER
    if event.index > 0 and not event.is_nested:
        yield Fault.OVERLAP
        yield Fault.OVERLAP_LATE
    if took_effect:
        yield Fault.LOST
        if event.is_retried:
            yield Fault.LOST_AND_RETRIED
    if not event.outcome:
        yield Fault.THROTTLED
        if not is_outage:
            yield Fault.OUTAGE
