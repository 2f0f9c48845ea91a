"""The log from which a table is restored to an earlier instant: each change with the item as it was before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import DAY_MS
from redrive.store.tables.items import ItemKey, segment_of


@dataclass(frozen=True, slots=True)
class RecoveryLog:
    """The log of a table with point-in-time recovery. Its records have lanes, as those of a stream."""

    id: str
    lanes: int
    period_days: int

    @property
    def kept_ms(self) -> int:
        """How long records are kept."""
        return self.period_days * DAY_MS

    @property
    def stored_shards(self) -> Sequence[str]:
        """The ids of all lanes in the store."""
        return [f"{self.id}/{lane}" for lane in range(self.lanes)]

    def shard_of(self, key: ItemKey) -> str:
        """The id of the lane that has an item's records."""
        return f"{self.id}/{segment_of(key, self.lanes)}"
