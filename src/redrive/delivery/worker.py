"""Workers: everything that happens by itself.

claim    in a transaction: take due work. What can be done inside the store is done there and then, exactly once;
         what needs the outside comes back as attempts under leases.
attempt  between transactions: the driver performs it. It may happen twice, or its answer may be lost.
settle   in a transaction: record the answer and do what follows. A stale fence settles nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.delivery.operation import Resume
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.invocation import Invocation
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class Attempt:
    """Work to perform outside, under the lease that (`key`, `fence`) name.

    With `resume` it is the operation of a service that needs the outside, which makes the operation's answer.
    """

    worker: str
    key: str
    fence: int
    errand: Errand
    resume: Resume | None = None

    @property
    def invocation(self) -> Invocation:
        """The run of a function that this attempt is. Errors: Bug if it is another errand."""
        if not isinstance(self.errand, Invocation):
            raise Bug(f"attempt {self.key} of {self.worker} is no run of a function")
        return self.errand

    @property
    def function(self) -> str:
        """Whose run it is, by unqualified ARN; empty for all HTTP calls together."""
        return self.errand.unqualified_arn if isinstance(self.errand, Invocation) else ""


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """How many attempts can start now. With `held`, functions share the slots: how many runs of each are under way.

    A function may begin another run while it has fewer under way than there are slots free: it gets half of what it
    finds, and leaves the other half. 32 slots leave 16 free after one function that hangs, 8 after two, 4 after three.
    """

    count: int
    held: Mapping[str, int] | None = None

    def room_of(self, function: str) -> int:
        """How many more runs of a function, by its unqualified ARN, can start now."""
        if self.held is None:
            return self.count
        return max(0, -(-(self.count - self.held.get(function, 0)) // 2))

    @property
    def full(self) -> Collection[str]:
        """The functions of which no more can start before something has ended."""
        return [] if self.held is None else [one for one, under_way in self.held.items() if under_way >= self.count]

    def without(self, functions: Iterable[str]) -> FreeSlots:
        """What is left when runs of these functions have started, one for each time that it is named."""
        started = Counter(functions)
        if not started:
            return self
        held = None if self.held is None else Counter(self.held) + started
        return FreeSlots(self.count - started.total(), held)


ONE = FreeSlots(1)
"""One attempt at a time, as in virtual time."""


class Worker(Protocol):
    """One kind of due work."""

    @property
    def name(self) -> str:
        """Unique among the workers of an engine; attempts carry it."""
        ...

    @property
    def timer(self) -> str | None:
        """The kind of timer that alone says when this is due; None if there is more to it, and `next_due` is asked."""
        ...

    @property
    def upkeep(self) -> bool:
        """True for sweeps that recur for ever and change nothing a user waits for."""
        ...

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        """When there is next something to claim, given these free slots for attempts; None if not foreseeable.

        An instant that has come must mean that `claim` will make progress: a worker without room says None or later.
        """
        ...

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        """Do the inside work that is due and take attempts. Claims no more than can start now."""
        ...

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        """Record what became of an attempt and do what follows; nothing if its lease has passed to another."""
        ...
