"""All histories up to so many faults, those with the fewest first.

    a stem is a history that was played up to its last fault; from there it is played on without faults to its end
    each call and each pause that is passed on the way gives stems with one fault more
    a moment like one that was reached before, by no more faults, is not gone on from: everything after it is known

Moments are looked at between legs and, within a leg, after each call when its faults have struck. There a leg is like
another one if the world is, and those who run have met the same: a run is the same as long as it meets the same, so
both go on alike, and what strikes at the calls to come was or will be tried with the other one. The other one has no
more faults, because histories come in the order of their faults; so the first counterexample found is one of the
shortest, and none is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from redrive.core.clock import DAY_MS, MINUTE_MS
from redrive.prove.calls.batches import can_be_partly_refused
from redrive.prove.judge.judge import Judge, Rule, Violation
from redrive.prove.play.events import Called, Delivered, Event
from redrive.prove.play.faults import (
    DUPLICATE_DELAYS_MS,
    REDRIVE_DELAYS_MS,
    REDRIVES_MAX,
    STRIKES_AFTER,
    Act,
    Fault,
    History,
    Leg,
    Strike,
)
from redrive.prove.play.performance import Moment, Performance
from redrive.prove.stage.stage import START
from redrive.prove.stage.tape import Beginning, Known, Strayed, Tape
from redrive.prove.stage.trigger import Trigger

DUPLICATES_UNTIL_MS = 14 * DAY_MS
"""How late after the first message a duplicate may come: no queue keeps one longer."""


@dataclass(frozen=True, slots=True)
class Stem:
    """Where to go on: play `leg` from `moment`, to which `path` has led."""

    moment: Moment
    leg: Leg
    path: History
    faults: int
    beginning: Beginning | None = None
    """How far the leg is known already, from one that began alike."""
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
    faults: int = -1
    """All histories with so many faults were played; -1 is none."""
    is_finished: bool = False


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

    def run(self, progress: Progress, may_go_on: Callable[[], bool] = lambda: True) -> Searched:
        """Search until a rule is broken or there is nothing left to play, or for as long as it may."""
        searched = Searched()
        self._stems.append(Stem(self._performance.save(), Leg(), (), 0))
        suspected: Found | None = None
        while self._stems and searched.found is None and may_go_on():
            stem = self._stems.popleft()
            searched.faults = stem.faults - 1
            if suspected is not None and stem.faults > sum(leg.faults for leg in suspected.history):
                break
            searched.histories += 1
            progress(stem.faults, searched.histories, len(self._stems))
            found = self._play_out(stem, searched)
            if found is not None and found.violation.rule is Rule.UNSTUCK:
                suspected = suspected or found  # Work that is lost or repeated with as few faults tells more.
            else:
                searched.found = found
        searched.is_finished = not self._stems
        searched.faults = self._faults_max if searched.is_finished else searched.faults
        searched.found = searched.found or suspected
        return searched

    def finish(self, path: History, events: list[Event]) -> Violation | None:
        """Play on without faults after a history that was played already; what happens is added to `events`."""
        redriven = [number for number, leg in enumerate(path) if leg.act is Act.REDRIVE]
        after = path[redriven[-1] :] if redriven else path
        is_clean = not any(leg.faults for leg in after)
        here = Stem(self._performance.save(), Leg(), path, 0, redrives=len(redriven), is_clean=is_clean)
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
            may_fail = stem.faults < self._faults_max and not stem.is_last
            is_over = self._play(stem, may_fail=may_fail)
            events = self._performance.events
            searched.runs += self._performance.runs - stem.moment.runs
            path = (*stem.path, stem.leg)
            if may_fail:
                self._stems.extend(_struck(stem, events, self._performance.stage.tape, self._performance.trigger))
            violation = self._judge.after_leg(self._performance, events)
            if violation is not None:
                return Found(path, violation)
            if is_over:
                searched.merged += 1
                return None
            is_pending = self._performance.waiting.is_pending
            key = self._key(stem, is_pending=is_pending)
            if self._visit(key, may_fail=may_fail):
                searched.merged += 1
                return None
            here = replace(stem, moment=self._performance.save(), leg=Leg(), path=path, beginning=None)
            if may_fail:
                self._stems.extend(self._duplicates(here, is_pending=is_pending))
            if not is_pending:
                return self._end(here)
            stem = here

    def _play(self, stem: Stem, *, may_fail: bool) -> bool:
        """Play the leg of a stem, whose moment it is; whether it was left because the rest of it is known."""

        def is_known() -> bool:
            if not may_fail and not stem.leg.strikes:
                return False  # It began at a moment that is new, and is seldom like another leg before its end.
            return self._visit(self._key(stem, is_pending=True), may_fail=may_fail)

        self._performance.is_known = is_known
        try:
            self._performance.play(stem.leg, stem.beginning, is_marked=may_fail)
        except Known:
            return True
        except Strayed:  # A handler that is not the same from run to run is played with whatever it does now.
            self._performance.load(stem.moment)
            return self._play(replace(stem, beginning=None), may_fail=may_fail)
        finally:
            self._performance.is_known = lambda: False
        return False

    def _visit(self, key: tuple[object, ...], *, may_fail: bool) -> bool:
        """Whether this was gone on from before, with as many faults left; now it is."""
        if self._visited.get(key, False) or (key in self._visited and not may_fail):
            return True
        self._visited[key] = may_fail
        return False

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

    @property
    def _kept_ms(self) -> int:
        """How long the dead letters are still kept."""
        return self._performance.trigger.retention_ms - (self._performance.stage.now - self._performance.sent_at)

    def _redrives(self, here: Stem) -> list[Stem]:
        delays = sorted({min(delay, self._kept_ms - MINUTE_MS) for delay in REDRIVE_DELAYS_MS})
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
        """While a message waits a duplicate comes at once; otherwise as late as it can, and dead letters are there."""
        age_ms = self._performance.stage.now - START
        for delay in DUPLICATE_DELAYS_MS[: 1 if is_pending else None]:
            if self._performance.waiting.dead and delay >= self._kept_ms:
                continue
            if delay == 0 or age_ms + delay <= DUPLICATES_UNTIL_MS + DAY_MS:
                for message in range(len(self._performance.trigger.bodies)):
                    leg = Leg(Act.DUPLICATE, delay, message=message)
                    yield replace(here, leg=leg, faults=here.faults + 1, is_clean=False)

    def _key(self, stem: Stem, *, is_pending: bool) -> tuple[object, ...]:
        """Two histories with the same key go on alike.

        Where no message is left, that it is later makes no difference of its own: duplicates come at several times.
        """
        performance = self._performance
        now = performance.stage.now if is_pending or performance.waiting.dead else 0
        return performance.likeness(), now, performance.outage, stem.redrives, stem.is_clean


def _struck(stem: Stem, events: Sequence[Event], tape: Tape, trigger: Trigger) -> Iterator[Stem]:
    """The stems with one fault more at a call of this leg, after those that have struck already.

    Up to that fault they are this leg. Faults of the answer leave the call itself as it is.
    """
    last = max((strike.at for strike in stem.leg.strikes if isinstance(strike.at, int)), default=-1)
    given = {event.run: len(event.message_ids) for event in events if isinstance(event, Delivered)}
    for event in events:
        if isinstance(event, Called) and event.index > last:
            strikes = [Strike(event.index, fault) for fault in _faults_at(event, is_outage=bool(stem.moment.outage))]
            for strike in (*strikes, *_let_in_at(event, trigger, given[event.run])):
                mark = tape.marks.get((event.index, strike.fault in STRIKES_AFTER))
                leg = replace(stem.leg, strikes=(*stem.leg.strikes, strike))
                beginning = None if mark is None else Beginning(tape.answers, mark)
                yield replace(stem, leg=leg, faults=stem.faults + 1, is_clean=False, beginning=beginning)


def _let_in_at(event: Called, trigger: Trigger, given: int) -> Iterator[Strike]:
    """Other runs that begin and end before a call: with a duplicate, and with a message that this run was given.

    A run that comes before the first call comes before the whole. A FIFO queue hands out no message twice.
    """
    if event.index == 0 or event.is_nested:
        return
    for fault in (Fault.OVERLAP, Fault.OVERLAP_LATE):
        yield from (Strike(event.index, fault, message) for message in range(len(trigger.bodies)))
    for fault in () if trigger.is_fifo else (Fault.AGAIN, Fault.AGAIN_LATE):
        yield from (Strike(event.index, fault, message) for message in range(given))


def _faults_at(event: Called, *, is_outage: bool) -> Iterator[Fault]:
    """What can strike at a call itself. What would come to the same as a fault at another call is left out.

    Dying before a call is dying after the one before it, unless another run has come in between; dying after a call
    that has changed nothing is dying before it.
    """
    took_effect = event.times > 0 and event.call.changes
    if event.index == 0 or event.is_resumed:
        yield Fault.CRASH_BEFORE
    if took_effect:
        yield Fault.CRASH_AFTER
    if took_effect:
        yield Fault.LOST
        if event.is_retried:
            yield Fault.LOST_AND_RETRIED
        if can_be_partly_refused(event.call):
            yield Fault.PARTLY_REFUSED
    if not event.outcome:
        yield Fault.THROTTLED
        if not is_outage:
            yield Fault.OUTAGE
