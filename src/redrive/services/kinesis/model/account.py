"""The settings of an account in a region: its commitment to a minimum of throughput."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.services.kinesis import limits

ENABLED = "ENABLED"
DISABLED = "DISABLED"


@dataclass(frozen=True, slots=True)
class AccountSettings:
    """The commitment: when it started, and when it ends or ended. Without `started_at`, there never was one."""

    KIND: ClassVar[str] = "kinesis.account"
    NAME: ClassVar[str] = "settings"

    started_at: Instant | None = None
    ends_at: Instant | None = None

    @property
    def name(self) -> str:
        """The name of the only such document of an account in a region."""
        return self.NAME

    def is_committed(self, now: Instant) -> bool:
        """Whether the commitment holds now."""
        return self.started_at is not None and (self.ends_at is None or now < self.ends_at)

    def enabled(self, now: Instant) -> AccountSettings:
        """The settings with a commitment; a disabling that is still to come is cancelled."""
        return AccountSettings(self.started_at if self.is_committed(now) else now)

    def disabled(self, now: Instant) -> AccountSettings:
        """The settings with an end of the commitment: now, or after the shortest time that one lasts."""
        if self.started_at is None or not self.is_committed(now):
            return self
        return AccountSettings(self.started_at, max(now, self.started_at + limits.COMMITMENT_MS_MIN))

    def describe(self, now: Instant) -> Document:
        """A MinimumThroughputBillingCommitmentOutput."""
        if self.started_at is None:
            return {"Status": DISABLED}
        described: Document = {"StartedAt": self.started_at}
        if not self.is_committed(now):
            return described | {"Status": DISABLED, "EndedAt": self.ends_at}
        described["EarliestAllowedEndAt"] = self.started_at + limits.COMMITMENT_MS_MIN
        return described | {"Status": ENABLED if self.ends_at is None else "ENABLED_UNTIL_EARLIEST_ALLOWED_END"}
