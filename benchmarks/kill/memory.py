"""What the clients remember: what was acknowledged, what is in doubt, and what they received. Threads share it."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Received:
    """A message in one answer to ReceiveMessage. Instants by the clients' monotonic clock, in seconds."""

    id: str
    body: str
    group: str
    sent_ms: int
    asked_at: float
    answered_at: float
    answer: int
    """The number of the answer: messages of one answer share it."""


@dataclass(slots=True)
class Memory:
    """Everything by the name of the queue, table or counter that it is about."""

    sent: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    received: defaultdict[str, list[Received]] = field(default_factory=lambda: defaultdict(list))
    delete_begun: dict[str, float] = field(default_factory=dict)
    deleted: dict[str, float] = field(default_factory=dict)
    due_ms: dict[str, int] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)
    in_doubt: Counter[str] = field(default_factory=Counter)
    puts: defaultdict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    """For each item: who tried to be the first, and whether that was "won", "lost" or "doubt"."""
    answers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, queue: str, messages: Sequence[dict[str, object]], asked_at: float) -> None:
        """Remember an answer to ReceiveMessage."""
        now = time.monotonic()
        with self.lock:
            self.answers += 1
            number = self.answers
        for message in messages:
            attributes = message["Attributes"]
            assert isinstance(attributes, dict)
            self.received[queue].append(
                Received(
                    str(message["MessageId"]), str(message["Body"]), str(attributes.get("MessageGroupId", "")),
                    int(attributes["SentTimestamp"]), asked_at, now, number,
                )
            )  # fmt: skip
