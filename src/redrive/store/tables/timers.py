"""Due work of the control plane: at this instant, this kind of thing of this name wants attention."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.earliest import Earliest
from redrive.store.queries import load_queries

_SQL = load_queries("timers")

HASTENED_KEPT = 10_000
"""Of how many timers it is remembered that they need not be hastened: one for each mapping that is at work."""

_RESTING: Instant = -1
"""Before all instants."""


class TimerTable:
    """At most one timer per (kind, name). Names carry their scope: `account/region/…`."""

    __slots__ = ("_database", "_earliest", "_hastened", "version")

    def __init__(self, database: Database) -> None:
        self.version = 0
        """Another one whenever `next` may answer another instant."""
        self._database = database
        self._earliest = Earliest(database, _SQL["next"])
        # Of timers that were hastened: an instant from which on there is nothing to hasten.
        self._hastened: dict[tuple[str, str], Instant] = {}

    def set(self, kind: str, name: str, at: Instant) -> None:
        """Set the timer, or move it."""
        self.version += 1
        self._database.run(_SQL["set"], (kind, name, at))
        self._earliest.put(kind, at)
        if (kind, name) in self._hastened:
            self._hastened[kind, name] = at

    def hasten(self, kind: str, name: str, at: Instant) -> bool:
        """Have the timer set for this instant if it is not set for an earlier one; answers whether it was moved.

        Costs no statement if it is known to be set for an earlier one, or to rest.
        """
        known = self._hastened.get((kind, name))
        if known is not None and known <= at:
            return False
        if len(self._hastened) >= HASTENED_KEPT:
            self._hastened.clear()
        self._hastened[kind, name] = at
        if not self._database.run(_SQL["hasten"], {"kind": kind, "name": name, "at": at}):
            return False
        self.version += 1
        self._earliest.put(kind, at)
        return True

    def rest(self, kind: str, name: str) -> None:
        """Take the timer away until it is set again: hastening it is of no use, and may cost nothing until then.

        Only for a timer that whoever has it sets again when hastening is of use: that it rests may be forgotten.
        """
        self.clear(kind, name)
        self._hastened[kind, name] = _RESTING

    def clear(self, kind: str, name: str) -> None:
        """Take the timer away, if it is set."""
        self.version += 1
        self._database.run(_SQL["clear"], (kind, name))
        self._earliest.changed(kind)
        self._hastened.pop((kind, name), None)

    def get(self, kind: str, name: str) -> Instant | None:
        """When the timer is set for, or None."""
        row = self._database.one(_SQL["get"], {"kind": kind, "name": name})
        return None if row is None else int(row[0])

    def due(self, kind: str, now: Instant, limit: int) -> list[tuple[str, Instant]]:
        """Timers of a kind that have come due, earliest first, as (name, at). They stay set until moved or cleared."""
        return [
            (name, int(at)) for name, at in self._database.all(_SQL["due"], {"kind": kind, "now": now, "limit": limit})
        ]

    def next(self, kind: str) -> Instant | None:
        """The earliest instant for which a timer of this kind is set, or None."""
        return self._earliest.of(kind)

    def next_after(self, kind: str, after: Instant) -> Instant | None:
        """The earliest instant after this one for which a timer of this kind is set, or None. Costs a statement."""
        row = self._database.one(_SQL["next_after"], {"kind": kind, "after": after})
        return None if row is None or row[0] is None else int(row[0])

    def forget(self) -> None:
        """Drop what is remembered: what was written has been undone."""
        self.version += 1
        self._earliest.forget()
        self._hastened.clear()
