"""Messages of queues.

    visible_at in the future, no receipt   delayed
    visible_at reached                     visible: the next receive may take it
    visible_at in the future, a receipt    in flight: until then only the receipt's holder may delete it

A receipt names one receive. A newer receive gives a newer one, and the older then deletes and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.store.database import Database, Params
from redrive.store.queries import load_queries

_SQL = load_queries("messages")


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message about to be stored.

    `queue` is the queue's id; the attributes are JSON text, or None if there are none.
    """

    queue: str
    message_id: str
    body: str
    body_md5: str
    attributes: str | None
    system_attributes: str | None
    sender_id: str
    group_id: str | None
    sent_at: Instant
    visible_at: Instant
    expires_at: Instant


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message as one receive took it. (`seq`, `receipt`) name that receive."""

    seq: int
    message_id: str
    body: str
    body_md5: str
    attributes: str | None
    system_attributes: str | None
    sender_id: str
    group_id: str | None
    sent_at: Instant
    receive_count: int
    first_received_at: Instant
    receipt: str
    source_queue_arn: str | None


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """How many messages of a queue are visible, in flight, and delayed."""

    visible: int
    in_flight: int
    delayed: int


class MessageTable:
    """The messages of all queues."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_many(self, messages: Sequence[NewMessage]) -> None:
        """Store new messages, in this order."""
        self._database.run_many(_SQL["put"], [_columns(message) for message in messages])

    def claim_visible(
        self, queue: str, now: Instant, *, visible_at: Instant, receipt: str, limit: int
    ) -> list[ReceivedMessage]:
        """Take visible messages, oldest first, and hide them until `visible_at` under a new receipt.

        Claiming again under the same receipt takes further messages.
        """
        rows = self._database.all(
            _SQL["claim_visible"],
            {"queue": queue, "now": now, "visible_at": visible_at, "receipt": receipt, "limit": limit},
        )
        return sorted((ReceivedMessage(*row) for row in rows), key=lambda message: message.seq)

    def dead_letter(
        self, queue: str, now: Instant, *, visible_at: Instant, receipt: str, receive_count_max: int,
        dead_letter_queue: str, retention_ms: int, source_queue_arn: str,
    ) -> int:  # fmt: skip
        """Move what this claim took for more than the allowed receives to the dead-letter queue; answers how many.

        `visible_at` and `receipt` are those of the claim, which then counts as no receive of what is moved. Message id
        and enqueue time stay; the retention of the new queue counts from the first enqueue.
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
        """Undo a claim: what it took is visible now, and the claim counts as no receive; answers how many."""
        return self._database.run(
            _SQL["give_back"], {"queue": queue, "now": now, "visible_at": visible_at, "receipt": receipt}
        )

    def held(self, queue: str, seq: int, receipt: str) -> tuple[Instant, Instant] | None:
        """(visible_at, received_at) of a message whose latest receive is this one, else None."""
        row = self._database.one(_SQL["held"], {"queue": queue, "seq": seq, "receipt": receipt})
        return None if row is None else (int(row[0]), int(row[1]))

    def release(self, queue: str, seq: int, receipt: str, *, visible_at: Instant) -> bool:
        """Change when a received message becomes visible again; False if a newer receive holds it, or it is gone."""
        return self._database.run(
            _SQL["release"], {"queue": queue, "seq": seq, "receipt": receipt, "visible_at": visible_at}
        ) > 0  # fmt: skip

    def delete(self, queue: str, seq: int, receipt: str) -> bool:
        """Forget a received message; False if a newer receive holds it, or it is gone."""
        return self._database.run(_SQL["delete"], {"queue": queue, "seq": seq, "receipt": receipt}) > 0

    def retain(self, queue: str, retention_ms: int) -> int:
        """Have the messages of a queue expire so long after they were sent; answers how many there are."""
        return self._database.run(_SQL["retain"], {"queue": queue, "retention_ms": retention_ms})

    def purge(self, queue: str) -> int:
        """Forget all messages of a queue; answers how many."""
        return self._database.run(_SQL["purge"], {"queue": queue})

    def expire(self, now: Instant) -> int:
        """Forget messages whose retention has passed, in all queues; answers how many."""
        return self._database.run(_SQL["expire"], {"now": now})

    def counts(self, queue: str, now: Instant) -> MessageCounts:
        """How many messages the queue holds, by state."""
        row = self._database.one(_SQL["counts"], {"queue": queue, "now": now})
        return MessageCounts(*row) if row else MessageCounts(0, 0, 0)

    def next_visible(self, queue: str, now: Instant) -> Instant | None:
        """When the queue's next message is visible (in the past if one is now), or None if it has none."""
        row = self._database.one(_SQL["next_visible"], {"queue": queue, "now": now})
        return None if row is None else int(row[0])

    def count_visible(self, queue: str, now: Instant, *, limit: int) -> int:
        """How many messages are visible, counting no further than `limit`."""
        row = self._database.one(_SQL["count_visible"], {"queue": queue, "now": now, "limit": limit})
        return int(row[0]) if row else 0

    def count_in_flight(self, queue: str, now: Instant, *, limit: int) -> int:
        """How many messages are in flight, counting no further than `limit`."""
        row = self._database.one(_SQL["count_in_flight"], {"queue": queue, "now": now, "limit": limit})
        return int(row[0]) if row else 0


def _columns(message: NewMessage) -> Params:
    return {
        "queue": message.queue, "message_id": message.message_id, "body": message.body, "body_md5": message.body_md5,
        "attributes": message.attributes, "system_attributes": message.system_attributes,
        "sender_id": message.sender_id, "group_id": message.group_id, "sent_at": message.sent_at,
        "visible_at": message.visible_at, "expires_at": message.expires_at,
    }  # fmt: skip
