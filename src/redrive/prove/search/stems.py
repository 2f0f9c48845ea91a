"""Where a search goes on: the histories that a history has, with one fault more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from redrive.prove.calls.batches import can_be_partly_refused
from redrive.prove.calls.calls import HTTP_SERVICE, Call
from redrive.prove.play.events import Called, Delivered, Event
from redrive.prove.play.faults import (
    BUS_DELAYS_MS,
    DUPLICATE_DELAYS_MS,
    STREAM_DELAYS_MS,
    STRIKES_AFTER,
    Fault,
    History,
    Leg,
    Strike,
)
from redrive.prove.play.performance import Moment
from redrive.prove.search.choice import Choice
from redrive.prove.stage.tape import Beginning, Tape
from redrive.prove.stage.trigger import Trigger


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


LetsIn = Callable[[Called, Delivered], Iterator[Strike]]
"""The runs that can come in between, at a call of a run that was given this."""


def struck(
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


def with_another(stem: Stem, events: Sequence[Event], tape: Tape) -> Iterator[Stem]:
    """The stems in which another message comes and is worked on before a call of this leg: this is no fault."""
    last = max((strike.at for strike in stem.leg.strikes if isinstance(strike.at, int)), default=-1)
    for event in events:
        if isinstance(event, Called) and event.index > last and not event.is_nested:
            mark = tape.marks.get((event.index, False))
            leg = replace(stem.leg, strikes=(*stem.leg.strikes, Strike(event.index, Fault.BESIDE)))
            beginning = None if mark is None else Beginning(tape.answers, mark)
            yield replace(stem, leg=leg, beginning=beginning, struck=event.call)


def delays_of(trigger: Trigger) -> Sequence[int]:
    """How long after it was done something may come again. Whoever awaits an answer asks again at once, or never."""
    if trigger.is_awaited:
        return DUPLICATE_DELAYS_MS[:1]
    return BUS_DELAYS_MS if trigger.is_direct else STREAM_DELAYS_MS if trigger.is_stream else DUPLICATE_DELAYS_MS


def let_in_at(event: Called, trigger: Trigger, given: int, sent: int) -> Iterator[Strike]:
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
