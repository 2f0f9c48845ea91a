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

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from redrive.core.clock import DAY_MS, MINUTE_MS
from redrive.prove.calls.batches import can_be_partly_refused
from redrive.prove.calls.calls import HTTP_SERVICE, Call
from redrive.prove.judge.judge import Judge, Rule, Violation
from redrive.prove.play.events import Called, Delivered, Event
from redrive.prove.play.faults import (
    BUS_DELAYS_MS,
    DUPLICATE_DELAYS_MS,
    REDRIVE_DELAYS_MS,
    REDRIVES_MAX,
    STREAM_DELAYS_MS,
    STRIKES_AFTER,
    Act,
    Fault,
    History,
    Leg,
    Reuse,
    Strike,
)
from redrive.prove.play.performance import Moment, Performance
from redrive.prove.search.choice import EVERYTHING, Choice
from redrive.prove.stage.stage import START
from redrive.prove.stage.tape import Beginning, Known, Strayed, Tape
from redrive.prove.stage.trigger import Kind, Trigger

DUPLICATES_UNTIL_MS = 14 * DAY_MS
"""The latest duplicate after the first message: no queue keeps a message longer."""


@dataclass(frozen=True, slots=True)
class Stem:
    """Where to continue: play `leg` from `moment`, which `path` has reached."""

    moment: Moment
    leg: Leg
    path: History
    faults: int
    beginning: Beginning | None = None
    """The known beginning of the leg, from a leg that began alike."""
    redrives: int = 0
    is_clean: bool = True
    """Whether no fault has struck since the last redrive."""
    is_last: bool = False
    """Whether no further faults are tried from here."""
    struck: Call | None = None
    """The call at which the last fault of the leg strikes."""

    @property
    def trying(self) -> str:
        """The last fault, for the user: `crash-after dynamodb:PutItem reports`."""
        if self.struck is None or not self.leg.strikes:
            return self.leg.act.value
        call = self.struck
        return f"{self.leg.strikes[-1].fault.value} {call.service}:{call.operation} {call.target}".rstrip()


@dataclass(frozen=True, slots=True)
class Found:
    """A history that breaks a rule."""

    history: History
    violation: Violation


@dataclass(slots=True)
class Searched:
    """The statistics of a search: histories played, how many met a known moment, and runs of the handler."""

    histories: int = 0
    merged: int = 0
    runs: int = 0
    found: Found | None = None
    complete_faults: int = -1
    """The number of faults up to which all histories were played; -1 is none."""
    is_finished: bool = False

    def with_more(self, other: Searched) -> Searched:
        """Both searches as one, as of two draws of a handler's randomness."""
        sums = (self.histories + other.histories, self.merged + other.merged, self.runs + other.runs)
        is_finished = self.is_finished and other.is_finished
        return Searched(*sums, other.found, min(self.complete_faults, other.complete_faults), is_finished)


Progress = Callable[[int, int, int, str], None]
"""Receives the current number of faults, the number of histories so far, the number that wait, and what is tried."""


class Search:
    """Plays the histories of one performance, from its current moment."""

    def __init__(
        self, performance: Performance, judge: Judge, *, faults_max: int, choice: Choice = EVERYTHING
    ) -> None:  # fmt: skip
        self._performance = performance
        self._choice = choice
        self._judge = judge
        self._faults_max = faults_max
        self._stems: deque[Stem] = deque()
        self._branches: list[Stem] = []
        self._is_exploring = True
        """Whether histories are played in other environments, too."""
        self._visited: dict[tuple[object, ...], bool] = {}
        """The moments that were continued from, and whether further faults were tried there."""

    def run(self, progress: Progress, may_go_on: Callable[[], bool] = lambda: True) -> Searched:
        """Search until a rule is broken or nothing is left to play, while `may_go_on`."""
        searched = Searched()
        self._performance.remember()
        self._stems.append(Stem(self._performance.save(), Leg(), (), 0))
        suspected: Found | None = None
        while self._stems and searched.found is None and may_go_on():
            stem = self._stems.popleft()
            searched.complete_faults = stem.faults - 1
            if suspected is not None and stem.faults > sum(leg.faults for leg in suspected.history):
                break
            searched.histories += 1
            progress(stem.faults, searched.histories, len(self._stems), stem.trying)
            found = self._play_out(stem, searched)
            if found is not None and found.violation.rule is Rule.UNSTUCK:
                suspected = suspected or found  # Lost or repeated work with as few faults is the better counterexample.
            else:
                searched.found = found
        searched.is_finished = not self._stems
        if searched.is_finished:
            searched.complete_faults = self._faults_max
        elif searched.found is None and searched.histories:  # The next history may be the first with one fault more.
            searched.complete_faults = max(searched.complete_faults, self._stems[0].faults - 1)
        searched.found = searched.found or suspected
        return searched

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
            found = self._play_out(branches.pop(0), Searched())
        return None if found is None else found.violation

    def _play_out(self, stem: Stem, searched: Searched) -> Found | None:
        """Play a history to its end, and to each of its ends if a redrive can come at different times."""
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
            if self._performance.is_holding and self._is_exploring:
                self._branches.extend(_with_another(stem, events, self._performance.stage.tape))
            if may_fail:
                struck = _struck(stem, events, self._performance.stage.tape, self._let_in_at, self._choice)
                self._stems.extend(struck)
            violation = self._judge.after_leg(self._performance, events)
            if violation is not None:
                return Found(path, violation)
            if self._performance.is_endless:  # That is accepted.
                return None
            if is_over:
                searched.merged += 1
                return None
            is_pending = self._performance.waiting.is_pending
            key = self._key(stem, is_pending=is_pending)
            if self._visit(key, may_fail=may_fail):
                searched.merged += 1
                return None
            onward = Leg(reuse=stem.leg.reuse)
            here = replace(stem, moment=self._performance.save(), leg=onward, path=path, beginning=None)
            if may_fail:
                again = self._duplicates(here, is_pending=is_pending)
                chosen = (one for one in again if one.leg.act in self._choice)
                self._stems.extend(variant for one in chosen for variant in self._in_environments(one))
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

    def _visit(self, key: tuple[object, ...], *, may_fail: bool) -> bool:
        """Whether this moment was continued before, with as many faults left; marks it as continued."""
        if self._visited.get(key, False) or (key in self._visited and not may_fail):
            return True
        self._visited[key] = may_fail
        return False

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
        delays = _delays_of(trigger)
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
        return _let_in_at(event, self._performance.trigger, len(given.message_ids), self._sent)

    @property
    def _sent(self) -> int:
        """How many messages have come."""
        return 1 if self._performance.is_holding else len(self._performance.trigger.bodies)

    def _key(self, stem: Stem, *, is_pending: bool) -> tuple[object, ...]:
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


LetsIn = Callable[[Called, Delivered], Iterator[Strike]]
"""The runs that can come in between, at a call of a run that was given this."""


def _struck(
    stem: Stem, events: Sequence[Event], tape: Tape, let_in_at: LetsIn, choice: Choice
) -> Iterator[Stem]:  # fmt: skip
    """The stems with one fault more at a call of this leg, after the faults that have struck already.

    Up to that fault they equal this leg. Faults of the answer leave the call itself unchanged.
    """
    last = max((strike.at for strike in stem.leg.strikes if isinstance(strike.at, int)), default=-1)
    given = {event.run: event for event in events if isinstance(event, Delivered)}
    for event in events:
        if isinstance(event, Called) and event.index > last:
            faults = _faults_at(event, choice, is_outage=bool(stem.moment.outage))
            strikes = [Strike(event.index, fault) for fault in faults]
            for strike in (*strikes, *let_in_at(event, given[event.run])):
                if strike.fault not in choice:
                    continue
                mark = tape.marks.get((event.index, strike.fault in STRIKES_AFTER))
                leg = replace(stem.leg, strikes=(*stem.leg.strikes, strike))
                beginning = None if mark is None else Beginning(tape.answers, mark)
                yield replace(
                    stem, leg=leg, faults=stem.faults + 1, is_clean=False, beginning=beginning, struck=event.call
                )


def _with_another(stem: Stem, events: Sequence[Event], tape: Tape) -> Iterator[Stem]:
    """The stems in which another message comes and is worked on before a call of this leg: this is no fault."""
    last = max((strike.at for strike in stem.leg.strikes if isinstance(strike.at, int)), default=-1)
    for event in events:
        if isinstance(event, Called) and event.index > last and not event.is_nested:
            mark = tape.marks.get((event.index, False))
            leg = replace(stem.leg, strikes=(*stem.leg.strikes, Strike(event.index, Fault.BESIDE)))
            beginning = None if mark is None else Beginning(tape.answers, mark)
            yield replace(stem, leg=leg, beginning=beginning, struck=event.call)


def _delays_of(trigger: Trigger) -> Sequence[int]:
    """How long after it was done something may come again. Whoever awaits an answer asks again at once, or never."""
    if trigger.is_awaited:
        return DUPLICATE_DELAYS_MS[:1]
    return BUS_DELAYS_MS if trigger.is_direct else STREAM_DELAYS_MS if trigger.is_stream else DUPLICATE_DELAYS_MS


def _let_in_at(event: Called, trigger: Trigger, given: int, sent: int) -> Iterator[Strike]:
    """Runs that begin and end before a call: with a duplicate, and with a message of this run.

    A run before the first call is a run before the whole. A FIFO queue delivers no message twice, and nothing of a
    group while a message of it is worked on. A bus delivers a duplicate as a request of its own; Lambda's own queue of
    events may give the same request to two runs. Whoever awaits an answer may lose patience, and ask again.
    """
    if event.index == 0 or event.is_nested or trigger.is_fifo:
        return
    if trigger.awaiting is not None and not trigger.awaiting.may_overlap(trigger.timeout_ms):
        return
    if trigger.is_stream:  # A shard's next batch waits; but the batch under way may be read a second time.
        yield from (Strike(event.index, fault) for fault in (Fault.AGAIN, Fault.AGAIN_LATE))
        return
    for fault in (Fault.OVERLAP, Fault.OVERLAP_LATE):
        yield from (Strike(event.index, fault, message) for message in range(sent))
    for fault in () if trigger.is_awaited else (Fault.AGAIN, Fault.AGAIN_LATE):
        yield from (Strike(event.index, fault, message) for message in range(given))


def _faults_at(event: Called, choice: Choice, *, is_outage: bool) -> Iterator[Fault]:
    """The faults that can strike at a call itself. A fault that equals a fault at another call is left out.

    A crash before a call equals a crash after the previous call, unless another run came in between, or crashes after
    calls are not tried; a crash after a call that has changed nothing equals a crash before it.
    """
    took_effect = event.times > 0 and (event.call.changes or event.is_declared)
    is_http = event.call.service == HTTP_SERVICE
    if event.index == 0 or event.is_resumed or Fault.CRASH_AFTER not in choice:
        yield Fault.CRASH_BEFORE
    if took_effect:
        yield Fault.CRASH_AFTER
    if took_effect:
        yield Fault.LOST
        if event.is_retried:
            yield Fault.LOST_AND_RETRIED
        if can_be_partly_refused(event.call):
            yield Fault.PARTLY_REFUSED
        if is_http:
            yield Fault.BAD_GATEWAY
    if not event.outcome:
        yield Fault.THROTTLED
        if not is_outage:
            yield Fault.OUTAGE
        if is_http:
            yield Fault.UNREACHED
