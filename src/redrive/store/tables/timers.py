"""Timers: due work of the control plane. At an instant, the thing with this kind and name needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.earliest import Earliest
from redrive.store.queries import load_queries, postgresql_queries

_SQL = load_queries("timers")
_WAKE_UPS = postgresql_queries("wake_ups")

WAKE_UPS_PER_STATEMENT = 10_000
"""How many wake-ups a step takes into the timers. What is left is taken by the next step that asks for timers."""

HASTENED_KEPT = 10_000
"""The size of the cache of timers that need no hastening: one for each mapping at work."""

_RESTING: Instant = -1
"""Earlier than all instants."""


class TimerTable:
    """At most one timer per (kind, name). Names contain their scope: `account/region/…`."""

    __slots__ = ("_database", "_earliest", "_hastened", "_is_shared", "_may_be_hastened", "_remembered", "version")

    def __init__(self, database: Database) -> None:
        self.version = 0
        """Changes whenever `next` may return another instant."""
        self._database = database
        self._is_shared = database.is_shared
        self._may_be_hastened = True
        self._earliest = Earliest(database, _SQL["next"])
        # Of a shared store: when timers are due, unless somebody has hastened them.
        self._remembered: dict[str, Instant] = {}
        # For each hastened timer, an instant from which on hastening has no effect.
        self._hastened: dict[tuple[str, str], Instant] = {}

    def set(self, kind: str, name: str, at: Instant) -> None:
        """Set or move the timer."""
        self.version += 1
        self._database.write(_SQL["set"], (kind, name, at))
        self._earliest.put(kind, at)
        if (kind, name) in self._hastened:
            self._hastened[kind, name] = at

    def hasten(self, kind: str, name: str, at: Instant) -> bool:
        """Set the timer for this instant, unless it is set for an earlier one. Returns whether it was moved.

        Runs no statement if the timer is known to be earlier or to rest.
        """
        known = self._hastened.get((kind, name))
        if known is not None and known <= at:
            return False
        if len(self._hastened) >= HASTENED_KEPT:
            self._hastened.clear()
        self._hastened[kind, name] = at
        params = {"kind": kind, "name": name, "at": at}
        if self._is_shared:
            # A row of its own: senders on all nodes would otherwise wait for each other at the timer's row.
            self._database.write(_WAKE_UPS["put"], params)
            self._may_be_hastened = True
        elif not self._database.run(_SQL["hasten"], params):
            return False
        self.version += 1
        self._earliest.put(kind, at)
        return True

    def rest(self, kind: str, name: str) -> None:
        """Remove the timer until `set` is called again. Until then, hastening it has no use and may run no statement.

        Only for a timer whose owner calls `set` when hastening is useful again. The cache may forget that the timer
        rests.
        """
        self.clear(kind, name)
        self._hastened[kind, name] = _RESTING

    def clear(self, kind: str, name: str) -> None:
        """Remove the timer, if it is set."""
        self.version += 1
        self._database.write(_SQL["clear"], (kind, name))
        self._earliest.changed(kind)
        self._hastened.pop((kind, name), None)

    def get(self, kind: str, name: str) -> Instant | None:
        """The timer's instant, or None."""
        self._take_wake_ups()
        row = self._database.one(_SQL["get"], {"kind": kind, "name": name})
        return None if row is None else int(row[0])

    def due(self, kind: str, now: Instant, limit: int) -> list[tuple[str, Instant]]:
        """Due timers of a kind, earliest first, as (name, at). They stay set until moved or cleared."""
        self._take_wake_ups()
        return [
            (name, int(at)) for name, at in self._database.all(_SQL["due"], {"kind": kind, "now": now, "limit": limit})
        ]

    def next(self, kind: str) -> Instant | None:
        """The earliest timer of this kind, or None."""
        self._take_wake_ups()
        return self._earliest.of(kind)

    def look_up(self, kinds: Sequence[str]) -> None:
        """Ask for the earliest timers of these kinds at once, where each answer takes a round trip."""
        if self._is_shared:
            self._take_wake_ups()
            self._database.side_by_side([partial(self._earliest.of, kind) for kind in kinds])

    def is_set_by(self, kind: str, at: Instant, now: Instant) -> bool:
        """Whether the only timer of this kind is due by an instant. Runs no statement where that is remembered.

        Only for timers that move to a later instant when they are due, and not before.
        """
        if not self._is_shared:
            known = self._earliest.of(kind)
            return known is not None and known <= at
        remembered = self._remembered.get(kind)
        if remembered is None or not now < remembered <= at:
            remembered = self.next(kind)
            if remembered is None:
                return False
            self._remembered[kind] = remembered
        return remembered <= at

    def next_after(self, kind: str, after: Instant) -> Instant | None:
        """The earliest timer of this kind after this instant, or None. Runs a statement."""
        self._take_wake_ups()
        row = self._database.one(_SQL["next_after"], {"kind": kind, "after": after})
        return None if row is None or row[0] is None else int(row[0])

    def forget(self) -> None:
        """Clear the cache after a rollback."""
        self._remembered.clear()
        self.forget_hints()

    def forget_hints(self) -> None:
        """Clear what other nodes may have changed."""
        self.version += 1
        self._earliest.forget()
        self._hastened.clear()
        self._may_be_hastened = True

    def _take_wake_ups(self) -> None:
        """Move the timers that were hastened. Only a store of many nodes has wake-ups of their own."""
        if self._may_be_hastened and self._is_shared:
            self._database.write(_WAKE_UPS["take"], {"limit": WAKE_UPS_PER_STATEMENT})
        self._may_be_hastened = False
