"""Faults: failures on order, so that every path on which work can fail can be walked and seen.

A fault names a target (an ARN, in which `*` and `?` are wildcards), what calls to it answer, and how often. It strikes
where deliveries are attempted and where functions are run, never at calls that a user makes for himself. What an error
means is for the source of the delivery to say, as with a real one.
"""

from __future__ import annotations

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
"""Attempts are made at the same few targets again and again."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What calls to a target answer instead of what they would.

    `code` is empty for calls that are only slow. `times` bounds how often it strikes, `rate` is the share of calls that
    it strikes; None for no bound and for all calls.
    """

    id: str
    target: str
    code: str = ""
    message: str = ""
    times: int | None = None
    rate: float | None = None
    latency_ms: int = 0

    @property
    def error(self) -> ServiceError:
        """The error with which the call fails."""
        return ServiceError(self.code, self.message or f"Fault {self.id} of this server.")

    def is_aimed_at(self, arn: str) -> bool:
        """Whether a call to this ARN is one to fail."""
        return _covers(self.target, arn)

    def is_spent(self, struck: int) -> bool:
        """Whether it has struck as often as it may."""
        return self.times is not None and struck >= self.times


@dataclass(frozen=True, slots=True)
class Faults:
    """All faults of a server, oldest first: one document, so that asking whether there are any costs nothing."""

    KIND: ClassVar[str] = "engine.fault"
    NAME: ClassVar[str] = "all"

    faults: tuple[Fault, ...] = ()

    @property
    def name(self) -> str:
        """There is one."""
        return self.NAME

    def find(self, id: str) -> Fault | None:
        """The fault of this id."""
        return next((fault for fault in self.faults if fault.id == id), None)


@dataclass(frozen=True, slots=True)
class Strikes:
    """How often a fault has struck. Apart from the fault, because it is written at every strike."""

    KIND: ClassVar[str] = "engine.fault.strikes"

    fault_id: str
    count: int = 0

    @property
    def name(self) -> str:
        """The fault's id."""
        return self.fault_id


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A delivery that a slow call holds up, and by whose fault."""

    KIND: ClassVar[str] = "engine.fault.slow"

    delivery_id: str
    fault_id: str

    @property
    def name(self) -> str:
        """The delivery's id."""
        return self.delivery_id


@dataclass(frozen=True, slots=True)
class Held:
    """The call is slow: nothing happens before this instant."""

    until: Instant


CHANGED = "faults"
"""The topic that is notified when faults are added or cleared."""

_EVERYWHERE = Scope("engine", "all")
"""Faults are the server's, not an account's: their targets say which accounts and regions they are for."""

_NONE = Faults()


def all_faults(tx: Transaction) -> Faults:
    """The faults of the server."""
    return tx.resources.get(Faults, _EVERYWHERE, Faults.NAME) or _NONE


def add_fault(tx: Transaction, fault: Fault) -> Fault:
    """Have a fault strike from now on; answers it with the id that it got."""
    known = all_faults(tx)
    made = replace(fault, id=tx.entropy.hex(ID_DIGITS))
    _store(tx, Faults((*known.faults, made)))
    return made


def clear_faults(tx: Transaction, id: str | None = None) -> int:
    """Forget one fault, or all without an id; answers how many. What they hold up goes on when its time has come."""
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
    """The fault, if any, that a call to something of these names meets; it has struck once more then.

    The oldest that is aimed at it and whose rate says so. The draws are the transaction's, seeded in virtual time.
    """
    for fault in all_faults(tx).faults:
        if not any(fault.is_aimed_at(arn) for arn in arns):
            continue
        struck = count_of_strikes(tx, fault)
        if fault.is_spent(struck):
            continue
        if fault.rate is None or tx.entropy.uniform(0.0, 1.0) < fault.rate:
            tx.resources.put(_EVERYWHERE, Strikes(fault.id, struck + 1))
            return fault
    return None


def hinder(tx: Transaction, delivery: Delivery) -> Held | Fault | None:
    """What an attempt at a delivery inside the store meets: a slow call, then the fault's error, or nothing.

    A delivery that is held up has a lease: its call is under way.
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
    """Hold a delivery up no longer."""
    if delivery.leases:
        tx.resources.delete(SlowCall, _EVERYWHERE, delivery.id)


def _store(tx: Transaction, faults: Faults) -> None:
    tx.resources.put(_EVERYWHERE, faults)
    tx.notify(CHANGED)


@lru_cache(maxsize=ANSWERS_KEPT)
def _covers(target: str, arn: str) -> bool:
    return matches(glob(target), arn)
