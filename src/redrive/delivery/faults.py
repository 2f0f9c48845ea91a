"""Faults: failures on order, so that every path on which work can fail can be walked and seen.

A fault names a target (an ARN, in which `*` and `?` are wildcards), what calls to it answer, and how often. It strikes
where deliveries are attempted and where functions are run, never at calls that a user makes for himself. What an error
means is for the source of the delivery to say, as with a real one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.languages.iam.wildcards import Pattern, glob, matches
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

ID_DIGITS = 8
PATTERNS_KEPT = 1_000


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
    struck: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether it has struck as often as it may."""
        return self.times is not None and self.struck >= self.times

    @property
    def error(self) -> ServiceError:
        """The error with which the call fails."""
        return ServiceError(self.code, self.message or f"Fault {self.id} of this server.")

    def is_aimed_at(self, arn: str) -> bool:
        """Whether a call to this ARN is one to fail."""
        return matches(_pattern(self.target), arn)


@dataclass(frozen=True, slots=True)
class Faults:
    """All faults of a server, oldest first: one document, so that asking whether there are any costs nothing.

    `held` are the deliveries that a slow call holds up, each with the fault's id.
    """

    KIND: ClassVar[str] = "engine.fault"
    NAME: ClassVar[str] = "all"

    faults: tuple[Fault, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """There is one."""
        return self.NAME

    def find(self, id: str) -> Fault | None:
        """The fault of this id."""
        return next((fault for fault in self.faults if fault.id == id), None)


@dataclass(frozen=True, slots=True)
class Held:
    """The call is slow: nothing happens before this instant."""

    until: Instant


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
    _store(tx, replace(known, faults=(*known.faults, made)))
    return made


def clear_faults(tx: Transaction, id: str | None = None) -> int:
    """Forget one fault, or all without an id; answers how many. What they hold up goes on when its time has come."""
    known = all_faults(tx)
    left = tuple(fault for fault in known.faults if id is not None and fault.id != id)
    _store(tx, replace(known, faults=left))
    return len(known.faults) - len(left)


def strike(tx: Transaction, *arns: str) -> Fault | None:
    """The fault, if any, that a call to something of these names meets; it has struck once more then.

    The oldest that is aimed at it and whose rate says so. The draws are the transaction's, seeded in virtual time.
    """
    known = all_faults(tx)
    for fault in known.faults:
        if fault.is_spent or not any(fault.is_aimed_at(arn) for arn in arns):
            continue
        if fault.rate is None or tx.entropy.uniform(0.0, 1.0) < fault.rate:
            struck = replace(fault, struck=fault.struck + 1)
            _store(tx, Faults(tuple(struck if one is fault else one for one in known.faults), known.held))
            return struck
    return None


def hinder(tx: Transaction, delivery: Delivery) -> Held | Fault | None:
    """What an attempt at a delivery inside the store meets: a slow call, then the fault's error, or nothing."""
    known = all_faults(tx)
    held_by = known.held.get(delivery.id)
    if held_by is not None:
        release(tx, delivery)
        return _failing(known.find(held_by))
    fault = strike(tx, delivery.target_arn) if known.faults else None
    if fault is None or not fault.latency_ms:
        return fault
    known = all_faults(tx)
    _store(tx, replace(known, held={**known.held, delivery.id: fault.id}))
    return Held(tx.now + fault.latency_ms)


def release(tx: Transaction, delivery: Delivery) -> None:
    """Hold a delivery up no longer."""
    known = all_faults(tx)
    if delivery.id in known.held:
        _store(tx, replace(known, held={key: by for key, by in known.held.items() if key != delivery.id}))


def _failing(fault: Fault | None) -> Fault | None:
    return fault if fault is not None and fault.code else None


def _store(tx: Transaction, faults: Faults) -> None:
    tx.resources.put(_EVERYWHERE, faults)


@lru_cache(maxsize=PATTERNS_KEPT)
def _pattern(target: str) -> Pattern:
    return glob(target)
