"""The production drivers: threads that run the engine.

RealTime      claims due work, performs attempts in a pool, sleeps until the next due instant or a wake-up
VirtualDrive  does the work that is due now; time moves only on request
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from redrive.core.clock import Clock, Instant, VirtualClock
from redrive.core.errors import Conflict, Unavailable, UserError
from redrive.core.log import Log
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.engine.engine import Engine, Runner
from redrive.engine.rounds import IDLE_MS_MAX, Rounds
from redrive.engine.virtual import Keep, VirtualTime

DRAIN_S = 10
"""How long a node of a shared store lets its attempts end before it stops."""
FAILED_ROUND_PAUSE_MS = 1_000
"""How long to wait after a failed round (a full disk, a defect) before the next one."""


SETTLEMENTS_MAX = 30
"""How often a settlement is tried while the store is away or its answer is missing."""


class Driver(Protocol):
    """Runs the engine of a server."""

    def start(self) -> None:
        """Begin."""
        ...

    def wake(self) -> None:
        """Tell that something may have come due. Cheap; any thread may call it."""
        ...

    def wind_down(self) -> None:
        """Make long-running work end soon and start no more of it. Does not block. `stop` follows."""
        ...

    def stop(self) -> None:
        """Finish the current round, and end."""
        ...


class RealTime:
    """Runs the engine in real time, with at most `slots` attempts at once. Functions share the slots (`FreeSlots`)."""

    def __init__(
        self, engine: Engine, clock: Clock, log: Log, *, slots: int, is_shared: bool = False,
        idle_ms_max: int = IDLE_MS_MAX,
    ) -> None:  # fmt: skip
        """`is_shared`: other nodes work on the same store. The leases that are there may be theirs."""
        self._engine = engine
        self._is_shared = is_shared
        self._slots = slots
        self._rounds = Rounds(engine, clock, idle_ms_max=idle_ms_max)
        self._log = log
        self._free = slots
        self._held: Counter[str] = Counter()
        self._woken = False
        self._stopping = False
        self._condition = threading.Condition()
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="redrive-attempt")
        self._thread = threading.Thread(target=self._work, name="redrive-driver", daemon=True)

    def start(self) -> None:
        """Begin claiming."""
        self._thread.start()

    def wake(self) -> None:
        """Look for due work soon."""
        with self._condition:
            self._woken = True
            self._condition.notify()

    def wind_down(self) -> None:
        """Nothing here runs long."""

    @property
    def underway(self) -> int:
        """How many attempts are under way."""
        return self._slots - self._free

    def stop(self) -> None:
        """Claim nothing more. Attempts that are still under way after a moment are left to their leases.

        On a shared store, another node would wait for the leases; so attempts have time to end.
        """
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self._thread.join()
        with self._condition:
            self._condition.wait_for(lambda: not self.underway, DRAIN_S if self._is_shared else 0)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _work(self) -> None:
        # Work that an earlier process left under way is due again; on a shared store it may be another node's.
        step = self._round if self._is_shared else self._engine.take_over
        while not self._stopping:
            try:
                step()
                step = self._round
            except Conflict as conflict:
                self._log.warning("round conflicted", error=conflict)
            except Unavailable as away:
                self._log.warning("round waited for the store", error=away.what)
                self._sleep(FAILED_ROUND_PAUSE_MS)
            except Exception as error:  # noqa: BLE001 - the one supervisor: failures are logged and retried.
                self._log.error("round failed", error=repr(error))
                self._sleep(FAILED_ROUND_PAUSE_MS)

    def _round(self) -> None:
        """Claim due work, start the attempts, and sleep until more is due."""
        with self._condition:
            self._woken = False
            free = FreeSlots(self._free, Counter(self._held))
        for attempt in self._rounds.claim(free):
            with self._condition:
                self._free -= 1
                self._held[attempt.function] += 1
            self._pool.submit(self._attempt, attempt)
        self._sleep(self._rounds.wait_ms())

    def _attempt(self, attempt: Attempt) -> None:
        try:
            self._settle(attempt, self._engine.perform(attempt))
        except Exception as error:  # noqa: BLE001 - an attempt that cannot be settled is left to its lease.
            self._log.error("attempt was not settled", worker=attempt.worker, key=attempt.key, error=repr(error))
        finally:
            with self._condition:
                self._free += 1
                self._held[attempt.function] -= 1
                self._held += Counter()  # Removes functions without a run.
                self._woken = True
                self._condition.notify()

    def _settle(self, attempt: Attempt, result: Result) -> None:
        """Settle; try again after a conflict, and while the store is away.

        To settle again is harmless, also if the first time was not in vain: a stale fence settles nothing. It is faster
        than the end of the lease, after which the attempt would be repeated.
        """
        for _ in range(SETTLEMENTS_MAX - 1):
            try:
                self._engine.settle(attempt, result)
            except Conflict:
                continue
            except UserError as error:
                self._log.warning("settlement waited for the store", key=attempt.key, error=error.what)
                self._pause(FAILED_ROUND_PAUSE_MS)
            else:
                return
        self._engine.settle(attempt, result)

    def _pause(self, duration_ms: int) -> None:
        """Wait, unless the driver stops."""
        with self._condition:
            self._condition.wait_for(lambda: self._stopping, duration_ms / 1000)

    def _sleep(self, duration_ms: int) -> None:
        with self._condition:
            if not self._woken and not self._stopping and duration_ms > 0:
                self._condition.wait(duration_ms / 1000)


class VirtualDrive:
    """Runs the engine in virtual time: due work is done at once, and time moves on request."""

    def __init__(
        self, engine: Engine, clock: VirtualClock, log: Log, *, keep: Keep, run_between: Runner | None = None
    ) -> None:  # fmt: skip
        """`keep` stores the clock's time. `run_between`: see VirtualTime."""
        self._engine = engine
        self._time = VirtualTime(engine, clock, keep=keep, run_between=run_between)
        self._log = log
        self._turn = threading.Lock()
        self._woken = threading.Event()
        self._stopping = False
        self._alone = False
        self._is_winding_down = False
        self._target: Instant | None = None
        self._thread = threading.Thread(target=self._work, name="redrive-driver", daemon=True)

    @property
    def target(self) -> Instant | None:
        """The instant that a moving clock goes to; None while it stands still."""
        return self._target

    def start(self) -> None:
        """Start doing due work."""
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """Look for due work soon."""
        self._woken.set()

    def stop(self) -> None:
        """Finish the work that is due now, and end."""
        self._stopping = True
        self._woken.set()
        self._thread.join()

    def interrupt(self) -> None:
        """Stop a moving clock at its present instant. The work that is due there is done."""
        self._target = None

    def wind_down(self) -> None:
        """Stop a moving clock, and refuse to move it from now on."""
        self._is_winding_down = True

    def advance_to(self, target: Instant, *, is_wanted: Callable[[], bool] = lambda: True) -> Instant:
        """Move time. Returns the clock's time when all work that was due until then has settled.

        The clock stops before the target if `interrupt` was called or `is_wanted` is False. Errors: ValueError if the
        target lies in the past.
        """
        with self._turn:
            self._take_over()
            self._target = target
            try:
                return self._time.advance_to(target, is_wanted=lambda: self._may_go_on() and is_wanted())
            finally:
                self._target = None

    def _may_go_on(self) -> bool:
        return self._target is not None and not self._is_winding_down

    def _work(self) -> None:
        while True:
            self._woken.wait()
            self._woken.clear()
            if self._stopping:
                return
            try:
                with self._turn:
                    self._take_over()
                    self._time.settle_due()
            except Exception as error:  # noqa: BLE001 - the one supervisor: every failure is logged.
                self._log.error("round failed", error=repr(error))

    def _take_over(self) -> None:
        """Once, before anything else: make work due again that an earlier process left under way."""
        if not self._alone:
            self._engine.take_over()
            self._alone = True
