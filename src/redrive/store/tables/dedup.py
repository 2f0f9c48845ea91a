"""What FIFO queues remember for five minutes: sends by deduplication id, receives by attempt id.

Rows outlive their messages. A sweep deletes expired rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.documents import dump_json, load_json
from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("dedup")


@dataclass(frozen=True, slots=True)
class RememberedReceive:
    """The result of a receive: messages by their `seq`, with one receipt, hidden until `visible_at`."""

    receipt: str
    seqs: tuple[int, ...]
    visible_at: Instant
    expires_at: Instant


class DedupTable:
    """Remembered sends and receives, for deduplication."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def remember_send(self, queue: str, scope: str, id: str, *, message_id: str, seq: int, expires_at: Instant) -> None:
        """Remember an accepted send. `scope` is the group in which the id is unique; empty for the whole queue."""
        self._database.write(
            _SQL["remember_send"],
            {"queue": queue, "scope": scope, "id": id, "message_id": message_id, "seq": seq, "expires_at": expires_at},
        )

    def find_send(self, queue: str, scope: str, id: str, now: Instant) -> tuple[str, int] | None:
        """(message_id, seq) of the send with this id; None if there was none, or it has expired."""
        row = self._database.one(_SQL["find_send"], {"queue": queue, "scope": scope, "id": id, "now": now})
        return None if row is None else (str(row[0]), int(row[1]))

    def remember_receive(self, queue: str, id: str, receive: RememberedReceive) -> None:
        """Remember the result of a receive; replaces an earlier one with the same id."""
        self._database.write(
            _SQL["remember_receive"],
            {
                "queue": queue, "id": id, "receipt": receive.receipt, "seqs": dump_json(receive.seqs),
                "visible_at": receive.visible_at, "expires_at": receive.expires_at,
            },
        )  # fmt: skip

    def find_receive(self, queue: str, id: str, now: Instant) -> RememberedReceive | None:
        """The result of the receive with this id; None if there was none, or it has expired."""
        row = self._database.one(_SQL["find_receive"], {"queue": queue, "id": id, "now": now})
        if row is None:
            return None
        seqs: Sequence[int] = load_json(row[1])
        return RememberedReceive(row[0], tuple(seqs), int(row[2]), int(row[3]))

    def sweep(self, now: Instant, *, limit: int) -> int:
        """Delete expired rows, up to `limit` sends and `limit` receives. Returns how many of both."""
        params = {"now": now, "limit": limit}
        return self._database.run(_SQL["sweep_sends"], params) + self._database.run(_SQL["sweep_receives"], params)

    def next(self) -> Instant | None:
        """When the next send or receive expires; None if nothing is remembered."""
        row = self._database.one(_SQL["next"], ())
        return None if row is None or row[0] is None else int(row[0])

    def bring_near(self, expires_at_max: Instant) -> int:
        """Shorten remembered sends to expire at `expires_at_max` at the latest. Returns how many were changed."""
        return self._database.run(_SQL["bring_near"], {"expires_at_max": expires_at_max})
