"""Open deliveries: one row for each promise to deliver. The outbox of all asynchronous work.

While a delivery is attempted, `due_at` is the end of its lease: if the delivery is due then, the attempt's node has not
answered. The fence counts leases. Only the holder of the latest lease may settle: each write names the fence under
which it was decided, and must change exactly one row; otherwise it is a Bug and the step is rolled back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_dataclass, load_dataclass
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.store.database import Database, Row
from redrive.store.documents import document_from, document_text
from redrive.store.earliest import Earliest
from redrive.store.queries import load_queries

_SQL = load_queries("deliveries")

POLICIES_KEPT = 1_000
"""The size of the policies' cache. Deliveries share few policies, and decoding takes longer than the rest of a row."""
DOCUMENTS_KEPT = 2_000
"""The size of the documents' cache. A retried delivery is read again and again."""

INSIDE = "inside"
"""The target is in this store: claim, acceptance and settlement share one transaction."""
OUTSIDE = "outside"
"""The target is reached between two transactions, under a lease."""


class Delivery(NamedTuple):
    """A promise that something reaches a target. A tuple, because one is created for each attempt.

    `id` makes creation idempotent: a second `put` does nothing. `source` names the code that renders, classifies and
    dead-letters the delivery. `document` is the source's own data, which never changes. The delivery's age counts from
    `first_at`. `function` is the unqualified ARN of its function, if known: functions share the slots for attempts
    outside. `attempts` counts attempts begun, `failures` those that used up a retry, `leases` the claims since the last
    settlement: above 1, an earlier attempt never answered.
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


class Work(NamedTuple):
    """The deliveries that have not ended, as numbers."""

    due: int
    """How many are due and under no lease."""
    leased: int
    """How many attempts are under way."""
    lag_ms: int
    """For how long the earliest of the due ones has been due; 0 if none is."""


class DeliveryTable:
    """The deliveries that have not ended."""

    __slots__ = ("_database", "_earliest")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._earliest = Earliest(database, _SQL["next"])

    def put(self, delivery: Delivery) -> bool:
        """Store the delivery. False if its id exists already."""
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
        """Due deliveries, earliest first, with the new attempt counted. Release or delete each in this step.

        They need no lease: nobody else can see them before the transaction ends.
        """
        rows = self._database.all(_SQL["due"], {"place": place, "now": now, "limit": limit})
        return sorted(map(_delivery, rows), key=lambda one: (one.first_at, one.id))

    def claim_due(self, place: str, now: Instant, *, lease_ms: int, limit: int) -> list[Delivery]:
        """Claim due deliveries, earliest first, each under a lease that ends at `now + lease_ms`."""
        self._earliest.changed(place)
        rows = self._database.all(
            _SQL["claim_due"], {"place": place, "now": now, "lease_until": now + lease_ms, "limit": limit}
        )
        return sorted(map(_delivery, rows), key=lambda one: (one.first_at, one.id))

    def claim_outside(self, function: str, now: Instant, *, lease_ms: int, limit: int) -> list[Delivery]:
        """Claim due outside deliveries of one function, as `claim_due`."""
        self._earliest.changed(OUTSIDE)
        rows = self._database.all(
            _SQL["claim_outside"], {"function": function, "now": now, "lease_until": now + lease_ms, "limit": limit}
        )
        return sorted(map(_delivery, rows), key=lambda one: (one.first_at, one.id))

    def outside_by_function(self) -> list[tuple[str, Instant]]:
        """The functions with outside deliveries, and the earliest `due_at` of each; earliest first."""
        return [
            (str(function), int(due_at)) for function, due_at in self._database.all(_SQL["outside_by_function"], {})
        ]

    def held(self, id: str, fence: int) -> Delivery | None:
        """The delivery, if this fence is its latest; None after a newer claim, or if it has ended."""
        row = self._database.one(_SQL["held"], {"id": id, "fence": fence})
        return None if row is None else _delivery(row)

    def release(self, delivery: Delivery, *, place: str, due_at: Instant, counted: bool) -> None:
        """End an attempt: the delivery is due again at `place` and `due_at`. A `counted` failure uses up a retry."""
        self._write("release", (place, due_at, delivery.attempts, int(counted)), delivery.id, delivery.fence)
        self._earliest.changed(delivery.place)
        self._earliest.changed(place)

    def move_outside(self, delivery: Delivery, *, function: str) -> None:
        """Move a delivery outside, to be attempted as a run of this function."""
        self._write("move_outside", (function,), delivery.id, delivery.fence)
        self._earliest.changed(delivery.place)
        self._earliest.changed(OUTSIDE)

    def move(self, delivery: Delivery, *, place: str) -> None:
        """Move a delivery to another place."""
        self._write("move", (place,), delivery.id, delivery.fence)
        self._earliest.changed(delivery.place)
        self._earliest.changed(place)

    def postpone(self, delivery: Delivery, *, due_at: Instant) -> None:
        """Keep an inside delivery under a lease until this instant, because its attempt is under way.

        The lease gets a new fence, so a late answer of an earlier attempt outside settles nothing.
        """
        self._write("postpone", (due_at,), delivery.id, delivery.fence)
        self._earliest.changed(delivery.place)

    def hasten(self, id: str, now: Instant) -> None:
        """Make an inside delivery due now that waits for something else, and has no attempt under way.

        Does nothing to a delivery that another node looks at in this moment.
        """
        self._database.write(_SQL["hasten"], {"id": id, "now": now})
        self._earliest.changed(INSIDE)

    def bring_near(self, now: Instant, *, due_at_max: Instant) -> int:
        """Make deliveries due now that are due later than `due_at_max`. Returns how many. Reads the whole table."""
        self._earliest.forget()
        return self._database.run(_SQL["bring_near"], {"now": now, "due_at_max": due_at_max})

    def end_leases(self, now: Instant) -> None:
        """Make all attempts under way due now: their holder is gone. Only for a node that is alone on the store.

        Rows in places other than `inside` and `outside` count as leases.
        """
        self._database.write(_SQL["end_leases"], {"now": now})
        self._earliest.forget()

    def delete(self, id: str, fence: int) -> None:
        """Delete an ended delivery. Only the holder of its latest lease may do this."""
        self._write("delete", (), id, fence)
        self._earliest.forget()

    def next(self, places: Sequence[str]) -> Instant | None:
        """When the earliest delivery in these places is due."""
        earliest: Instant | None = None
        for place in places:
            at = self._earliest.of(place)
            if at is not None and (earliest is None or at < earliest):
                earliest = at
        return earliest

    def _write(self, statement: str, values: Row, id: str, fence: int) -> None:
        """Change the row with this id and fence. Errors: Bug if there is none: another claim holds the lease."""
        self._database.write_one(_SQL[statement], (*values, id, fence))

    def forget(self) -> None:
        """Clear the cache after a rollback."""
        self._earliest.forget()

    def work(self, now: Instant) -> Work:
        """How much is due and how much is under way. Reads the whole table."""
        row = self._database.one(_SQL["work"], {"now": now})
        due, earliest, leased = row or (0, None, 0)
        return Work(int(due), int(leased), max(0, now - int(earliest)) if due else 0)

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
