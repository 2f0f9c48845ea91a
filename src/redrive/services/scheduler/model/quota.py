"""The quota of invocations: invocations over the quota are delayed, not refused.

The quota is a token bucket that holds one second's invocations; after a burst, one goes out each millisecond.
Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from redrive.core.clock import SECOND_MS, Instant
from redrive.services.scheduler.limits import INVOCATIONS_PER_S_MAX

INTERVAL_MS = SECOND_MS // INVOCATIONS_PER_S_MAX


@dataclass(frozen=True, slots=True)
class InvocationQuota:
    """How much of its quota an account has used in a region.

    `used_until` is when the last invocation would go out if all invocations went out evenly.
    """

    KIND: ClassVar[str] = "scheduler.invocation_quota"
    IS_STATE: ClassVar[bool] = True
    NAME: ClassVar[str] = "invocations"

    used_until: Instant = 0

    @property
    def name(self) -> str:
        """A fixed name: each account and region has one quota."""
        return self.NAME

    def admit(self, now: Instant) -> tuple[InvocationQuota, Instant]:
        """Add one invocation.

        Returns the new quota and when the invocation may go out: now, unless the bucket is empty.
        """
        used_until = max(self.used_until, now) + INTERVAL_MS
        return replace(self, used_until=used_until), max(now, used_until - SECOND_MS)
