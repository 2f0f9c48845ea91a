"""An oracle of SQS: a queue as a list of messages.

It computes the answers of a queue's operations, standard and FIFO, with redrive. Where AWS leaves a choice, it chooses
as docs/semantics/sqs.md does. Quotas, attributes, digests and fair queues are left out.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, Instant

FIVE_MINUTES_MS = 5 * MINUTE_MS
TWELVE_HOURS_MS = 12 * HOUR_MS


@dataclass(slots=True)
class OracleMessage:
    """A message. `number` is unique for ever; `position` is its place in its queue."""

    number: int
    position: int
    body: str
    group: str
    sent_at: Instant
    visible_at: Instant
    expires_at: Instant
    receives: int = 0
    receipt: int | None = None
    received_at: Instant = 0
    turn: int = 0


@dataclass(frozen=True, slots=True)
class OracleReceipt:
    """One receive of one message."""

    number: int
    receipt: int


@dataclass(frozen=True, slots=True)
class OracleReceived:
    """A message in the result of a receive."""

    body: str
    receives: int
    receipt: OracleReceipt


class OracleOutcome(enum.Enum):
    """The answer to the holder of a receipt."""

    DONE = "done"
    EXPIRED = "expired"
    REFUSED = "refused"


@dataclass(slots=True)
class _Attempt:
    at: Instant
    receipt: int
    numbers: list[int]
    visible_at: Instant


@dataclass(slots=True)
class OracleQueue:
    """A queue. `dead_letters` gets messages after `receive_count_max` receives; both queues share one `counter`."""

    is_fifo: bool
    retention_s: int = 345_600
    delay_s: int = 0
    dead_letters: OracleQueue | None = None
    receive_count_max: int = 0
    counter: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    messages: list[OracleMessage] = field(default_factory=list)
    sends: list[tuple[str, Instant, int]] = field(default_factory=list)
    attempts: dict[str, _Attempt] = field(default_factory=dict)

    def send(self, now: Instant, body: str, *, group: str = "", dedup: str = "", delay_s: int | None = None) -> int:
        """Send a message. Returns its number, or that of the earlier message with this deduplication id."""
        if self.is_fifo:
            for earlier, at, number in self.sends:
                if earlier == dedup and now - at < FIVE_MINUTES_MS:
                    return number
        number = next(self.counter)
        delay_ms = (self.delay_s if delay_s is None else delay_s) * SECOND_MS
        self.sends.append((dedup, now, number))
        self.messages.append(
            OracleMessage(number, number, body, group, now, now + delay_ms, now + self.retention_s * SECOND_MS)
        )
        return number

    def receive(self, now: Instant, *, limit: int, timeout_s: int, attempt: str | None = None) -> list[OracleReceived]:
        """The result of a receive. Messages that replace dead-lettered ones come after the others."""
        self.messages = [message for message in self.messages if message.expires_at > now]
        hidden_until = now + timeout_s * SECOND_MS
        again = self._repeat(now, hidden_until, attempt) if attempt else []
        if again:
            return self._show(again)
        receipt = next(self.counter)
        taken: list[OracleMessage] = []
        while chosen := self._choose(now, limit, receipt, taken):
            spent = [message for message in chosen if self._is_spent(message)]
            for message in chosen:
                if message not in spent:
                    self._hide(message, now, hidden_until, receipt)
                    taken.append(message)
            for message in spent:
                self._bury(message, now)
            if not spent:
                break
        if attempt and taken:
            numbers = [message.number for message in taken]
            self.attempts[attempt] = _Attempt(now, receipt, numbers, hidden_until)
        return self._show(taken)

    def delete(self, now: Instant, receipt: OracleReceipt) -> OracleOutcome:
        """Delete a message if this receipt is its latest; in a FIFO queue only while the message is hidden."""
        message = self._of(receipt.number)
        if message is None:
            return OracleOutcome.DONE
        is_latest = message.receipt == receipt.receipt
        if self.is_fifo and not (is_latest and message.visible_at > now):
            return OracleOutcome.EXPIRED
        if is_latest:
            self.messages.remove(message)
            self._send_group_behind(message, now)
        return OracleOutcome.DONE

    def change_visibility(self, now: Instant, receipt: OracleReceipt, timeout_s: int) -> OracleOutcome:
        """Hide a message for `timeout_s` from now; in a FIFO queue only if this receipt is its latest and hides it."""
        message = self._of(receipt.number)
        visible_at = now + timeout_s * SECOND_MS
        if message is None or message.receipt is None:
            return OracleOutcome.REFUSED
        if self.is_fifo and (message.receipt != receipt.receipt or message.visible_at <= now):
            return OracleOutcome.REFUSED
        if visible_at > message.received_at + TWELVE_HOURS_MS:
            return OracleOutcome.REFUSED
        message.visible_at = visible_at
        return OracleOutcome.DONE

    def set_delay(self, delay_s: int) -> None:
        """Set the delay of new messages; in a FIFO queue also of messages that were never received."""
        for message in self.messages:
            if self.is_fifo and delay_s != self.delay_s and message.receives == 0:
                message.visible_at = message.sent_at + delay_s * SECOND_MS
        self.delay_s = delay_s

    def purge(self) -> None:
        """Delete all messages, and forget all sends."""
        self.messages.clear()
        self.sends.clear()

    def counts(self, now: Instant) -> tuple[int, int, int]:
        """How many messages are visible, in flight, and delayed."""
        there = [message for message in self.messages if message.expires_at > now]
        hidden = [message for message in there if message.visible_at > now]
        in_flight = sum(message.receipt is not None for message in hidden)
        return len(there) - len(hidden), in_flight, len(hidden) - in_flight

    def _choose(self, now: Instant, limit: int, receipt: int, taken: list[OracleMessage]) -> list[OracleMessage]:
        """The next messages, in the order of the queue, without duplicates."""
        room = limit - len(taken)
        if not self.is_fifo:
            return self._oldest_first(now, receipt, room)
        fresh = [message for message in self._in_groups(now)[:limit] if message.receipt != receipt]
        return sorted(fresh[:room], key=lambda message: message.position)

    def _oldest_first(self, now: Instant, receipt: int, room: int) -> list[OracleMessage]:
        """In the order of sending: the messages that are visible the longest, and those that were received before."""
        visible = [one for one in self.messages if one.visible_at <= now and one.receipt != receipt]
        visible.sort(key=lambda one: (one.visible_at, one.position))
        returned = [one for one in visible if one.receipt is not None]
        candidates = visible[:room] + [one for one in returned[:room] if one not in visible[:room]]
        return sorted(candidates, key=lambda one: one.position)[:room]

    def _send_group_behind(self, deleted: OracleMessage, now: Instant) -> None:
        """Put the group of a deleted message after the groups that are visible already."""
        group = [one for one in self.messages if one.group == deleted.group]
        first = min(group, key=lambda one: one.position, default=None)
        if self.is_fifo and first is not None and first.position > deleted.position:
            first.visible_at = max(first.visible_at, now)
            first.turn = max(first.turn, deleted.turn)

    def _in_groups(self, now: Instant) -> list[OracleMessage]:
        """The messages of each group before its first hidden message. The group that was visible first comes first."""
        groups: dict[str, list[OracleMessage]] = {}
        for message in sorted(self.messages, key=lambda message: message.position):
            groups.setdefault(message.group, []).append(message)
        runs = [list(itertools.takewhile(lambda one: one.visible_at <= now, group)) for group in groups.values()]
        runs = sorted(filter(None, runs), key=lambda run: (run[0].visible_at, run[0].turn, run[0].position))
        return [message for run in runs for message in run]

    def _repeat(self, now: Instant, hidden_until: Instant, attempt: str) -> list[OracleMessage]:
        """The result of this attempt id before, if none of its messages has changed."""
        before = self.attempts.get(attempt)
        if before is None or now - before.at >= FIVE_MINUTES_MS or before.visible_at <= now:
            return []
        found = [
            message
            for message in sorted(self.messages, key=lambda message: message.position)
            if message.number in before.numbers
            and message.receipt == before.receipt
            and message.visible_at == before.visible_at
        ]
        if len(found) != len(before.numbers):
            return []
        for message in found:
            message.visible_at = hidden_until
        before.visible_at = hidden_until
        return found

    def _is_spent(self, message: OracleMessage) -> bool:
        return self.dead_letters is not None and message.receives >= self.receive_count_max

    def _hide(self, message: OracleMessage, now: Instant, until: Instant, receipt: int) -> None:
        message.receives += 1
        message.turn += 1
        message.receipt = receipt
        message.received_at = now
        message.visible_at = until

    def _bury(self, message: OracleMessage, now: Instant) -> None:
        """Move a message to the dead-letter queue: at its old position, or, in a FIFO queue, as a new message."""
        assert self.dead_letters is not None
        self.messages.remove(message)
        message.receipt = None
        message.visible_at = now
        if self.is_fifo:
            message.position = next(self.counter)
            message.sent_at = now
            message.turn = 0
        message.expires_at = message.sent_at + self.dead_letters.retention_s * SECOND_MS
        self.dead_letters.messages.append(message)

    def _of(self, number: int) -> OracleMessage | None:
        return next((message for message in self.messages if message.number == number), None)

    @staticmethod
    def _show(messages: list[OracleMessage]) -> list[OracleReceived]:
        return [
            OracleReceived(message.body, message.receives, OracleReceipt(message.number, message.receipt or 0))
            for message in messages
        ]
