"""How each action of a handler counts: as an effect, as one of the handler's own records, or not at all.

The user's patterns decide first; then the ledger: each of its rows is a record.
"""

from __future__ import annotations

import enum
import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from redrive.prove.calls.calls import Call


class Role(enum.StrEnum):
    """How something left behind counts."""

    EFFECT = "effect"
    RECORD = "record"
    """It tells the handler what was done already. It may exist more than once, with different contents."""
    TOKEN = "token"
    """A service deduplicates calls by it."""


@dataclass(frozen=True, slots=True)
class LedgerRows:
    """The rows that are the handler's memory: tables, and for each label of their rows, whether the rows are memory."""

    rows: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    _held: dict[tuple[str, str], bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `holds` has answered, by table and label: a search asks at each write."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables with such rows."""
        return tuple(sorted(table for table, rows in self.rows.items() if any(rows.values())))

    @property
    def name(self) -> str | None:
        """The name for the user: the tables, and the rows if only some are memory; None if there are none."""
        return ", ".join(self._name(table) for table in self.tables) or None

    def holds(self, table: str, label: str) -> bool:
        """Whether a row is memory.

        A row that no clean run has counts like the row whose label has the longest common prefix.
        """
        rows = self.rows.get(table)
        if not rows:
            return False
        place = (table, label)
        if place not in self._held:
            likest = max(sorted(rows), key=lambda known: (known == label, _alike(known, label), not rows[known]))
            self._held[place] = rows[likest]
        return self._held[place]

    def _name(self, table: str) -> str:
        rows = self.rows[table]
        return table if all(rows.values()) else f"{table} ({'; '.join(sorted(row for row in rows if rows[row]))})"


@dataclass(frozen=True, slots=True)
class Sorting:
    """Classifies by patterns, such as `dynamodb:PutItem:reports*`, or `…:reports#attribute`."""

    effects: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ledger: LedgerRows = field(default_factory=LedgerRows)
    is_passage: Callable[[Call], bool] = lambda _: False
    """Whether a call only sends on to another function under the same proof: what that one does with it counts."""

    def role(self, call: Call, label: str) -> Role | None:
        """How a call counts, whose item `label` names; None for nothing."""
        if call.matches(self.effects):
            return Role.EFFECT
        if not call.changes or call.is_silent or call.matches(self.ignored) or self.is_passage(call):
            return None
        return Role.RECORD if call.service == "dynamodb" and self.ledger.holds(call.target, label) else Role.EFFECT

    def is_ignored(self, call: Call, path: str) -> bool:
        """Whether an attribute or a parameter is ignored."""
        return any(fnmatch.fnmatchcase(f"{call.name}#{path}", pattern) for pattern in self.ignored if "#" in pattern)


def _alike(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
