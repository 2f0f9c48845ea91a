"""A step that is under way on PostgreSQL: a greenlet, which is parked while it waits for an answer or a lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import greenlet

from redrive.store.api import StartAnew


class Work(greenlet.greenlet):
    """One step, or the steps of a batch that run one after another. `run` is called at the first `switch`."""

    def __init__(self, run: Callable[[], None], *, is_alone: bool, within: Work | None = None) -> None:
        """`within` is the step of which this is a branch. What that step holds, its branches may use."""
        # Whoever creates a greenlet is its parent; but a branch has to park where its step does.
        super().__init__(run, None if within is None else within.parent)
        self.within = within
        self.branches_left = 0
        self.is_alone = is_alone
        """Whether no other step runs in the store meanwhile, on any node."""
        self.written = 0
        """How many statements have written so far."""
        self.is_over = False
        """Whether its transaction was rolled back: the step must end, and may run no more statements."""
        self.held: set[str] = set()
        """The keys that no other step may reserve until this one ends."""

    def park(self) -> object:
        """Let others go on until somebody switches to this step. Returns what it was given."""
        assert self.parent is not None, "a step that runs was started by somebody"
        return self.parent.switch()


class NeedsToBeAlone(StartAnew):
    """A step wants to change what steps that run beside others rely on. It runs again, alone in the store."""


class LocalLocks:
    """Who holds which key on this connection. Steps of one batch share a transaction, so row locks do not part them."""

    __slots__ = ("_holders", "_waiting")

    def __init__(self) -> None:
        self._holders: dict[str, Work] = {}
        self._waiting: dict[str, deque[Work]] = {}

    def take(self, key: str, work: Work) -> bool:
        """Take a key. False if another step holds it: then `work` is queued, and is given the key later."""
        holder = self._holders.setdefault(key, work)
        if holder is work:
            work.held.add(key)
            return True
        if holder is work.within:
            return True
        self._waiting.setdefault(key, deque()).append(work)
        return False

    def release(self, work: Work) -> list[Work]:
        """Free what an ended step has held. Returns the steps that have got a key, and go on now."""
        following: list[Work] = []
        for key in work.held:
            waiting = self._waiting.get(key)
            if waiting:
                following.append(heir := waiting.popleft())
                heir.held.add(key)
                self._holders[key] = heir
                if not waiting:
                    del self._waiting[key]
            else:
                del self._holders[key]
        work.held = set()
        return following

    def clear(self) -> None:
        """Free everything."""
        self._holders.clear()
        self._waiting.clear()
