"""A circuit breaker: after some failures in a row no call is made for a while, then one probe decides.

    CLOSED     calls go through; `failures_max` failures in a row → OPEN
    OPEN       no call goes through; after `open_s` the first caller becomes the probe → HALF_OPEN
    HALF_OPEN  one probe is under way and no other call goes through; it succeeds → CLOSED, it fails → OPEN;
               a probe without an end within `probe_s` is given up, and the next caller becomes the probe

A failure counts unless the request is known to be its cause: an unknown exception may mean that the downstream is
unavailable, and a breaker that did not count it would never open.

The state is one cell. In a ledger's cells all processes share it, at the cost of a read for each call.
"""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import ParamSpec, Self, TypeVar, cast

from redrive.handler.cells import Cell, Cells, LocalCells
from redrive.handler.clock import Clock, Instant, now_ms
from redrive.handler.entropy import NewNonce, new_nonce
from redrive.handler.errors import CircuitOpen
from redrive.handler.failures import is_of_request
from redrive.handler.functions import is_async, refuse_unrun

P = ParamSpec("P")
R = TypeVar("R")

RACES_MAX = 10  # How often a change is retried because another process changed the state first.


class State(enum.StrEnum):
    """How a breaker handles a call."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


def is_outage(error: Exception) -> bool:
    """Whether a failure may mean that the downstream is unavailable: all do except those that the request caused."""
    return not is_of_request(error)


class CircuitBreaker:
    """Stops calls to a downstream that fails. `counts` says which failures count; others leave the state as it is.

    breaker = CircuitBreaker("payments", cells=ledger)
    receipt = breaker.call(charge, order)

    with breaker:  # async with, in a coroutine
        receipt = charge(order)

    @breaker
    def charge(order): ...
    """

    def __init__(
        self,
        name: str,
        *,
        failures_max: int = 5,
        open_s: float = 60.0,
        probe_s: float = 60.0,
        counts: Callable[[Exception], bool] = is_outage,
        cells: Cells | None = None,
        clock: Clock = now_ms,
        nonce: NewNonce = new_nonce,
    ) -> None:
        """`cells` keeps the state: a ledger, to share it; by default this object, for all its threads."""
        if failures_max < 1:
            raise ValueError(f"a breaker that opens after {failures_max} failures is never closed: at least 1")
        self.name = name
        self._failures_max = failures_max
        self._open_ms = round(open_s * 1000)
        self._probe_ms = round(probe_s * 1000)
        self._counts = counts
        self._cells = cells or LocalCells()
        self._clock = clock
        self._nonce = nonce

    @property
    def state(self) -> State:
        """The current state. OPEN lasts until the next call, even after its time."""
        return self._load()[1].state

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function if the circuit allows it.

        Errors: CircuitOpen; the function's own; TypeError if it returns a coroutine, which has no outcome yet.
        """
        probe = self._admit()
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            self._failed(probe, error)
            raise
        refuse_unrun(result, function)
        self._succeeded(probe)
        return result

    async def call_async(self, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """As `call`, for an async function; a shared state is read in a thread."""
        from asyncio import to_thread

        probe = await to_thread(self._admit)
        try:
            result = await function(*args, **kwargs)
        except Exception as error:
            await to_thread(self._failed, probe, error)
            raise
        await to_thread(self._succeeded, probe)
        return result

    def __enter__(self) -> Self:
        """Count the whole block as one call. Errors: CircuitOpen."""
        _ENTERED.set(((self, self._admit()), *_ENTERED.get()))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Record the outcome of the block; its exception propagates."""
        self._ended(self._left(), error)

    async def __aenter__(self) -> Self:
        """As `with`; a shared state is read in a thread."""
        from asyncio import to_thread

        probe = await to_thread(self._admit)
        _ENTERED.set(((self, probe), *_ENTERED.get()))
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """See `__exit__`."""
        from asyncio import to_thread

        await to_thread(self._ended, self._left(), error)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """As `protect`: the breaker is a decorator."""
        return self.protect(function)

    def protect(self, function: Callable[P, R]) -> Callable[P, R]:
        """Make every call of a function, plain or async, go through the breaker."""
        if is_async(function):

            @functools.wraps(function)
            async def run_async(*args: P.args, **kwargs: P.kwargs) -> object:
                return await self.call_async(function, *args, **kwargs)

            return cast("Callable[P, R]", run_async)

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            return self.call(function, *args, **kwargs)

        return run

    def _admit(self) -> str | None:
        """Admit a call: as the probe, whose name is returned, or as an ordinary call. Errors: CircuitOpen."""
        for _ in range(RACES_MAX):
            cell, circuit = self._load()
            now = self._clock()
            if circuit.state is State.CLOSED:
                return None
            if now < circuit.closed_until:
                raise CircuitOpen(self.name, (circuit.closed_until - now) / 1000)
            probe = self._nonce()
            if self._swap(
                cell, replace(circuit, state=State.HALF_OPEN, probe=probe, closed_until=now + self._probe_ms)
            ):
                return probe
        raise CircuitOpen(self.name, self._probe_ms / 1000)

    def _left(self) -> str | None:
        """The probe's name for the block that ends: the innermost block of this breaker in this context."""
        entered = _ENTERED.get()
        at = next(at for at, (breaker, _) in enumerate(entered) if breaker is self)
        _ENTERED.set((*entered[:at], *entered[at + 1 :]))
        return entered[at][1]

    def _ended(self, probe: str | None, error: BaseException | None) -> None:
        """Record the outcome of a block. A block that was killed or cancelled has none."""
        if error is None:
            self._succeeded(probe)
        elif isinstance(error, Exception):
            self._failed(probe, error)

    def _succeeded(self, probe: str | None) -> None:
        def change(circuit: _Circuit) -> _Circuit:
            if circuit.state is State.CLOSED or (probe is not None and circuit.probe == probe):
                return _Circuit()
            return circuit  # A call that began before the circuit opened says nothing about the current state.

        self._change(change)

    def _failed(self, probe: str | None, error: Exception) -> None:
        if not self._counts(error):
            if probe is not None:
                self._succeeded(probe)  # The downstream answered: the request was wrong.
            return
        reopened = _Circuit(State.OPEN, self._failures_max, closed_until=self._clock() + self._open_ms)

        def change(circuit: _Circuit) -> _Circuit:
            if circuit.state is State.CLOSED:
                failures = circuit.failures + 1
                return reopened if failures >= self._failures_max else replace(circuit, failures=failures)
            return reopened if probe is not None and circuit.probe == probe else circuit

        self._change(change)

    def _change(self, change: Callable[[_Circuit], _Circuit]) -> None:
        for _ in range(RACES_MAX):
            cell, circuit = self._load()
            changed = change(circuit)
            if changed == circuit or self._swap(cell, changed):
                return

    def _load(self) -> tuple[Cell, _Circuit]:
        cell = self._cells.load_cell(f"breaker:{self.name}")
        return cell, _circuit_from(cell.text)

    def _swap(self, cell: Cell, circuit: _Circuit) -> bool:
        text = json.dumps([circuit.state, circuit.failures, circuit.closed_until, circuit.probe])
        return self._cells.swap_cell(f"breaker:{self.name}", cell.version, text)


@dataclass(frozen=True, slots=True)
class _Circuit:
    """The state as it is stored. No call is admitted before `closed_until`: the end of OPEN, or of the probe's time."""

    state: State = State.CLOSED
    failures: int = 0
    closed_until: Instant = 0
    probe: str | None = None


def _circuit_from(text: str) -> _Circuit:
    if not text:
        return _Circuit()
    state, failures, closed_until, probe = json.loads(text)
    return _Circuit(State(state), failures, closed_until, probe)


_ENTERED: ContextVar[tuple[tuple[CircuitBreaker, str | None], ...]] = ContextVar("redrive_breakers", default=())
"""The breakers of the enclosing blocks in this thread or task, the innermost first, each with its probe's name."""
