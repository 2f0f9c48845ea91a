"""`idempotent`: makes a function run once for each key, however often it is called.

It joins a key, a ledger and a lease. The table in `_Rule.answer` says what follows from each answer of the ledger.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, ParamSpec, TypeVar, assert_never, cast, overload

from redrive.handler import keys, payloads
from redrive.handler.clock import Sleep, sleep
from redrive.handler.entropy import Random, fraction
from redrive.handler.errors import HandlerError, KeyShared, LeaseLost, PayloadChanged, ResultNotStorable, StillRunning
from redrive.handler.execution import Execution
from redrive.handler.functions import Arguments, Parameters, identity_of, is_async, is_method, refuse_unrun
from redrive.handler.lambda_context import current_context, origin_of
from redrive.handler.ledger import (
    KEEP_S_DEFAULT,
    LEASE_S_DEFAULT,
    Began,
    Foreign,
    Fresh,
    InProgress,
    Ledger,
    Mismatch,
    Replayed,
    Status,
)

if TYPE_CHECKING:
    from datetime import timedelta

    from redrive.handler.lambda_context import LambdaContext
    from redrive.handler.signatures import Decorator, KeySource, PayloadSource, SkippingDecorator

P = ParamSpec("P")
R = TypeVar("R")

OnRunning = Literal["defer", "skip"]

# Lambda ends an invocation a little after its deadline, and the clocks of two machines differ a little.
LEASE_MARGIN_S = 1.0


@overload
def idempotent(
    *,
    key: KeySource,
    ledger: Ledger,
    on_running: Literal["defer"] = "defer",
    payload: PayloadSource | None = None,
    lease: timedelta | None = None,
    keep: timedelta | None = None,
    prefix: str = "",
    name: str | None = None,
    sleep: Sleep = sleep,
    random: Random = fraction,
) -> Decorator:
    """A duplicate of a running execution raises StillRunning, so the function's return type is unchanged."""


@overload
def idempotent(
    *,
    key: KeySource,
    ledger: Ledger,
    on_running: OnRunning,
    payload: PayloadSource | None = None,
    lease: timedelta | None = None,
    keep: timedelta | None = None,
    prefix: str = "",
    name: str | None = None,
    sleep: Sleep = sleep,
    random: Random = fraction,
) -> SkippingDecorator:
    """A duplicate of a running execution returns None, so the return type includes None."""


def idempotent(
    *,
    key: KeySource,
    ledger: Ledger,
    on_running: OnRunning = "defer",
    payload: PayloadSource | None = None,
    lease: timedelta | None = None,
    keep: timedelta | None = None,
    prefix: str = "",
    name: str | None = None,
    sleep: Sleep = sleep,
    random: Random = fraction,
) -> Decorator | SkippingDecorator:
    """Make a function, plain or async, run once for each key, and return the recorded result for repeated calls.

    key: finds the execution's key in the arguments, without `self` for methods; see `redrive.handler.keys`.
    on_running: what a delivery does if another run is under way. "defer" raises StillRunning, so that the delivery
        comes again later. "skip" returns None, so that the delivery counts as done: if the other run then dies, no
        delivery is left, and the work is lost.
    payload: selects what must be the same for the same key; another payload under a used key raises PayloadChanged.
    lease: how long a run may take before another run may take over. By default the remaining time of the Lambda
        invocation and one second, or 15 minutes outside of Lambda.
    keep: how long the record is kept after the start of a run, 30 days by default: longer than a message can wait in a
        dead-letter queue.
    prefix: separates functions that share a table and have the same keys; without it the second raises KeyShared.
    name: the owner of the executions, by default the function's qualified name. Give a renamed function its old name.
    sleep, random: for the waits between tries to record the end of a run, which are few and end before the invocation.

    A function that raises is recorded as FAILED, and the next delivery runs it again. A process that dies leaves
    RUNNING, and the next delivery after the lease runs it again: then effects may happen twice, see `effect`. The same
    follows if the success cannot be recorded: the ledger's error is raised.

    Errors (of the function): its own, StillRunning, LeaseLost, KeyShared, PayloadChanged, KeyRefused,
    ResultNotStorable; TypeError if it returns work that has not run, such as a coroutine; the ledger's.
    """
    if on_running not in {"defer", "skip"}:
        raise ValueError(f'on_running is "defer" or "skip", not {on_running!r}')
    lease_s = None if lease is None else lease.total_seconds()
    keep_s = KEEP_S_DEFAULT if keep is None else keep.total_seconds()

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        # On Lambda the function's own name precedes this name, unless a name was given.
        rule = _Rule(
            key, ledger, on_running, payload, lease_s, keep_s, prefix, name or identity_of(function), name is None,
            is_method(function), sleep, random,
        )  # fmt: skip
        if is_async(function):
            return cast("Callable[P, R]", _async(rule, function))
        return _sync(rule, function)

    return cast("Decorator | SkippingDecorator", decorate)


class _Request(NamedTuple):
    """The parameters of a call to the ledger."""

    key: str
    payload_hash: str | None
    lease_s: float
    message_id: str | None
    source: str | None
    function_name: str


class _Rule(NamedTuple):
    """The arguments of `idempotent`, and the rules that follow from them and from the function."""

    key: KeySource
    ledger: Ledger
    on_running: OnRunning
    payload: PayloadSource | None
    lease_s: float | None
    keep_s: float
    prefix: str
    name: str
    adds_lambda: bool
    is_method: bool
    sleep: Sleep
    random: Random

    def request(self, arguments: Arguments) -> _Request:
        args, kwargs = arguments
        context = current_context((*args, *kwargs.values()))
        if self.is_method:
            args = args[1:]
        event = args[0] if args else None
        origin = origin_of(event)
        key = keys.checked(self.key(*args, **kwargs), event, self.prefix)
        payload_hash = None if self.payload is None else payloads.payload_hash(self.payload(*args, **kwargs))
        lease_s = _lease_of_invocation_s(context) if self.lease_s is None else self.lease_s
        return _Request(key, payload_hash, lease_s, origin.message_id, origin.source, self._name_in(context))

    def begin(self, request: _Request) -> Began:
        return self.ledger.begin(
            request.key,
            request.payload_hash,
            request.lease_s,
            keep_s=max(self.keep_s, request.lease_s),
            message_id=request.message_id,
            source=request.source,
            function_name=request.function_name,
        )

    def answer(self, began: Replayed | InProgress | Mismatch | Foreign, key: str) -> object:
        """The result of a call that does not run the function. Errors: StillRunning, PayloadChanged, KeyShared."""
        match began:
            case Replayed(result):
                return result
            case InProgress(until):
                if self.on_running == "skip":
                    return None
                raise StillRunning(key, until)
            case Mismatch(recorded, given):
                raise PayloadChanged(key, recorded, given)
            case Foreign(recorded, given):
                raise KeyShared(key, recorded, given)
            case _:
                assert_never(began)

    def recorded(self, execution: Execution, result: object, args: tuple[object, ...]) -> object:
        """Record the result of a run, and return the result of the execution.

        If another run has taken over, return what that run recorded. A success that cannot be recorded is not a
        failure: the execution stays RUNNING, so that no run begins at once.
        Errors: LeaseLost if the other run has recorded nothing yet; ResultNotStorable; the ledger's.
        """
        try:
            is_recorded = self._told(lambda: execution.record_success(result), args)
        except ResultNotStorable as error:
            self.failed(execution, error, args)
            raise
        except Exception as error:
            error.add_note(
                f"execution {execution.key!r} has done its work, and this kept it from being recorded; it stays "
                "RUNNING and is run again after its lease"
            )
            raise
        if is_recorded:
            return result
        record = self.ledger.read(execution.key)
        if record is None or record.status is not Status.SUCCESS:
            raise LeaseLost(execution.key)
        return payloads.decode(record.result)

    def failed(self, execution: Execution, error: Exception, args: tuple[object, ...]) -> None:
        """Record the failure of a run.

        An error while recording becomes a note on the function's error, which is raised.
        """
        try:
            self._told(lambda: self.ledger.fail(execution.token, payloads.describe(error)), args)
        except Exception as trouble:  # noqa: BLE001 - It would stand in the place of the function's own error.
            error.add_note(
                f"the failure of execution {execution.key!r} could not be recorded: {payloads.describe(trouble)}; it "
                "stays RUNNING and is run again after its lease"
            )

    def _told(self, tell: Callable[[], bool], args: tuple[object, ...]) -> bool:
        """Tell the ledger how a run ended; retry transient errors, since telling it twice is harmless."""
        try:
            return tell()
        except HandlerError:
            raise
        except Exception as error:  # noqa: BLE001 - It is raised again, by the first try.
            from redrive.handler.retries import retry_call  # Imported here because most functions never need it.

            failures = [error]

            def tell_again() -> bool:
                if failures:
                    raise failures.pop()
                return tell()

            return retry_call(tell_again, context=current_context(args), sleep=self.sleep, random=self.random)

    def _name_in(self, context: object) -> str:
        lambda_name = getattr(context, "function_name", None) if self.adds_lambda else None
        return f"{lambda_name}:{self.name}" if isinstance(lambda_name, str) and lambda_name else self.name


def _lease_of_invocation_s(context: LambdaContext | None) -> float:
    if context is None:
        return LEASE_S_DEFAULT
    return max(0, context.get_remaining_time_in_millis()) / 1000 + LEASE_MARGIN_S


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
            refuse_unrun(result, function)
        except Exception as error:
            rule.failed(execution, error, args)
            raise
        return cast("R", rule.recorded(execution, result, args))

    return run


def _async(rule: _Rule, function: Callable[P, Awaitable[object]]) -> Callable[P, Awaitable[object]]:
    """The same steps as `_sync`, with the blocking calls of the ledger in a thread: other coroutines continue."""
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
            refuse_unrun(result, function)
        except Exception as error:
            await to_thread(rule.failed, execution, error, args)
            raise
        return await to_thread(rule.recorded, execution, result, args)

    return run
