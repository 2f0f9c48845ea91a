"""`idempotent`: a function that runs once for each key, however often it is called.

It joins a key, a ledger and a lease. What it does at each answer of the ledger is the table in `_Rule.answer`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, ParamSpec, TypeVar, assert_never, cast

from redrive.handler import keys, payloads
from redrive.handler.errors import LeaseLost, PayloadChanged, StillRunning
from redrive.handler.execution import Execution, within
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
    keep: timedelta = timedelta(seconds=KEEP_S_DEFAULT),
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
    keep: how long the record is kept after a run began. Longer than a message can wait in a dead-letter queue.
    prefix: tells functions apart that share a table and find the same keys.

    A function that raises is recorded as FAILED, and the next delivery runs it again. A process that dies leaves
    RUNNING, and the next delivery after the lease runs it again: effects may happen twice then, see `effect`.

    Errors (of the function): its own, StillRunning, LeaseLost, PayloadChanged, KeyRefused, ResultNotStorable.
    """
    rule = _Rule(key, ledger, on_running, payload, lease, keep, prefix)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if inspect.iscoroutinefunction(function):
            return cast("Callable[P, R]", _async(rule, function))
        return _sync(rule, function)

    return decorate


@dataclass(frozen=True, slots=True)
class _Request:
    """What a call asks of the ledger."""

    key: str
    payload_hash: str | None
    lease_s: float
    message_id: str | None
    source: str | None


@dataclass(frozen=True, slots=True)
class _Rule:
    """The arguments of `idempotent`, and what follows from them."""

    key: KeySource
    ledger: Ledger
    on_running: OnRunning
    payload: PayloadSource | None
    lease: timedelta | None
    keep: timedelta
    prefix: str

    def __post_init__(self) -> None:
        if self.on_running not in {"defer", "skip"}:
            raise ValueError(f'on_running is "defer" or "skip", not {self.on_running!r}')

    def request(self, signature: inspect.Signature, args: tuple[object, ...], kwargs: Mapping[str, object]) -> _Request:
        bound = signature.bind(*args, **kwargs)
        origin = origin_of(bound.args[0]) if bound.args else origin_of(None)
        key = keys.checked(self.key(*bound.args, **bound.kwargs), origin.message_id)
        picked = None if self.payload is None else self.payload(*bound.args, **bound.kwargs)
        return _Request(
            key=self.prefix + key,
            payload_hash=None if self.payload is None else payloads.payload_hash(picked),
            lease_s=self._lease_s((*bound.args, *bound.kwargs.values())),
            message_id=origin.message_id,
            source=origin.source,
        )

    def begin(self, request: _Request) -> Began:
        return self.ledger.begin(
            request.key,
            request.payload_hash,
            request.lease_s,
            keep_s=max(self.keep.total_seconds(), request.lease_s),
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

    def _lease_s(self, arguments: tuple[object, ...]) -> float:
        if self.lease is not None:
            return self.lease.total_seconds()
        remaining = remaining_ms(arguments)
        return LEASE_S_DEFAULT if remaining is None else max(0, remaining) / 1000 + LEASE_MARGIN_S


def _sync(rule: _Rule, function: Callable[P, R]) -> Callable[P, R]:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        request = rule.request(signature, args, kwargs)
        began = rule.begin(request)
        if not isinstance(began, Fresh):
            return cast("R", rule.answer(began, request.key))
        execution = Execution(rule.ledger, began.token, began.effects)
        try:
            with within(execution):
                result = function(*args, **kwargs)
            return cast("R", rule.recorded(execution, result))
        except Exception as error:
            rule.failed(execution, error)
            raise

    return run


def _async(rule: _Rule, function: Callable[P, Awaitable[object]]) -> Callable[P, Awaitable[object]]:
    """As `_sync`, line by line, with the ledger in a thread: its calls block, and other coroutines go on meanwhile."""
    from asyncio import to_thread

    signature = inspect.signature(function)

    @functools.wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> object:
        request = rule.request(signature, args, kwargs)
        began = await to_thread(rule.begin, request)
        if not isinstance(began, Fresh):
            return rule.answer(began, request.key)
        execution = Execution(rule.ledger, began.token, began.effects)
        try:
            with within(execution):
                result = await function(*args, **kwargs)
            return await to_thread(rule.recorded, execution, result)
        except Exception as error:
            await to_thread(rule.failed, execution, error)
            raise

    return run
