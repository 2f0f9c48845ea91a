"""The account of a run: what became of the letters, in numbers and by name where somebody has to act."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document
from redrive.deadletters.plan import Stop

SAMPLES_MAX = 3


@dataclass(slots=True)
class Account:
    """What a run has done so far."""

    seen: int = 0
    sent: int = 0
    discarded: int = 0
    deleted: int = 0
    finished: int = 0
    """Letters that an earlier run had sent or discarded, and that were only deleted now."""
    refused: int = 0
    throttled: int = 0
    unknown: int = 0
    came_back: int = 0
    gated: int = 0
    """Letters that a gate refused, and that stay."""
    overridden: int = 0
    stopped: str = ""
    """Why the run stopped before its end."""
    doubtful: list[str] = field(default_factory=list)
    """Letters that may or may not have been accepted where they were sent."""
    undeleted: int = 0
    """Letters that were sent or discarded, and that the next run deletes."""
    records: int = 0
    """Letters that stay and whose records a stream has."""
    records_until: Instant | None = None
    """When a stream drops the first of these records."""
    stays: Counter[str] = field(default_factory=Counter)
    """How many letters stay, by the reason."""
    samples: dict[str, list[str]] = field(default_factory=dict)
    """Some of the letters that stay, by the reason."""
    discards: Counter[str] = field(default_factory=Counter)
    """How many letters were discarded, by the reason."""

    def leave(self, message_id: str, reason: str) -> None:
        """Count a letter that stays."""
        self.stays[reason] += 1
        samples = self.samples.setdefault(reason, [])
        if len(samples) < SAMPLES_MAX:
            samples.append(message_id)

    def keep_records(self, until: Instant | None) -> None:
        """Count a letter that stays, whose records a stream drops at an instant."""
        self.records += 1
        if until is not None:
            self.records_until = until if self.records_until is None else min(self.records_until, until)

    def stop_by(self, stop: Stop) -> None:
        """Stop the run if a condition of its plan says so."""
        for count, most, what in (
            (self.refused + self.unknown, stop.errors, "letters were refused, or their answer was lost"),
            (self.throttled, stop.throttles, "letters were throttled"),
            (self.came_back, stop.came_back, "letters have failed again"),
        ):
            if count and count >= most and not self.stopped:
                self.stopped = f"{count} {what}"

    @property
    def document(self) -> Document:
        """The account as JSON."""
        return {
            "seen": self.seen, "sent": self.sent, "discarded": self.discarded, "deleted": self.deleted,
            "finished": self.finished, "refused": self.refused, "throttled": self.throttled, "unknown": self.unknown,
            "came_back": self.came_back, "gated": self.gated, "overridden": self.overridden,
            "stopped": self.stopped or None, "doubtful": self.doubtful, "undeleted": self.undeleted,
            "records": self.records,
            "records_until": None if self.records_until is None else format_instant(self.records_until),
            "discards": [{"letters": count, "reason": reason} for reason, count in self.discards.most_common()],
            "stays": [
                {"letters": count, "reason": reason, "samples": self.samples[reason]}
                for reason, count in self.stays.most_common()
            ],
        }  # fmt: skip
