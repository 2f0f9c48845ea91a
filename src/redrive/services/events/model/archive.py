"""Archives of a bus, as they are stored. Their events are in a table of their own, under the archive's id."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import DAY_MS, Instant
from redrive.core.scope import Scope


class ArchiveState(enum.Enum):
    """Whether an archive takes events. Here every archive does, from its creation on."""

    ENABLED = "ENABLED"
    DISABLED = "DISABLED"
    CREATING = "CREATING"
    UPDATING = "UPDATING"
    CREATE_FAILED = "CREATE_FAILED"
    UPDATE_FAILED = "UPDATE_FAILED"


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive of the bus `bus_name` in its own scope. `retention_days` is 0 if events are kept for ever.

    `id` is drawn at the creation: a second archive of the same name has none of the first one's events.
    """

    KIND: ClassVar[str] = "events.archive"

    name: str
    id: str
    bus_name: str
    created_at: Instant
    pattern: str | None = None
    description: str | None = None
    retention_days: int = 0
    kms_key: str | None = None
    state: ArchiveState = ArchiveState.ENABLED

    def arn(self, scope: Scope) -> str:
        """The archive's ARN."""
        return archive_arn(scope, self.name)

    def kept_since(self, now: Instant) -> Instant:
        """Events that were archived before this instant have expired."""
        return now - self.retention_days * DAY_MS if self.retention_days else 0


def archive_arn(scope: Scope, name: str) -> str:
    """The ARN of an archive."""
    return f"arn:aws:events:{scope.region}:{scope.account}:archive/{name}"
