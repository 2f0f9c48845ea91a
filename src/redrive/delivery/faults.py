"""Faults: failures that a user orders, to test each path on which work can fail.

A fault names a target (an ARN with the wildcards `*` and `?`), the answer of calls to that target, and how often the
fault strikes. A fault strikes deliveries' attempts and runs of functions. It never strikes calls that a user makes. The
source of the delivery decides what the error means, as for a real error.

A fault with `s3` strikes no calls: it doubles, reorders or delays what S3 tells of the objects that the target names
(told_faults.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.languages.iam.wildcards import glob, matches
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

ID_DIGITS = 8
ANSWERS_KEPT = 4_096
"""The size of the cache. Attempts go to the same few targets again and again."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An error, or a delay, in place of a target's real answer.

    `code` is empty if calls are only slow. `times` is the maximum number of strikes; None: no maximum. `rate` is the
    share of calls that fail, from 0 to 1; None: all calls. With `s3` (`duplicate`, `reorder`, `delay`) the fault
    strikes notifications of S3 instead, of the events that `event` names (`ObjectCreated:*`; empty: of all), and
    `latency_ms` is how far apart they are at most.
    """

    id: str
    target: str
    code: str = ""
    message: str = ""
    times: int | None = None
    rate: float | None = None
    latency_ms: int = 0
    s3: str = ""
    event: str = ""

    @property
    def error(self) -> ServiceError:
        """The error with which the call fails."""
        return ServiceError(self.code, self.message or f"Fault {self.id} of this server.")

    def is_aimed_at(self, arn: str) -> bool:
        """Whether the fault strikes calls to the thing with this ARN."""
        return not self.s3 and _covers(self.target, arn)

    def is_told(self, arn: str, event: str) -> bool:
        """Whether the fault strikes what S3 tells of an event (`ObjectCreated:Put`) of the object with this ARN."""
        if not self.s3 or not _covers(self.target, arn):
            return False
        return not self.event or _covers(self.event.removeprefix("s3:"), event)

    def is_spent(self, struck: int) -> bool:
        """Whether the fault has struck as often as it may."""
        return self.times is not None and struck >= self.times


@dataclass(frozen=True, slots=True)
class Faults:
    """All faults of a server, oldest first. One document, so that the check for faults is cheap."""

    KIND: ClassVar[str] = "engine.fault"
    NAME: ClassVar[str] = "all"

    faults: tuple[Fault, ...] = ()

    @property
    def name(self) -> str:
        """The name of the only document."""
        return self.NAME

    def find(self, id: str) -> Fault | None:
        """The fault with this id, or None."""
        return next((fault for fault in self.faults if fault.id == id), None)


@dataclass(frozen=True, slots=True)
class Strikes:
    """How often a fault has struck. Stored apart from the fault, because each strike writes it."""

    KIND: ClassVar[str] = "engine.fault.strikes"
    IS_STATE: ClassVar[bool] = True

    fault_id: str
    count: int = 0

    @property
    def name(self) -> str:
        """The fault's id."""
        return self.fault_id


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A delivery that waits for a slow call, and the fault that makes the call slow."""

    KIND: ClassVar[str] = "engine.fault.slow"
    IS_STATE: ClassVar[bool] = True

    delivery_id: str
    fault_id: str

    @property
    def name(self) -> str:
        """The delivery's id."""
        return self.delivery_id


@dataclass(frozen=True, slots=True)
class Held:
    """The call is slow: the attempt waits until this instant."""

    until: Instant


CHANGED = "faults"
"""The topic that is notified when faults are added or cleared."""

_EVERYWHERE = Scope("engine", "all")
"""Faults belong to the server, not to an account. Their targets name accounts and regions."""

_NONE = Faults()


def all_faults(tx: Transaction) -> Faults:
    """All faults of the server."""
    return tx.resources.get(Faults, _EVERYWHERE, Faults.NAME) or _NONE


def add_fault(tx: Transaction, fault: Fault) -> Fault:
    """Add a fault, which strikes from now on. Returns the fault with its new id."""
    known = all_faults(tx)
    made = replace(fault, id=tx.entropy.hex(ID_DIGITS))
    _store(tx, Faults((*known.faults, made)))
    return made


def clear_faults(tx: Transaction, id: str | None = None) -> int:
    """Remove the fault with this id, or all faults. Returns their number. Delayed calls stay delayed to their end."""
    known = all_faults(tx)
    gone = [fault for fault in known.faults if id in (None, fault.id)]
    for fault in gone:
        tx.resources.delete(Strikes, _EVERYWHERE, fault.id)
    _store(tx, Faults(tuple(fault for fault in known.faults if fault not in gone)))
    return len(gone)


def count_of_strikes(tx: Transaction, fault: Fault) -> int:
    """How often a fault has struck."""
    strikes = tx.resources.get(Strikes, _EVERYWHERE, fault.id)
    return 0 if strikes is None else strikes.count


def strike(tx: Transaction, *arns: str) -> Fault | None:
    """The fault that strikes a call to a thing with these ARNs, or None. Counts the strike.

    The oldest fault whose target matches and whose `rate` draw succeeds. The draws use the transaction's entropy, which
    is seeded in virtual time.
    """
    aimed = [fault for fault in all_faults(tx).faults if any(fault.is_aimed_at(arn) for arn in arns)]
    return first_to_strike(tx, aimed)


def first_to_strike(tx: Transaction, aimed: Iterable[Fault]) -> Fault | None:
    """The first of these faults that is not spent and whose `rate` draw succeeds, or None. Counts the strike."""
    for fault in aimed:
        struck = count_of_strikes(tx, fault)
        if fault.is_spent(struck):
            continue
        if fault.rate is None or tx.entropy.uniform(0.0, 1.0) < fault.rate:
            tx.resources.put(_EVERYWHERE, Strikes(fault.id, struck + 1))
            return fault
    return None


def hinder(tx: Transaction, delivery: Delivery) -> Held | Fault | None:
    """Apply faults to an attempt inside the store: first the delay (`Held`), then the fault's error, or None.

    A delayed delivery has a lease, because its call is under way.
    """
    if delivery.leases:
        slow = tx.resources.get(SlowCall, _EVERYWHERE, delivery.id)
        release(tx, delivery)
        fault = None if slow is None else all_faults(tx).find(slow.fault_id)
        return fault if fault is not None and fault.code else None
    fault = strike(tx, delivery.target_arn)
    if fault is None or not fault.latency_ms:
        return fault
    tx.resources.put(_EVERYWHERE, SlowCall(delivery.id, fault.id))
    return Held(tx.now + fault.latency_ms)


def release(tx: Transaction, delivery: Delivery) -> None:
    """End the delay of a delivery."""
    if delivery.leases:
        tx.resources.delete(SlowCall, _EVERYWHERE, delivery.id)


def _store(tx: Transaction, faults: Faults) -> None:
    tx.resources.put(_EVERYWHERE, faults)
    tx.notify(CHANGED)


@lru_cache(maxsize=ANSWERS_KEPT)
def _covers(target: str, arn: str) -> bool:
    return matches(glob(target), arn)
