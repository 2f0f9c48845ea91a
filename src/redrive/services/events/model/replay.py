"""Replays of an archive, as they are stored: what was asked for, and how far the replay has come.

    STARTING ──► RUNNING ──► COMPLETED
        │           │   └──► FAILED
        └───────────┴──► CANCELLING ──► CANCELLED

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-replay-archived-event.html
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope


class ReplayState(enum.Enum):
    """The state of a replay."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    CANCELLING = "CANCELLING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


CANCELLABLE = frozenset({ReplayState.STARTING, ReplayState.RUNNING})
ACTIVE = CANCELLABLE | {ReplayState.CANCELLING}


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay of the events of an archive whose time is in [start_at, end_at].

    `uid` differs from that of an earlier replay of the same name. `destination` is AWS's own document. The events up to
    the position (`minute`, `seq`) were published. `seq_last` is the number of the last event that was archived before
    the replay started: a function that answers a replayed event with a new event cannot prolong the replay.
    """

    KIND: ClassVar[str] = "events.replay"

    name: str
    uid: str
    archive_name: str
    archive_id: str
    destination: Document
    start_at: Instant
    end_at: Instant
    seq_last: int
    started_at: Instant
    minute: int
    seq: int = 0
    state: ReplayState = ReplayState.STARTING
    reason: str | None = None
    description: str | None = None
    replayed_to: Instant | None = None
    ended_at: Instant | None = None

    def arn(self, scope: Scope) -> str:
        """The replay's ARN."""
        return replay_arn(scope, self.name)

    @property
    def is_active(self) -> bool:
        """Whether the replay has not ended."""
        return self.state in ACTIVE

    @property
    def rule_arns(self) -> frozenset[str] | None:
        """The rules that the events are replayed to; None for all rules."""
        arns = self.destination.get("FilterArns")
        return frozenset(arns) if arns else None


def replay_arn(scope: Scope, name: str) -> str:
    """The ARN of a replay."""
    return f"arn:aws:events:{scope.region}:{scope.account}:replay/{name}"
