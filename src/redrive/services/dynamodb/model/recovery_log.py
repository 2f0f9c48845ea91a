"""The log from which a table is restored to an earlier instant: each change with the item as it was before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import DAY_MS
from redrive.store.tables.items import ItemKey, segment_of


@dataclass(frozen=True, slots=True)
class RecoveryLog:
    """The log of a table with point-in-time recovery. Its records have partitions, as those of a stream."""

    id: str
    partitions: int
    period_days: int

    @property
    def kept_ms(self) -> int:
        """How long records are kept."""
        return self.period_days * DAY_MS

    @property
    def stored_shards(self) -> Sequence[str]:
        """The ids of all partitions in the store."""
        return [f"{self.id}/{partition}" for partition in range(self.partitions)]

    def shard_of(self, key: ItemKey) -> str:
        """The id of the partition that has an item's records."""
        return f"{self.id}/{segment_of(key, self.partitions)}"
