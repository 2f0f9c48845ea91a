"""The throughput settings of a table or a global index. They are only stored and shown; nothing is ever throttled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document
from redrive.services.dynamodb import limits


class BillingMode(Enum):
    """How a table's throughput is billed."""

    PROVISIONED = "PROVISIONED"
    PAY_PER_REQUEST = "PAY_PER_REQUEST"


@dataclass(frozen=True, slots=True)
class Billing:
    """The throughput settings of a table or a global index."""

    mode: BillingMode = BillingMode.PROVISIONED
    read_units: int = 0
    write_units: int = 0
    on_demand_since: Instant | None = None
    increased_at: Instant | None = None
    decreased_at: Instant | None = None
    decreases: int = 0
    on_demand_max: Mapping[str, int] = field(default_factory=dict)
    warm: Mapping[str, int] = field(default_factory=dict)

    @property
    def warm_units(self) -> Mapping[str, int]:
        """The warm throughput: the requested value, but at least the initial throughput."""
        if self.mode is BillingMode.PAY_PER_REQUEST:
            least = {"ReadUnitsPerSecond": limits.WARM_READ_UNITS, "WriteUnitsPerSecond": limits.WARM_WRITE_UNITS}
        else:
            least = {"ReadUnitsPerSecond": self.read_units, "WriteUnitsPerSecond": self.write_units}
        return {name: max(units, self.warm.get(name, 0)) for name, units in least.items()}

    @property
    def partitions(self) -> int:
        """The number of partitions of the table, computed from its throughput; a power of two."""
        warm = self.warm_units
        wanted = max(
            -(-warm["ReadUnitsPerSecond"] // limits.PARTITION_READ_UNITS),
            -(-warm["WriteUnitsPerSecond"] // limits.PARTITION_WRITE_UNITS),
        )
        return 1 << (wanted - 1).bit_length() if wanted > 1 else 1

    def decreases_today(self, now: Instant) -> int:
        """Return how often the throughput was lowered since midnight UTC."""
        is_today = self.decreased_at is not None and self.decreased_at // DAY_MS == now // DAY_MS
        return self.decreases if is_today else 0


def describe_billing(billing: Billing, now: Instant) -> Document:
    """The throughput settings as DescribeTable shows them."""
    described: Document = {
        "ProvisionedThroughput": {
            "LastIncreaseDateTime": billing.increased_at,
            "LastDecreaseDateTime": billing.decreased_at,
            "NumberOfDecreasesToday": billing.decreases_today(now),
            "ReadCapacityUnits": billing.read_units,
            "WriteCapacityUnits": billing.write_units,
        }
    }
    if billing.on_demand_since is not None:
        described["BillingModeSummary"] = {
            "BillingMode": billing.mode.value,
            "LastUpdateToPayPerRequestDateTime": billing.on_demand_since,
        }
    if billing.on_demand_max:
        described["OnDemandThroughput"] = dict(billing.on_demand_max)
    described["WarmThroughput"] = {**billing.warm_units, "Status": "ACTIVE"}
    return described
