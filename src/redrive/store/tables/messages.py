"""Messages of queues.

    visible_at in the future, no receipt   delayed
    visible_at reached                     visible: the next receive may take it
    visible_at in the future, a receipt    in flight: until then only the receipt's holder may delete it

A receipt names one receive. A newer receive creates a newer receipt; the older receipt then deletes nothing.

Methods that end in `in_order` are for FIFO queues. A FIFO queue receives of each group only the visible messages before
the group's first hidden message. So one message in flight blocks all later messages of its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import dump_json
from redrive.store.database import Database, Row
from redrive.store.queries import load_queries
from redrive.store.tables.runs import Link

_SQL = load_queries("messages")

EXECUTIONS_PER_STATEMENT = 10
"""The number of parameters of the statement `executions_of`."""


class NewMessage(NamedTuple):
    """A message to store: a row. In most messages, the last columns are empty.

    `queue` is the queue's id. The attributes are JSON text or None. A deduplication id marks a message of a FIFO queue.
    `cause` is the execution that sent the message, None for a client's message. Clients never see it.
    """

    queue: str
    message_id: str
    body: str
    body_md5: str
    sender_id: str
    sent_at: Instant
    visible_at: Instant
    expires_at: Instant
    cause: str | None = None
    attributes: str | None = None
    system_attributes: str | None = None
    group_id: str | None = None
    deduplication_id: str | None = None


_PLAIN_COLUMNS = NewMessage._fields.index("cause")
_CAUSED_COLUMNS = NewMessage._fields.index("attributes")
_COLUMNS = NewMessage._fields.index("deduplication_id")
"""How many fields of a message its INSERT takes, in three cases.

Only the required fields; also the cause; all fields of a standard queue's message.
"""

_PUTS = {_PLAIN_COLUMNS: _SQL["put_plain"], _CAUSED_COLUMNS: _SQL["put_caused"], _COLUMNS: _SQL["put"]}


class ReceivedMessage(NamedTuple):
    """A message as one receive took it: a row. `seq` and `receipt` identify the receive."""

    seq: int
    message_id: str
    body: str
    body_md5: str
    attributes: str | None
    system_attributes: str | None
    sender_id: str
    group_id: str | None
    deduplication_id: str | None
    sent_at: Instant
    receive_count: int
    first_received_at: Instant
    receipt: str
    source_queue_arn: str | None
    cause: str | None = None

    @property
    def execution_id(self) -> str:
        """The execution that the message belongs to. A client's message is its own execution."""
        return self.cause or self.message_id


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """How many messages of a queue are visible, in flight, and delayed."""

    visible: int
    in_flight: int
    delayed: int


class MessageTable:
    """The messages of all queues."""

    __slots__ = ("_database", "_is_shared")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_shared = database.is_shared

    def put_many(self, messages: Sequence[NewMessage]) -> None:
        """Store new messages of standard queues, in this order."""
        columns = max([_columns_of(message) for message in messages])
        self._database.run_many(_PUTS[columns], [message[:columns] for message in messages])

    def claim_visible(
        self, queue: str, now: Instant, *, visible_at: Instant, receipt: str, limit: int
    ) -> list[ReceivedMessage]:
        """Take visible messages, in the order of sending, and hide them until `visible_at` under a new receipt.

        The candidates are the messages that are visible the longest, and messages that were received before and are
        visible again. Another claim with the same receipt takes further messages.
        """
        rows = self._database.all(
            _SQL["claim_visible"],
            {"queue": queue, "now": now, "visible_at": visible_at, "receipt": receipt, "limit": limit},
        )
        return _received(rows)

    def dead_letter(
        self, queue: str, now: Instant, *, visible_at: Instant, receipt: str, receive_count_max: int,
        dead_letter_queue: str, retention_ms: int, source_queue_arn: str,
    ) -> int:  # fmt: skip
        """Move messages of this claim with too many receives to the dead-letter queue. Returns how many were moved.

        `visible_at` and `receipt` are those of the claim. For the moved messages, the claim does not count as a
        receive. Their message id and enqueue time stay. The new queue's retention counts from the first enqueue.
        """
        return self._database.run(
            _SQL["dead_letter"],
            {
                "queue": queue, "now": now, "visible_at": visible_at, "receipt": receipt,
                "receive_count_max": receive_count_max, "dead_letter_queue": dead_letter_queue,
                "retention_ms": retention_ms, "source_queue_arn": source_queue_arn,
            },
        )  # fmt: skip

    def give_back(self, queue: str, now: Instant, *, visible_at: Instant, receipt: str) -> int:
        """Undo a claim: its messages are visible now, and the claim does not count as a receive. Returns how many."""
        return self._database.run(
            _SQL["give_back"], {"queue": queue, "now": now, "visible_at": visible_at, "receipt": receipt}
        )

    def held(self, queue: str, seq: int) -> tuple[Instant, Instant, str] | None:
        """(visible_at, received_at, receipt) of a message's latest receive; None if never received, or deleted."""
        row = self._database.one(_SQL["held"], {"queue": queue, "seq": seq})
        return None if row is None else (int(row[0]), int(row[1]), str(row[2]))

    def release(self, queue: str, seq: int, *, visible_at: Instant) -> bool:
        """Change when a received message becomes visible again, for any receipt. False if the message is deleted."""
        return self._database.run(_SQL["release"], {"queue": queue, "seq": seq, "visible_at": visible_at}) > 0

    def restore_receipt(self, queue: str, seq: int, receipt: str) -> None:
        """Make an older receipt of a message in flight the valid one again."""
        self._database.write(_SQL["restore_receipt"], {"queue": queue, "seq": seq, "receipt": receipt})

    def delete(self, queue: str, seq: int, receipt: str) -> bool:
        """Delete a received message. False if a newer receive holds it, or it is already deleted."""
        return self._database.run(_SQL["delete"], {"queue": queue, "seq": seq, "receipt": receipt}) > 0

    def retain(self, queue: str, retention_ms: int) -> int:
        """Set the retention of a queue's messages, counted from sending. Returns the number of messages."""
        return self._database.run(_SQL["retain"], {"queue": queue, "retention_ms": retention_ms})

    def purge(self, queue: str, *, limit: int) -> int:
        """Delete up to `limit` messages of a queue, in any state. Returns how many were deleted."""
        return self._database.run(_SQL["purge"], {"queue": queue, "limit": limit})

    def bring_near(self, queue: str, now: Instant, *, hidden_until_max: Instant) -> int:
        """Make messages visible now that are hidden for longer than `hidden_until_max`. Returns how many."""
        return self._database.run(
            _SQL["bring_near"], {"queue": queue, "now": now, "hidden_until_max": hidden_until_max}
        )

    def first_expiry(self, queue: str) -> Instant | None:
        """When the first message of a queue expires; None if the queue is empty."""
        row = self._database.one(_SQL["first_expiry"], (queue,))
        return None if row is None or row[0] is None else int(row[0])

    def expire(self, queue: str, now: Instant, *, limit: int) -> int:
        """Delete messages of a standard queue after their retention, oldest first. Returns how many."""
        return self._database.run(_SQL["expire"], {"queue": queue, "now": now, "limit": limit})

    def counts(self, queue: str, now: Instant) -> MessageCounts:
        """How many messages the queue holds, by state."""
        row = self._database.one(_SQL["counts"], {"queue": queue, "now": now})
        return MessageCounts(*row) if row else MessageCounts(0, 0, 0)

    def next_visible(self, queue: str, now: Instant) -> Instant | None:
        """When the queue's next message is visible (now or in the past: at once); None if the queue is empty."""
        row = self._database.one(_SQL["next_visible"], {"queue": queue, "now": now})
        return None if row is None else int(row[0])

    def count_visible(self, queue: str, now: Instant, *, limit: int) -> int:
        """How many messages are visible. Stops counting at `limit`."""
        row = self._database.one(_SQL["count_visible"], {"queue": queue, "now": now, "limit": limit})
        return int(row[0]) if row else 0

    def count_in_flight(self, queue: str, now: Instant, *, limit: int) -> int:
        """How many messages are in flight. Stops counting at `limit`."""
        row = self._database.one(_SQL["count_in_flight"], {"queue": queue, "now": now, "limit": limit})
        return int(row[0]) if row else 0

    def visible(self, queue: str, now: Instant, *, limit: int) -> list[ReceivedMessage]:
        """The messages that became visible first. Does not receive them."""
        rows = self._database.all(_SQL["visible"], {"queue": queue, "now": now, "limit": limit})
        return [ReceivedMessage(*row) for row in rows]

    def take_out(self, seq: int) -> None:
        """Delete a message, whoever holds it. For a FIFO queue use `take_out_in_order`."""
        self._database.write(_SQL["take_out"], {"seq": seq})

    def oldest_sent_at(self, queue: str, now: Instant) -> Instant | None:
        """When the oldest message of the queue was sent, or None."""
        row = self._database.one(_SQL["oldest_sent_at"], {"queue": queue, "now": now})
        return None if row is None else int(row[0])

    def in_flight_by_group(self, queue: str, now: Instant, *, limit: int) -> dict[str | None, int]:
        """How many messages of each group are in flight, among the `limit` messages that stay hidden the longest."""
        return dict(self._database.all(_SQL["in_flight_by_group"], {"queue": queue, "now": now, "limit": limit}))

    def claim_of_other_groups(
        self, queue: str, now: Instant, *, visible_at: Instant, receipt: str, groups: Sequence[str], groups_max: int,
        limit: int,
    ) -> list[ReceivedMessage]:  # fmt: skip
        """Take visible messages, oldest first, of all groups except these. Looks at up to `groups_max` groups."""
        rows = self._database.all(
            _SQL["claim_of_other_groups"],
            {
                "queue": queue, "now": now, "visible_at": visible_at, "receipt": receipt, "groups": dump_json(groups),
                "groups_max": groups_max, "limit": limit,
            },
        )  # fmt: skip
        return _received(rows)

    def reserve_in_order(self, *queues: str) -> None:
        """Let nobody else use these FIFO queues until the transaction ends. Call it before the first read of them."""
        if self._is_shared:
            self._database.reserve(*map(_lock_of, queues))

    def announce_in_order(self, *queues: str) -> None:
        """Say that this step will use these FIFO queues, before it reserves anything else. See Database.announce."""
        if self._is_shared:
            self._database.announce(*map(_lock_of, queues))

    def put_in_order(
        self, message: NewMessage, *, remembered_by: str, scope: str, receive_count: int = 0,
        first_received_at: Instant | None = None, source_queue_arn: str | None = None,
    ) -> int | None:  # fmt: skip
        """Store a message at the end of its group and return its `seq`; None if it is a duplicate.

        It is a duplicate if DedupTable remembers its deduplication id for the queue `remembered_by` in this scope.
        """
        self._require(message.queue)
        row = self._database.one(
            _SQL["put_in_order"],
            {
                **message._asdict(), "remembered_by": remembered_by, "scope": scope, "receive_count": receive_count,
                "first_received_at": first_received_at, "source_queue_arn": source_queue_arn,
            },
        )  # fmt: skip
        return None if row is None else int(row[0])

    def claim_in_order(
        self, queue: str, now: Instant, *, visible_at: Instant, receipt: str, limit: int, taken: int = 0
    ) -> list[ReceivedMessage]:
        """Take messages of each group up to its first hidden message, and hide them until `visible_at`.

        One group is taken completely before the next. Groups that were received from come after groups that were
        visible before. Call `expire_in_order` first, to delete expired messages. `taken` is how many messages were
        claimed with this receipt before.
        """
        self._require(queue)
        rows = self._database.all(
            _SQL["claim_in_order"],
            {
                "queue": queue, "now": now, "visible_at": visible_at, "receipt": receipt, "limit": limit,
                "walk": limit + taken,
            },
        )  # fmt: skip
        return _received(rows)

    def delete_in_order(self, queue: str, seq: int, receipt: str, now: Instant) -> bool:
        """Delete a message in flight and put its group after the others. False if this receipt does not hold it."""
        self._require(queue)
        row = self._database.one(_SQL["delete_in_order"], {"queue": queue, "seq": seq, "receipt": receipt, "now": now})
        if row is None:
            return False
        group_id, turn = row
        self._database.write(
            _SQL["promote_to_the_back"], {"queue": queue, "group_id": group_id, "turn": turn, "now": now}
        )
        return True

    def visible_in_order(self, queue: str, now: Instant, *, limit: int) -> list[ReceivedMessage]:
        """The first message of each group that can be received. Does not receive them."""
        rows = self._database.all(_SQL["visible_in_order"], {"queue": queue, "now": now, "limit": limit})
        return [ReceivedMessage(*row) for row in rows]

    def take_out_in_order(self, queue: str, seq: int, group_id: str) -> None:
        """Delete a message, whoever holds it. The next message of its group becomes the head."""
        self._require(queue)
        self.take_out(seq)
        self._promote(queue, group_id)

    def expire_some_in_order(self, queue: str, now: Instant, *, limit: int) -> int:
        """As `expire_in_order`, for up to `limit` messages, oldest first."""
        self._require(queue)
        rows = self._database.all(_SQL["expire_some_in_order"], {"queue": queue, "now": now, "limit": limit})
        return self._promote_all(queue, rows)

    def expire_in_order(self, queue: str, now: Instant) -> int:
        """Delete messages after their retention, so that they do not block their groups. Returns how many."""
        self._require(queue)
        return self._promote_all(queue, self._database.all(_SQL["expire_in_order"], {"queue": queue, "now": now}))

    def _promote_all(self, queue: str, rows: Sequence[Row]) -> int:
        for group_id in {group_id for (group_id,) in rows}:
            self._promote(queue, group_id)
        return len(rows)

    def delay_in_order(self, queue: str, delay_ms: int) -> None:
        """Set the delay of the messages that were never received, counted from sending."""
        self._require(queue)
        self._database.write(_SQL["delay"], {"queue": queue, "delay_ms": delay_ms})

    def next_visible_in_order(self, queue: str) -> Instant | None:
        """When a group can next be received (now or in the past: at once); None if there are no messages."""
        row = self._database.one(_SQL["next_head"], {"queue": queue})
        return None if row is None else int(row[0])

    def hold_again(
        self, queue: str, now: Instant, *, seqs: Sequence[int], receipt: str, was_visible_at: Instant,
        visible_at: Instant,
    ) -> list[ReceivedMessage]:  # fmt: skip
        """Repeat a receive's result, hidden again until `visible_at`; empty if any of its messages has changed."""
        self._require(queue)
        params: dict[str, object] = {"queue": queue, "seqs": dump_json(seqs), "receipt": receipt}
        row = self._database.one(_SQL["count_held"], {**params, "was_visible_at": was_visible_at, "now": now})
        if row is None or row[0] != len(seqs):
            return []
        return _received(self._database.all(_SQL["hold_again"], {**params, "visible_at": visible_at}))

    def executions_of(self, seqs: Sequence[int]) -> list[Link]:
        """The executions that these messages belong to. Deleted messages are skipped."""
        found: list[Link] = []
        for start in range(0, len(seqs), EXECUTIONS_PER_STATEMENT):
            some = seqs[start : start + EXECUTIONS_PER_STATEMENT]
            params = {f"seq{place}": some[min(place, len(some) - 1)] for place in range(EXECUTIONS_PER_STATEMENT)}
            found += [Link(*row) for row in self._database.all(_SQL["executions_of"], params)]
        return found

    def exists(self, queue: str, seq: int) -> bool:
        """Whether the queue still has this message."""
        return self._database.one(_SQL["exists"], {"queue": queue, "seq": seq}) is not None

    def _require(self, queue: str) -> None:
        if self._is_shared:
            self._database.require(_lock_of(queue))

    def _promote(self, queue: str, group_id: str) -> None:
        """Make the first remaining message of a group its head."""
        self._database.write(_SQL["promote"], {"queue": queue, "group_id": group_id})


def _received(rows: Sequence[Row]) -> list[ReceivedMessage]:
    """Messages in the order of sending, because an UPDATE returns rows in no defined order."""
    return [ReceivedMessage(*row) for row in sorted(rows)]


def _columns_of(message: NewMessage) -> int:
    """How many fields of a standard queue's message must be written."""
    if any(message[_CAUSED_COLUMNS:]):
        return _COLUMNS
    return _PLAIN_COLUMNS if message.cause is None else _CAUSED_COLUMNS


def _lock_of(queue: str) -> str:
    return f"fifo/{queue}"
