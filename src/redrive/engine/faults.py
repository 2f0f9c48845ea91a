"""Faults in runs of functions, for every kind of caller: an event, a queue, or a client that waits.

An error of the service throttles the run, or fails it as the service's fault. Any other error is the function's own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from redrive.core.clock import SECOND_MS
from redrive.core.documents import dump_json
from redrive.core.error_codes import FAULTS, THROTTLES
from redrive.delivery.faults import CHANGED, Fault, all_faults, strike
from redrive.delivery.outside.invocation import (
    Invocation,
    InvocationResult,
    InvocationStatus,
    Invoker,
    ResponseStream,
    invoke_streaming,
)
from redrive.engine.engine import Runner
from redrive.invoke.endings import TimedOut, payload_of
from redrive.store.api import Transaction


class Commits(Protocol):
    """Reports commits: a store."""

    def on_commit(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Call the listener with the topics of each commit."""
        ...

    def on_others_commit(self, listener: Callable[[], None]) -> None:
        """Call the listener when another store on the same database has committed."""
        ...


class FaultyInvoker:
    """An Invoker in front of another. Runs that a fault strikes are slow, or fail without running the function."""

    def __init__(self, invoker: Invoker, run: Runner, *, real_time: bool, commits: Commits | None = None) -> None:
        """In real time, a slow run takes as long as its fault says. In virtual time it only reports that duration.

        With `commits` (the store's), a run needs a transaction only while faults exist; without, each run needs one.
        """
        self._invoker = invoker
        self._run = run
        self._real_time = real_time
        self._closed = threading.Event()
        self._changes = 0
        self._changes_without_faults: int | None = None
        self._is_listening = commits is not None
        if commits is not None:
            commits.on_commit(self._hear)
            commits.on_others_commit(self._changed)

    def invoke(self, invocation: Invocation) -> InvocationResult:
        return self._invoke(invocation, self._invoker.invoke)

    def invoke_streaming(self, invocation: Invocation, response: ResponseStream) -> InvocationResult:
        """See StreamingInvoker."""
        return self._invoke(invocation, lambda one: invoke_streaming(self._invoker, one, response))

    def _invoke(
        self, invocation: Invocation, run: Callable[[Invocation], InvocationResult]
    ) -> InvocationResult:  # fmt: skip
        fault = self._struck(invocation.function_arn, invocation.unqualified_arn)
        if fault is None:
            return run(invocation)
        if self._real_time:
            self._closed.wait(min(fault.latency_ms, invocation.timeout_ms) / SECOND_MS)
        if fault.latency_ms >= invocation.timeout_ms:
            payload = payload_of(TimedOut(), invocation)
            return InvocationResult(InvocationStatus.FUNCTION_ERROR, payload, duration_ms=invocation.timeout_ms)
        return _failed(fault) if fault.code else run(invocation)

    def _struck(self, *arns: str) -> Fault | None:
        """The fault that strikes a run, or None. Runs no transaction while it is known that no faults exist."""
        changes = self._changes
        if changes == self._changes_without_faults:
            return None

        def ask(tx: Transaction) -> tuple[Fault | None, bool]:
            return strike(tx, *arns), bool(all_faults(tx).faults)

        fault, are_there_any = self._run(ask)
        if self._is_listening and not are_there_any:
            # A change that happened in the meantime has a new number, so the next run asks again.
            self._changes_without_faults = changes
        return fault

    def _hear(self, topics: frozenset[str]) -> None:
        if CHANGED in topics:
            self._changed()

    def _changed(self) -> None:
        self._changes += 1

    def close(self) -> None:
        """Stop all runs, and all slow runs that wait."""
        self._closed.set()
        self._invoker.close()


def _failed(fault: Fault) -> InvocationResult:
    message = fault.error.message
    if fault.code in THROTTLES:
        return InvocationResult(InvocationStatus.THROTTLED, error=message)
    if fault.code in FAULTS:
        return InvocationResult(InvocationStatus.SERVICE_ERROR, error=message)
    document = {"errorMessage": message, "errorType": fault.code}
    return InvocationResult(InvocationStatus.FUNCTION_ERROR, dump_json(document).encode(), duration_ms=fault.latency_ms)
