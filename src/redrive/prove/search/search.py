"""Searches all histories up to a number of faults, those with the fewest first.

    a stem is a history that was played up to its last fault; from there it is played to its end without faults
    each call and each pause on that way gives new stems with one fault more
    a moment equal to an earlier one, with no more faults, is not continued: everything after it is known

Moments are compared between legs and, within a leg, after each call and its faults. Within a leg, two moments are equal
if the world is equal and the current runs have observed the same: a run behaves the same as long as it observes the
same. So both continue alike, and the search tries the faults at later calls from the other moment. The other moment has
no more faults, because histories come in the order of their faults; so the first counterexample found is one of the
shortest, and none is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from redrive.core.clock import DAY_MS, MINUTE_MS
from redrive.prove.judge.judge import Judge, Rule, Violation
from redrive.prove.play.events import Called, Delivered, Event
from redrive.prove.play.faults import (
    REDRIVE_DELAYS_MS,
    REDRIVES_MAX,
    Act,
    History,
    Leg,
    Reuse,
    Strike,
)
from redrive.prove.play.performance import Performance
from redrive.prove.search.choice import EVERYTHING, Choice
from redrive.prove.search.order import Found, Key, Played, Progress, Searched, Visit, is_visited, searched_by
from redrive.prove.search.stems import Stem, delays_of, let_in_at, struck, with_another
from redrive.prove.stage.stage import START
from redrive.prove.stage.tape import Known, Strayed
from redrive.prove.stage.trigger import Kind

DUPLICATES_UNTIL_MS = 14 * DAY_MS
"""The latest duplicate after the first message: no queue keeps a message longer."""


class Search:
    """Plays the histories of one performance, from its current moment."""

    def __init__(
        self, performance: Performance, judge: Judge, *, faults_max: int, choice: Choice = EVERYTHING
    ) -> None:  # fmt: skip
        self._performance = performance
        self._choice = choice
        self._judge = judge
        self._faults_max = faults_max
        self._branches: list[Stem] = []
        self._is_exploring = True
        """Whether histories are played in other environments, too."""
        self._played = Played()
        self.visited: dict[Key, bool] = {}
        """The moments that were continued from, and whether further faults were tried there."""

    def run(self, progress: Progress, may_go_on: Callable[[], bool] = lambda: True) -> Searched:
        """Search until a rule is broken or nothing is left to play, while `may_go_on`."""

        def play(stem: Stem) -> tuple[Played, Sequence[Stem]]:
            played = self.play(stem)
            return played, played.stems

        return searched_by(play, self.begin(), progress, may_go_on, faults_max=self._faults_max)

    @property
    def faults_max(self) -> int:
        """The most faults of a history."""
        return self._faults_max

    def begin(self) -> Stem:
        """The history without faults, which all others grow from."""
        self._performance.remember()
        return Stem(self._performance.save(), Leg(), (), 0)

    def play(self, stem: Stem) -> Played:
        """Play a history to its end, or until it is known how it goes on."""
        self._played = Played()
        self._played.found = self._play_out(stem)
        return self._played

    def finish(self, path: History, events: list[Event]) -> Violation | None:
        """Play on without faults after a history that was played already; appends what happens to `events`."""
        self._is_exploring = False
        redriven = [number for number, leg in enumerate(path) if leg.act is Act.REDRIVE]
        after = path[redriven[-1] :] if redriven else path
        is_clean = not any(leg.faults for leg in after)
        onward = Leg(reuse=path[-1].reuse) if path else Leg()
        here = Stem(self._performance.save(), onward, path, 0, redrives=len(redriven), is_clean=is_clean)
        while self._performance.waiting.is_pending:
            events += self._performance.play(onward)
            violation = self._judge.after_leg(self._performance, events)
            if violation is not None or self._performance.is_endless:
                return violation
        here = replace(here, moment=self._performance.save())
        found = self._end(here)
        branches = list(reversed(self._branches))
        while found is None and branches:
            found = self.play(branches.pop(0)).found
        return None if found is None else found.violation

    def _play_out(self, stem: Stem) -> Found | None:
        """Play a history to its end, and to each of its ends if a redrive can come at different times."""
        self._branches = [stem]
        suspected: Found | None = None
        while self._branches:
            branch = self._branches.pop()
            self._performance.load(branch.moment)
            found = self._play_on(branch)
            if found is not None and found.violation.rule is not Rule.UNSTUCK:
                return found
            suspected = suspected or found
        return suspected

    def _play_on(self, stem: Stem) -> Found | None:
        played = self._played
        while True:
            may_fail = stem.faults < self._faults_max and not stem.is_last
            is_over = self._play(stem, may_fail=may_fail)
            events = self._performance.events
            played.runs += self._performance.runs - stem.moment.runs
            path = (*stem.path, stem.leg)
            if self._performance.is_holding and self._is_exploring:
                self._branches.extend(with_another(stem, events, self._performance.stage.tape))
            if may_fail:
                tape = self._performance.stage.tape
                played.stems.extend(struck(stem, events, tape, self._let_in_at, self._choice))
            violation = self._judge.after_leg(self._performance, events)
            if violation is not None:
                return Found(path, violation)
            if self._performance.is_endless:  # That is accepted.
                return None
            if is_over:
                played.merged += 1
                return None
            is_pending = self._performance.waiting.is_pending
            key = self._key(stem, is_pending=is_pending)
            if self._visit(key, may_fail=may_fail):
                played.merged += 1
                return None
            onward = Leg(reuse=stem.leg.reuse)
            here = replace(stem, moment=self._performance.save(), leg=onward, path=path, beginning=None)
            if may_fail:
                again = self._duplicates(here, is_pending=is_pending)
                chosen = (one for one in again if one.leg.act in self._choice)
                played.stems.extend(variant for one in chosen for variant in self._in_environments(one))
            if not is_pending:
                return self._end(here)
            stem, *others = self._in_environments(here)
            if self._performance.may_come_between and self._is_exploring:
                others += self._in_environments(replace(here, leg=replace(here.leg, act=Act.NEXT)))
            self._branches.extend(others)

    def _play(self, stem: Stem, *, may_fail: bool) -> bool:
        """Play the leg of a stem from its moment; returns whether the rest was skipped because it is known."""

        def is_known() -> bool:
            if not may_fail and not stem.leg.strikes:
                return False  # It began at a new moment, and is seldom equal to another leg before its end.
            return self._visit(self._key(stem, is_pending=True), may_fail=may_fail)

        self._performance.is_known = is_known
        try:
            self._performance.play(stem.leg, stem.beginning, is_marked=may_fail or self._performance.is_holding)
        except Known:
            return True
        except Strayed:  # A handler that behaves differently from run to run is played with its current behaviour.
            self._performance.load(stem.moment)
            return self._play(replace(stem, beginning=None), may_fail=may_fail)
        finally:
            self._performance.is_known = lambda: False
        return False

    def _visit(self, key: Key, *, may_fail: bool) -> bool:
        """Whether this moment was continued before, with as many faults left; marks it as continued."""
        was_known = is_visited(self.visited, key, may_fail=may_fail)
        self._played.visits.append(Visit(key, may_fail, was_known))
        if not was_known:
            self.visited[key] = may_fail
        return was_known

    def _end(self, here: Stem) -> Found | None:
        """No message waits: judge, and redrive the dead letters."""
        violation = self._judge.at_end(self._performance)
        if violation is None and self._performance.waiting.dead:
            if here.redrives and here.is_clean:
                violation = self._hopeless(here)
            elif here.redrives < REDRIVES_MAX and Act.REDRIVE in self._choice:
                redrives = reversed(self._redrives(here))
                self._branches.extend(variant for one in redrives for variant in self._in_environments(one))
        return None if violation is None else Found(here.path, violation)

    def _in_environments(self, stem: Stem) -> list[Stem]:
        """A stem in a new environment first, then in each that is idle. A history changes over once: what then
        follows is in environments that were used before, as far as there are any.
        """
        if stem.leg.reuse is not Reuse.NEW or not self._is_exploring:
            return [stem]
        used = [replace(stem, leg=replace(stem.leg, reuse=one)) for one in self._performance.reusable]
        return [stem, *used]

    def _hopeless(self, here: Stem) -> Violation | None:
        """A violation if the latest possible redrive failed; an immediate redrive may come before a lease has ended."""
        last = next(leg for leg in reversed(here.path) if leg.act is Act.REDRIVE)
        late_ms = min(DAY_MS, self._performance.trigger.retention_ms // 2)
        return self._judge.after_hopeless_redrive(self._performance) if last.delay_ms >= late_ms else None

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
                here, leg=Leg(Act.REDRIVE, delay, reuse=here.leg.reuse), redrives=here.redrives + 1, is_clean=True,
                is_last=here.is_last or delay not in extremes,
            )
            for delay in delays
            if delay >= 0
        ]  # fmt: skip

    def _duplicates(self, here: Stem, *, is_pending: bool) -> Iterator[Stem]:
        """Duplicates: at once while a message waits; otherwise after each delay for which dead letters are kept."""
        age_ms = self._performance.stage.now - START
        trigger = self._performance.trigger
        delays = delays_of(trigger)
        for delay in delays[: 1 if is_pending else None]:
            if self._performance.waiting.dead and delay >= self._kept_ms:
                continue
            if delay == 0 or age_ms + delay <= DUPLICATES_UNTIL_MS + DAY_MS:
                for message in range(self._sent):
                    for act in self._acts(message, delay, is_pending=is_pending):
                        leg = Leg(act, delay, message=message, reuse=here.leg.reuse)
                        yield replace(here, leg=leg, faults=here.faults + 1, is_clean=False)

    def _acts(self, message: int, delay_ms: int, *, is_pending: bool) -> Iterator[Act]:
        """How a message may come again. What depends on the delay is found by the duplicates of the bus.

        A table's stream has each change once; whatever it is, a stream's mapping may read it again.
        """
        trigger = self._performance.trigger
        if trigger.is_stream and message == 0 and not is_pending:
            yield Act.REREAD
        if trigger.kind is not Kind.DYNAMODB:
            yield Act.DUPLICATE
        if delay_ms == 0 and trigger.is_direct and trigger.event_id(message):
            yield Act.REPUBLISH

    def _let_in_at(self, event: Called, given: Delivered) -> Iterator[Strike]:
        """The runs that can come in between at a call."""
        return let_in_at(event, self._performance.trigger, len(given.message_ids), self._sent)

    @property
    def _sent(self) -> int:
        """How many messages have come."""
        return 1 if self._performance.is_holding else len(self._performance.trigger.bodies)

    def _key(self, stem: Stem, *, is_pending: bool) -> Key:
        """The deduplication key: two histories with the same key continue alike.

        Where no message is left, a later time alone makes no difference: duplicates come at several times.
        """
        performance = self._performance
        now = performance.stage.now if is_pending or performance.waiting.dead else 0
        return (
            performance.likeness(),
            now,
            performance.outage,
            stem.redrives,
            stem.is_clean,
            stem.leg.reuse,
            performance.is_holding,
        )
