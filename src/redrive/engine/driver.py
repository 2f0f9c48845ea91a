"""The production drivers: threads that run the engine.

RealTime      claims due work, performs attempts in a pool, sleeps until the next due instant or a wake-up. What a
              step makes due while it sleeps is claimed in the step's own commit, where the group commit offers that
VirtualDrive  does the work that is due now; time moves only on request
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from redrive.core.clock import Clock, Instant, VirtualClock
from redrive.core.errors import Conflict, Unavailable, UserError
from redrive.core.log import Log
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.engine.engine import Claimed, Engine, Runner
from redrive.engine.rounds import IDLE_MS_MAX, Rounds
from redrive.engine.virtual import Keep, VirtualTime
from redrive.store.api import Step, Transaction

DRAIN_S = 10
"""How long a node of a shared store lets its attempts end before it stops."""
FAILED_ROUND_PAUSE_MS = 1_000
"""How long to wait after a failed round (a full disk, a defect) before the next one."""
FRUITLESS_PAUSE_MS = 5
"""How long no claim joins a commit after one that found nothing: work that is due later is notified, too."""
DUE = "due"
"""The topic of commits after which something may be due."""


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
        self._clock = clock
        self._is_claiming = True  # Nothing is claimed along before leases were taken over.
        self._joins = False
        self._has_joined = False
        self._joins_from: Instant = 0
        self._rests_until: Instant | None = None
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

    def follow(self, topics: AbstractSet[str]) -> Step[object] | None:
        """A claim for the commit of steps that have made work due, unless the driver's thread claims. See Follower."""
        with self._condition:
            if not self._joins and DUE in topics:
                self._joins = self._may_join()
            elif DUE not in topics:
                self._joins = False
            return self._claim_along if self._joins else None

    def followed(self, result: object) -> None:
        """Start the attempts of a claim that has joined a commit. After a failure, the driver's thread claims."""
        attempts: Sequence[Attempt] = ()
        with self._condition:
            self._joins = False
            self._has_joined = isinstance(result, Claimed)
            if isinstance(result, Claimed):
                attempts = result.attempts
                self._hold(attempts)
                self._rounds.took(result)
            if not isinstance(result, Claimed) or not result.progressed:
                self._joins_from = self._clock.now() + FRUITLESS_PAUSE_MS
            if self._rests_until is None or self._clock.now() + self._rounds.wait_ms() < self._rests_until:
                self._condition.notify_all()
        for attempt in attempts:
            self._pool.submit(self._attempt, attempt)

    def has_joined(self) -> bool:
        """Whether a claim has joined the latest commit, so that nobody has to be woken for it. Asked once, at home."""
        joined, self._has_joined = self._has_joined, False
        return joined

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

    def _may_join(self) -> bool:
        is_at_rest = not (self._is_claiming or self._woken or self._stopping)
        return is_at_rest and self._clock.now() >= self._joins_from

    def _claim_along(self, tx: Transaction) -> Claimed:
        return self._engine.claim_whole(tx, self._free_slots())

    def _free_slots(self) -> FreeSlots:
        with self._condition:
            return FreeSlots(self._free, Counter(self._held))

    def _hold(self, attempts: Sequence[Attempt]) -> None:
        """Give attempts their slots. Call it with the condition's lock."""
        self._free -= len(attempts)
        self._held.update([attempt.function for attempt in attempts])

    def _round(self) -> None:
        """Claim due work, start the attempts, and sleep until more is due."""
        with self._condition:
            self._condition.wait_for(lambda: not self._joins)
            self._woken = False
            self._is_claiming = True
        attempts = self._rounds.claim(self._free_slots())
        with self._condition:
            self._hold(attempts)
        for attempt in attempts:
            self._pool.submit(self._attempt, attempt)
        self._rest()

    def _rest(self) -> None:
        """Sleep until work is due, as far as the latest claim knows; meanwhile, claims may join commits."""
        with self._condition:
            self._is_claiming = False
            while not self._woken and not self._stopping and (rest_ms := self._rounds.wait_ms()) > 0:
                self._rests_until = self._clock.now() + rest_ms
                self._condition.wait(rest_ms / 1000)
            self._rests_until = None

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
                self._condition.notify_all()

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
