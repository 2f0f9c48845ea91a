"""Promises to deliver: one row, one promise. The outbox of every asynchronous thing.

`due_at` of a delivery that is being attempted is the end of its lease: whoever finds it due then knows that the
attempt's node has not answered. The fence counts leases; only the holder of the latest may settle: each write names the
fence under which it was decided, and writes exactly one row, or it is a Bug and the step is undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_dataclass, load_dataclass
from redrive.core.errors import Bug
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.store.database import Database, Row
from redrive.store.documents import document_from, document_text
from redrive.store.earliest import Earliest
from redrive.store.queries import load_queries

_SQL = load_queries("deliveries")

POLICIES_KEPT = 1_000
"""Most deliveries have one of few policies, and reading one takes longer than the rest of the row."""
DOCUMENTS_KEPT = 2_000
"""What is retried is read again and again."""

INSIDE = "inside"
"""The target is in this store: claim, acceptance and settlement share one transaction."""
OUTSIDE = "outside"
"""The target is reached between two transactions, under a lease."""


class Delivery(NamedTuple):
    """A promise that something reaches a target. A tuple, since one is made for each attempt.

    `id` makes the promise idempotent: making it twice is making it once. `source` names who renders, classifies and
    dead-letters it; `document` is that source's own data, which nobody changes. `first_at` is where its age counts
    from.
    `function` is whose run it is, by unqualified ARN, if that is known: who shares the slots for attempts outside.
    `attempts` counts attempts begun, `failures` those that used up a retry, `leases` claims since the last settlement:
    above 1, an earlier attempt was never heard of again.
    """

    id: str
    scope: Scope
    source: str
    source_arn: str
    target_arn: str
    document: Document
    policy: RetryPolicy
    place: str
    due_at: Instant
    first_at: Instant
    attempts: int = 0
    failures: int = 0
    fence: int = 0
    leases: int = 0
    function: str = ""


class DeliveryTable:
    """The deliveries that are not settled for good."""

    __slots__ = ("_database", "_earliest")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._earliest = Earliest(database, _SQL["next"])

    def put(self, delivery: Delivery) -> bool:
        """Make the promise; False if it was made before."""
        changed = self._database.run(
            _SQL["put"],
            (
                delivery.id, str(delivery.scope), delivery.source, delivery.source_arn, delivery.target_arn,
                document_text(delivery.document), _policy_text(delivery.policy), delivery.place, delivery.due_at,
                delivery.first_at, delivery.function,
            ),
        )  # fmt: skip
        self._earliest.changed(delivery.place)
        return changed > 0

    def due(self, place: str, now: Instant, *, limit: int) -> list[Delivery]:
        """Deliveries that are due, earliest first, as attempts at them begin; to be released or deleted in this step.

        What is settled in the transaction that found it needs no lease: nobody else can see it between the two.
        """
        rows = self._database.all(_SQL["due"], {"place": place, "now": now, "limit": limit})
        return sorted(map(_delivery, rows), key=lambda one: (one.first_at, one.id))

    def claim_due(self, place: str, now: Instant, *, lease_ms: int, limit: int) -> list[Delivery]:
        """Take deliveries that are due, earliest first, each under a lease that ends at `now + lease_ms`."""
        self._earliest.changed(place)
        rows = self._database.all(
            _SQL["claim_due"], {"place": place, "now": now, "lease_until": now + lease_ms, "limit": limit}
        )
        return sorted(map(_delivery, rows), key=lambda one: (one.first_at, one.id))

    def claim_outside(self, function: str, now: Instant, *, lease_ms: int, limit: int) -> list[Delivery]:
        """Take deliveries outside of one function, as `claim_due`."""
        self._earliest.changed(OUTSIDE)
        rows = self._database.all(
            _SQL["claim_outside"], {"function": function, "now": now, "lease_until": now + lease_ms, "limit": limit}
        )
        return sorted(map(_delivery, rows), key=lambda one: (one.first_at, one.id))

    def outside_by_function(self) -> list[tuple[str, Instant]]:
        """The functions that have deliveries outside, and when each one's earliest comes due; the earliest first."""
        return [
            (str(function), int(due_at)) for function, due_at in self._database.all(_SQL["outside_by_function"], {})
        ]

    def held(self, id: str, fence: int) -> Delivery | None:
        """The delivery, if the lease with this fence is still its latest; None if another claim came after it."""
        row = self._database.one(_SQL["held"], {"id": id, "fence": fence})
        return None if row is None else _delivery(row)

    def release(self, delivery: Delivery, *, place: str, due_at: Instant, counted: bool) -> None:
        """The attempt has ended: have the delivery due again at a place; `counted` failures use up a retry."""
        self._write("release", (place, due_at, delivery.attempts, int(counted)), delivery.id, delivery.fence)
        self._earliest.changed(delivery.place)
        self._earliest.changed(place)

    def move_outside(self, delivery: Delivery, *, function: str) -> None:
        """Have an attempt that is due made outside, as a run of this function."""
        self._write("move_outside", (function,), delivery.id, delivery.fence)
        self._earliest.changed(delivery.place)
        self._earliest.changed(OUTSIDE)

    def move(self, delivery: Delivery, *, place: str) -> None:
        """Have a delivery wait at another place."""
        self._write("move", (place,), delivery.id, delivery.fence)
        self._earliest.changed(delivery.place)
        self._earliest.changed(place)

    def postpone(self, delivery: Delivery, *, due_at: Instant) -> None:
        """Have a delivery inside due at this instant: until then the attempt at it is under way, under a lease.

        A lease has a fence of its own: the late answer of an attempt outside that came before settles nothing now.
        """
        self._write("postpone", (due_at,), delivery.id, delivery.fence)
        self._earliest.changed(delivery.place)

    def bring_near(self, now: Instant, *, due_at_max: Instant) -> int:
        """Have deliveries that are due later than that be due now; answers how many. Reads the whole table."""
        self._earliest.forget()
        return self._database.run(_SQL["bring_near"], {"now": now, "due_at_max": due_at_max})

    def end_leases(self, now: Instant) -> None:
        """Have all that is under way due now: whoever held it is gone. Only for a node that has the store to itself.

        Rows of places other than the two above are leases themselves.
        """
        self._database.run(_SQL["end_leases"], {"now": now})
        self._earliest.forget()

    def delete(self, id: str, fence: int) -> None:
        """The promise is kept, or given up, by the holder of its latest lease."""
        self._write("delete", (), id, fence)
        self._earliest.forget()

    def next(self, places: Sequence[str]) -> Instant | None:
        """When the earliest delivery at one of these places comes due."""
        earliest: Instant | None = None
        for place in places:
            at = self._earliest.of(place)
            if at is not None and (earliest is None or at < earliest):
                earliest = at
        return earliest

    def _write(self, statement: str, values: Row, id: str, fence: int) -> None:
        """Change the one row of this id and fence. Errors: Bug if there is none: the lease has passed to another."""
        changed = self._database.run(_SQL[statement], (*values, id, fence))
        if changed != 1:
            raise Bug(f"{statement} of delivery {id} under fence {fence} changed {changed} rows")

    def forget(self) -> None:
        """Drop what is remembered: what was written has been undone."""
        self._earliest.forget()

    def count_of_source(self, source: str, source_arn: str) -> int:
        """How many deliveries of one source resource are open."""
        row = self._database.one(_SQL["count_of_source"], {"source": source, "source_arn": source_arn})
        return int(row[0]) if row else 0


@lru_cache(POLICIES_KEPT)
def _policy_text(policy: RetryPolicy) -> str:
    return dump_dataclass(policy)


@lru_cache(POLICIES_KEPT)
def _policy(text: str) -> RetryPolicy:
    return load_dataclass(RetryPolicy, text)


@lru_cache(DOCUMENTS_KEPT)
def _document(text: str) -> Document:
    return document_from(text)


def _delivery(row: Row) -> Delivery:
    delivery_id, scope, source, source_arn, target_arn, document, policy, *rest = row
    account, region = scope.split("/", 1)
    return Delivery(
        delivery_id, Scope(account, region), source, source_arn, target_arn, _document(document),
        _policy(policy), *rest,
    )  # fmt: skip
