"""The quota of invocations: what comes too fast is not refused but delayed.

A bucket of one second's invocations: so many go out at once, then one each millisecond.
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

    `used_until` is when the last invocation would go out if all went out evenly.
    """

    KIND: ClassVar[str] = "scheduler.invocation_quota"
    NAME: ClassVar[str] = "invocations"

    used_until: Instant = 0

    @property
    def name(self) -> str:
        """There is one for each account and region."""
        return self.NAME

    def admit(self, now: Instant) -> tuple[InvocationQuota, Instant]:
        """Take one invocation in: the quota after it, and when it may go out, which is now as long as there is room."""
        used_until = max(self.used_until, now) + INTERVAL_MS
        return replace(self, used_until=used_until), max(now, used_until - SECOND_MS)
