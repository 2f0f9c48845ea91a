"""The pool of execution environments: keeps warm ones for the next run, and limits the number of all.

Source: https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

RESERVED_LIMIT_EXCEEDED = "ReservedFunctionConcurrentInvocationLimitExceeded"
LIMIT_EXCEEDED = "ConcurrentInvocationLimitExceeded"


class Pooled(Protocol):
    """An environment in a pool."""

    @property
    def is_alive(self) -> bool:
        """Whether it can be used again."""
        ...

    def freeze(self) -> None:
        """Freeze its processes until the next use."""
        ...

    def kill(self) -> None:
        """End it at once; callable from any thread."""
        ...

    def close(self) -> None:
        """End it, and release its resources."""
        ...


E = TypeVar("E", bound=Pooled)


@dataclass(frozen=True, slots=True)
class PoolKey:
    """The function of an environment. `function` has no version: all versions share reserved concurrency."""

    function: str
    version: str
    revision: str
    provisioned: str = ""
    """The qualified ARN for whose calls the environment is kept ready; empty if it was started for a run."""


@dataclass(slots=True)
class _Idle(Generic[E]):
    key: PoolKey
    environment: E
    since_ms: float
    is_frozen: bool = False


class UnderWay(NamedTuple):
    """How many runs are admitted: of one function, of all, and of all functions without reserved concurrency."""

    of_function: int
    in_all: int
    unreserved: int


class Pool(Generic[E]):
    """Admits runs and keeps idle environments; evicts the longest idle first. Thread-safe."""

    def __init__(self, *, running_max: int, idle_max: int, idle_ms_max: float, monotonic: Callable[[], float]) -> None:
        self._running_max = running_max
        self._idle_max = idle_max
        self._idle_ms_max = idle_ms_max
        self._monotonic = monotonic
        self._idle: list[_Idle[E]] = []
        self._admitted: Counter[str] = Counter()
        self._unreserved = 0
        self._running: dict[E, PoolKey | None] = {}
        self._kept: Mapping[PoolKey, int] = {}
        self._changed = threading.Condition()
        self.is_closed = False

    def admit(self, function: str, reserved: int | None) -> str | None:
        """Count one more run of a function; None, or the reason why it is throttled. Pairs with `leave`.

        A function without reserved concurrency may begin a run while it has fewer runs under way than there are free
        places: alone it gets half of all, so a function that hangs leaves places for the others.
        """
        with self._changed:
            if reserved is not None and self._admitted[function] >= reserved:
                return RESERVED_LIMIT_EXCEEDED
            room = self._running_max - self._admitted.total()
            if room <= (0 if reserved is not None else self._admitted[function]):
                return LIMIT_EXCEEDED
            self._admitted[function] += 1
            self._unreserved += reserved is None
            return None

    def under_way(self, function: str) -> UnderWay:
        """How many runs are admitted now."""
        with self._changed:
            return UnderWay(self._admitted[function], self._admitted.total(), self._unreserved)

    def leave(self, function: str, reserved: int | None) -> None:
        """Count the end of a run, with the reserved concurrency with which it was admitted."""
        with self._changed:
            self._unreserved -= reserved is None
            self._admitted[function] -= 1
            if not self._admitted[function]:
                del self._admitted[function]
            self._changed.notify_all()

    def take(self, key: PoolKey) -> E | None:
        """The most recently used warm environment; None if there is none. Ends those that are too old for use."""
        with self._changed:
            oldest = self._monotonic() - self._idle_ms_max
            outdated = [idle for idle in self._idle if self._is_outdated(idle, key, oldest)]
            kept = [idle for idle in self._idle if idle not in outdated]
            found = next((idle for idle in reversed(kept) if idle.key == key), None)
            self._idle = [idle for idle in kept if idle is not found]
        _close_all(outdated)
        if found is None:
            return None
        return self.adopt(found.environment, key)

    def keep(self, wanted: Mapping[PoolKey, int]) -> list[PoolKey]:
        """Keep so many environments of each provisioned key, however long they are idle; returns what is missing.

        Ends idle ones that are not wanted any more, or have died. Those that run are ended after their run.
        """
        with self._changed:
            self._kept = wanted
            counts = Counter(key for key in self._running.values() if key is not None)
            left: list[_Idle[E]] = []
            ended: list[_Idle[E]] = []
            for idle in self._idle:
                counts[idle.key] += 1
                is_wanted = idle.environment.is_alive and counts[idle.key] <= wanted.get(idle.key, 0)
                if idle.key.provisioned and not is_wanted:
                    counts[idle.key] -= 1
                    ended.append(idle)
                else:
                    left.append(idle)
            self._idle = left
        _close_all(ended)
        return [key for key, number in wanted.items() for _ in range(number - counts[key])]

    def adopt(self, environment: E, key: PoolKey | None = None) -> E:
        """Register a running environment, so that closing the pool ends it. `key`: for what it was taken."""
        with self._changed:
            self._running[environment] = key
            if self.is_closed:
                environment.kill()
        return environment

    def put(self, key: PoolKey, environment: E) -> None:
        """Keep an environment for the next run; if there are too many, the longest idle one is evicted."""
        with self._changed:
            self._running.pop(environment, None)
            self._idle.append(_Idle(key, environment, self._monotonic()))
            dropped = list(self._idle) if self.is_closed else self._surplus(key)
            if dropped:
                self._idle = [idle for idle in self._idle if idle not in dropped]
        _close_all(dropped)

    def _surplus(self, key: PoolKey) -> list[_Idle[E]]:
        """What is too much after an environment of this key was added: the longest idle ones."""
        if key.provisioned:
            same = [idle for idle in self._idle if idle.key == key]
            running = sum(other == key for other in self._running.values())
            return same[: max(0, len(same) + running - self._kept.get(key, 0))]
        if len(self._idle) <= self._idle_max:  # Seldom more: the list below is not made for each run.
            return []
        on_demand = [idle for idle in self._idle if not idle.key.provisioned]
        return on_demand[: max(0, len(on_demand) - self._idle_max)]

    def freeze_idle(self, after_ms: float) -> bool:
        """Freeze the environments that have been idle for so long; returns whether unfrozen ones are left."""
        with self._changed:
            latest = self._monotonic() - after_ms
            awake = [idle for idle in self._idle if not idle.is_frozen]
            for idle in awake:
                if idle.since_ms <= latest:
                    idle.environment.freeze()
                    idle.is_frozen = True
            return not all(idle.is_frozen for idle in awake)

    def drop(self, environment: E) -> None:
        """End an environment after its run."""
        environment.close()
        with self._changed:
            self._running.pop(environment, None)

    def close(self, wait_s: float) -> None:
        """End all environments; waits until their runs have noticed."""
        with self._changed:
            self.is_closed = True
            idle, self._idle = self._idle, []
            for environment in [*self._running, *(one.environment for one in idle)]:
                environment.kill()  # Kill all before waiting for the first.
        _close_all(idle)
        with self._changed:
            self._changed.wait_for(lambda: not self._admitted.total(), wait_s)

    @staticmethod
    def _is_outdated(idle: _Idle[E], key: PoolKey, oldest: float) -> bool:
        same_place = (idle.key.function, idle.key.version) == (key.function, key.version)
        superseded = same_place and idle.key.revision != key.revision
        is_old = idle.since_ms < oldest and not idle.key.provisioned
        return superseded or is_old or not idle.environment.is_alive


def _close_all(idle: list[_Idle[E]]) -> None:
    for one in idle:
        one.environment.close()
