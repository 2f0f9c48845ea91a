"""`idempotent`: a function that runs once for each key, however often it is called.

It joins a key, a ledger and a lease. What it does at each answer of the ledger is the table in `_Rule.answer`.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, ParamSpec, TypeVar, assert_never, cast

from redrive.handler import keys, payloads
from redrive.handler.errors import LeaseLost, PayloadChanged, StillRunning
from redrive.handler.execution import Execution
from redrive.handler.functions import Arguments, Parameters, is_async
from redrive.handler.lambda_context import origin_of, remaining_ms
from redrive.handler.ledger import (
    KEEP_S_DEFAULT,
    LEASE_S_DEFAULT,
    Began,
    Fresh,
    InProgress,
    Ledger,
    Mismatch,
    Replayed,
    Status,
)

if TYPE_CHECKING:
    from datetime import timedelta

    from redrive.handler.signatures import KeySource, PayloadSource

P = ParamSpec("P")
R = TypeVar("R")

OnRunning = Literal["defer", "skip"]

# Lambda ends an invocation a little after its deadline, and two machines' clocks differ a little.
LEASE_MARGIN_S = 1.0


def idempotent(
    *,
    key: KeySource,
    ledger: Ledger,
    on_running: OnRunning = "defer",
    payload: PayloadSource | None = None,
    lease: timedelta | None = None,
    keep: timedelta | None = None,
    prefix: str = "",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function, plain or async, run once for each key, and answer repeats with the recorded result.

    key: finds the execution's key in the arguments; see `redrive.handler.keys`.
    on_running: what a delivery does that finds another one running. "defer" raises StillRunning, so that the delivery
        comes back later. "skip" returns None, so that the delivery counts as done: if the running one then dies,
        nobody is left to do the work, and it is lost.
    payload: picks what must be the same whenever the key is; another payload under a used key raises PayloadChanged.
    lease: how long a run may take before another may take over. By default what remains of the Lambda invocation and
        a second, or 15 minutes outside of Lambda.
    keep: how long the record is kept after a run began, 30 days by default: longer than a message can wait in a
        dead-letter queue.
    prefix: tells functions apart that share a table and find the same keys.

    A function that raises is recorded as FAILED, and the next delivery runs it again. A process that dies leaves
    RUNNING, and the next delivery after the lease runs it again: effects may happen twice then, see `effect`.

    Errors (of the function): its own, StillRunning, LeaseLost, PayloadChanged, KeyRefused, ResultNotStorable.
    """
    if on_running not in {"defer", "skip"}:
        raise ValueError(f'on_running is "defer" or "skip", not {on_running!r}')
    lease_s = None if lease is None else lease.total_seconds()
    keep_s = KEEP_S_DEFAULT if keep is None else keep.total_seconds()
    rule = _Rule(key, ledger, on_running, payload, lease_s, keep_s, prefix)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if is_async(function):
            return cast("Callable[P, R]", _async(rule, function))
        return _sync(rule, function)

    return decorate


class _Request(NamedTuple):
    """What a call asks of the ledger."""

    key: str
    payload_hash: str | None
    lease_s: float
    message_id: str | None
    source: str | None


class _Rule(NamedTuple):
    """The arguments of `idempotent`, and what follows from them."""

    key: KeySource
    ledger: Ledger
    on_running: OnRunning
    payload: PayloadSource | None
    lease_s: float | None
    keep_s: float
    prefix: str

    def request(self, arguments: Arguments) -> _Request:
        args, kwargs = arguments
        origin = origin_of(args[0] if args else None)
        key = keys.checked(self.key(*args, **kwargs), origin.message_id)
        picked = None if self.payload is None else self.payload(*args, **kwargs)
        payload_hash = None if self.payload is None else payloads.payload_hash(picked)
        lease_s = self._lease_of_invocation_s((*args, *kwargs.values())) if self.lease_s is None else self.lease_s
        return _Request(self.prefix + key, payload_hash, lease_s, origin.message_id, origin.source)

    def begin(self, request: _Request) -> Began:
        return self.ledger.begin(
            request.key,
            request.payload_hash,
            request.lease_s,
            keep_s=max(self.keep_s, request.lease_s),
            message_id=request.message_id,
            source=request.source,
        )

    def answer(self, began: Replayed | InProgress | Mismatch, key: str) -> object:
        """What a call returns that does not run. Errors: StillRunning, PayloadChanged."""
        match began:
            case Replayed(result):
                return result
            case InProgress(until):
                if self.on_running == "skip":
                    return None
                raise StillRunning(key, until)
            case Mismatch(recorded, given):
                raise PayloadChanged(key, recorded, given)
            case _:
                assert_never(began)

    def recorded(self, execution: Execution, result: object) -> object:
        """Record the result of a run, and answer what the execution came to.

        A run that was taken over answers with what the other one recorded. Errors: LeaseLost if there is nothing yet.
        """
        if self.ledger.finish(execution.token, result):
            return result
        record = self.ledger.read(execution.key)
        if record is None or record.status is not Status.SUCCESS:
            raise LeaseLost(execution.key)
        return payloads.decode(record.result)

    def failed(self, execution: Execution, error: Exception) -> None:
        self.ledger.fail(execution.token, payloads.describe(error))

    def _lease_of_invocation_s(self, arguments: tuple[object, ...]) -> float:
        remaining = remaining_ms(arguments)
        return LEASE_S_DEFAULT if remaining is None else max(0, remaining) / 1000 + LEASE_MARGIN_S


def _sync(rule: _Rule, function: Callable[P, R]) -> Callable[P, R]:
    parameters = Parameters(function)

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        request = rule.request(parameters.matched(args, kwargs))
        began = rule.begin(request)
        if not isinstance(began, Fresh):
            return cast("R", rule.answer(began, request.key))
        execution = Execution(rule.ledger, began.token, began.effects)
        try:
            with execution:
                result = function(*args, **kwargs)
            return cast("R", rule.recorded(execution, result))
        except Exception as error:
            rule.failed(execution, error)
            raise

    return run


def _async(rule: _Rule, function: Callable[P, Awaitable[object]]) -> Callable[P, Awaitable[object]]:
    """As `_sync`, line by line, with the ledger in a thread: its calls block, and other coroutines go on meanwhile."""
    from asyncio import to_thread

    parameters = Parameters(function)

    @functools.wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> object:
        request = rule.request(parameters.matched(args, kwargs))
        began = await to_thread(rule.begin, request)
        if not isinstance(began, Fresh):
            return rule.answer(began, request.key)
        execution = Execution(rule.ledger, began.token, began.effects)
        try:
            with execution:
                result = await function(*args, **kwargs)
            return await to_thread(rule.recorded, execution, result)
        except Exception as error:
            await to_thread(rule.failed, execution, error)
            raise

    return run
