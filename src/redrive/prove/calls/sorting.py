"""What each thing that a handler does counts for: an effect, a record of the handler's own, or nothing.

The user's patterns decide first; then the ledger, of which every row is a record.
"""

from __future__ import annotations

import enum
import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from redrive.prove.calls.calls import Call


class Role(enum.StrEnum):
    """What something that is left behind counts for."""

    EFFECT = "effect"
    RECORD = "record"
    """It tells the handler what was done already. It may be there more than once, and say different things."""
    TOKEN = "token"
    """A service knows a call again by it."""


@dataclass(frozen=True, slots=True)
class LedgerRows:
    """The rows that are the handler's memory: tables, and for the labels of their rows, whether they are of it."""

    rows: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables with such rows."""
        return tuple(sorted(table for table, rows in self.rows.items() if any(rows.values())))

    @property
    def name(self) -> str | None:
        """What a person is told: the tables, with the rows where not all are of it; None if there are none."""
        return ", ".join(self._name(table) for table in self.tables) or None

    def holds(self, table: str, label: str) -> bool:
        """Whether a row is of it. A row that no clean run has is taken for one of those whose label begins like its."""
        rows = self.rows.get(table)
        if not rows:
            return False
        likest = max(sorted(rows), key=lambda known: (known == label, _alike(known, label), not rows[known]))
        return rows[likest]

    def _name(self, table: str) -> str:
        rows = self.rows[table]
        return table if all(rows.values()) else f"{table} ({'; '.join(sorted(row for row in rows if rows[row]))})"


@dataclass(frozen=True, slots=True)
class Sorting:
    """How things are told apart. Patterns are as in `dynamodb:PutItem:reports*`, or `…:reports#attribute`."""

    effects: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ledger: LedgerRows = field(default_factory=LedgerRows)

    def role(self, call: Call, label: str) -> Role | None:
        """What a call counts for, of which `label` names the item; None for nothing."""
        if call.matches(self.effects):
            return Role.EFFECT
        if not call.changes or call.is_silent or call.matches(self.ignored):
            return None
        return Role.RECORD if call.service == "dynamodb" and self.ledger.holds(call.target, label) else Role.EFFECT

    def is_ignored(self, call: Call, path: str) -> bool:
        """Whether an attribute or a parameter is not looked at."""
        return any(fnmatch.fnmatchcase(f"{call.name}#{path}", pattern) for pattern in self.ignored if "#" in pattern)


def _alike(one: str, other: str) -> int:
    """With how many characters two texts begin alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
