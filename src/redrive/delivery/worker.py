"""Workers: all work that starts by itself.

claim    in a transaction: take due work. Work inside the store is done at once, exactly once; work that
         needs the outside is returned as attempts under leases.
attempt  between transactions: the driver performs the attempt. It may happen twice, or its answer may be lost.
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
    """Work to perform outside, under the lease that `key` and `fence` identify.

    With `resume`, the attempt is a service's operation that needs the outside; `resume` builds the operation's answer.
    """

    worker: str
    key: str
    fence: int
    errand: Errand
    resume: Resume | None = None

    @property
    def invocation(self) -> Invocation:
        """The attempt's run of a function. Errors: Bug if the errand is of another kind."""
        if not isinstance(self.errand, Invocation):
            raise Bug(f"attempt {self.key} of {self.worker} is no run of a function")
        return self.errand

    @property
    def function(self) -> str:
        """The unqualified ARN of the attempt's function; empty for all HTTP calls together."""
        return self.errand.unqualified_arn if isinstance(self.errand, Invocation) else ""


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """How many attempts can start now. With `held`, functions share the slots; `held` counts each function's runs.

    A function may start a run while fewer of its runs are under way than slots are free. So it takes half of the slots
    that it finds free. Of 32 slots, 16 stay free after one function that hangs, 8 after two, 4 after three.
    """

    count: int
    held: Mapping[str, int] | None = None

    def room_of(self, function: str) -> int:
        """How many more runs of a function can start now. `function` is an unqualified ARN."""
        if self.held is None:
            return self.count
        return max(0, -(-(self.count - self.held.get(function, 0)) // 2))

    @property
    def full(self) -> Collection[str]:
        """The functions that cannot start a run before another run has ended."""
        return [] if self.held is None else [one for one, under_way in self.held.items() if under_way >= self.count]

    def without(self, functions: Iterable[str]) -> FreeSlots:
        """The slots that are left after one run started for each of these functions. A name may occur several times."""
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
        """The worker's name, unique in an engine. Attempts contain it."""
        ...

    @property
    def timer(self) -> str | None:
        """The kind of timer that alone decides when this worker is due; None if `next_due` decides."""
        ...

    @property
    def upkeep(self) -> bool:
        """True for sweeps that recur for ever and change nothing that a user waits for."""
        ...

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        """The next instant with work to claim, given these free slots; None if unknown.

        When this instant has come, `claim` must make progress: a worker without a free slot returns None or a later
        instant.
        """
        ...

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        """Do the due work inside the store and return attempts. Claims no more attempts than can start now."""
        ...

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        """Record an attempt's result and do what follows; does nothing if another claim holds the lease."""
        ...
