"""The faults of a system: at any call of any run, and at each hop what the engine may deliver twice there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from redrive.prove.play.events import Called, Delivered
from redrive.prove.play.faults import Act, Fault, Leg, Strike
from redrive.prove.search.search import Search
from redrive.prove.search.stems import Stem
from redrive.prove.stage.trigger import Kind

_AGAIN = (Fault.AGAIN, Fault.AGAIN_LATE)
_OVERLAPS = (Fault.OVERLAP, Fault.OVERLAP_LATE)


class SystemSearch(Search):
    """Plays the histories of a system."""

    def _let_in_at(self, event: Called, given: Delivered) -> Iterator[Strike]:
        """What may come in between at a call of a run.

        Before the first call of the first run it would come before the whole. What the system was sent may come a
        second time while any run stands at any call; what this run was given, too, by the hop that has given it.
        """
        if event.is_nested or (event.index == 0 and event.run == 1):
            return
        trigger = self._performance.trigger
        if trigger.kind is not Kind.DYNAMODB:
            yield from (Strike(event.index, fault, one) for fault in _OVERLAPS for one in range(len(trigger.bodies)))
        if not given.may_repeat:
            return
        for number in range(1 if given.kind.is_direct or given.kind.is_stream else len(given.message_ids)):
            yield from (Strike(event.index, fault, number) for fault in _AGAIN)
            if given.may_double:
                yield Strike(event.index, Fault.OVERLAP, len(trigger.bodies) + number)

    def _duplicates(self, here: Stem, *, is_pending: bool) -> Iterator[Stem]:
        """Duplicates of what came in, and, when nothing is left, the checkpoints of any mapping lost."""
        yield from super()._duplicates(here, is_pending=is_pending)
        if is_pending:
            return
        mappings = self._performance.trigger.mappings
        for number in range(mappings):
            leg = Leg(Act.REREAD, message=number, reuse=here.leg.reuse)
            yield replace(here, leg=leg, faults=here.faults + 1, is_clean=False)

    def _acts(self, message: int, delay_ms: int, *, is_pending: bool) -> Iterator[Act]:
        return (act for act in super()._acts(message, delay_ms, is_pending=is_pending) if act is not Act.REREAD)
