"""Faults where functions are run: whoever runs one, an event, a queue or a caller who waits.

An error of the service throttles the run or fails it from outside; any other error is the function's own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from redrive.core.clock import SECOND_MS
from redrive.core.documents import dump_json
from redrive.core.error_codes import FAULTS, THROTTLES
from redrive.delivery.faults import CHANGED, Fault, all_faults, strike
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus, Invoker
from redrive.engine.engine import Runner
from redrive.invoke.endings import TimedOut, payload_of
from redrive.store.api import Transaction


class Commits(Protocol):
    """Tells of commits: a store."""

    def on_commit(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Call the listener with the topics of each commit."""
        ...

    def on_others_commit(self, listener: Callable[[], None]) -> None:
        """Call the listener when another store of the same database is found to have committed."""
        ...


class FaultyInvoker:
    """An Invoker in front of another: runs that a fault is aimed at are slow, or fail without having run."""

    def __init__(self, invoker: Invoker, run: Runner, *, real_time: bool, commits: Commits | None = None) -> None:
        """In real time slow runs take as long as their fault says; in virtual time they only tell so.

        With `commits` (the store's) a run costs a transaction only while there are faults; without, each does.
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
        fault = self._struck(invocation.function_arn, invocation.unqualified_arn)
        if fault is None:
            return self._invoker.invoke(invocation)
        if self._real_time:
            self._closed.wait(min(fault.latency_ms, invocation.timeout_ms) / SECOND_MS)
        if fault.latency_ms >= invocation.timeout_ms:
            payload = payload_of(TimedOut(), invocation)
            return InvocationResult(InvocationStatus.FUNCTION_ERROR, payload, duration_ms=invocation.timeout_ms)
        return _failed(fault) if fault.code else self._invoker.invoke(invocation)

    def _struck(self, *arns: str) -> Fault | None:
        """The fault that a run meets. While it is known that there are none, nobody is asked."""
        changes = self._changes
        if changes == self._changes_without_faults:
            return None

        def ask(tx: Transaction) -> tuple[Fault | None, bool]:
            return strike(tx, *arns), bool(all_faults(tx).faults)

        fault, are_there_any = self._run(ask)
        if self._is_listening and not are_there_any:
            # A change that was announced meanwhile has another number, and is asked for by the next run.
            self._changes_without_faults = changes
        return fault

    def _hear(self, topics: frozenset[str]) -> None:
        if CHANGED in topics:
            self._changed()

    def _changed(self) -> None:
        self._changes += 1

    def close(self) -> None:
        """Stop what is running, and what waits to."""
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
